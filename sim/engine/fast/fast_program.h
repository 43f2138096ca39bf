#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "sim/lower/workload.h"

namespace sgsim::engine {

/// A task as the fast engine reads it, small because there are millions of reads.
struct FastTask {
  double device = 0.0;       // s at full speed; host_sync: host time after the wait
  double launch = 0.0;       // s from the host's last synchronisation to the earliest start: host times before it + issue_to_end - device
  std::uint32_t sync = 0;    // host_syncs issued before it
  std::uint32_t use = 0;     // communication: which use of its slot
  std::uint32_t dependency_end = 0;  // in FastProgram::dependencies; they begin where those of the task before it end
  std::uint32_t comm : 29 = 0;       // communication: FastProgram::comms; computation with parts: the first of FastProgram::parts
  std::uint32_t kind_ : 3 = 0;

  [[nodiscard]] lower::TaskKind kind() const { return static_cast<lower::TaskKind>(kind_); }
};

/// A dependency: stream `stream` has finished the tasks before `target` (index in FastProgram::tasks).
struct FastDependency {
  std::uint16_t stream = 0;
  std::uint32_t target = 0;
};

/// `operation` is equal for members that agree; send and receive differ in the last bit.
struct FastComm {
  std::uint32_t slot = 0, operation = 0;
};

/// A part of a run (lower::Part), and what of the run comes before it. One more stands for the run's end.
struct FastPart {
  double device = 0.0;
  double kernels_before = 0.0, collectives_before = 0.0;  // s at full speed
  std::uint32_t rest = 0;    // parts from this one to the end of the run; 0: the end
  bool collective = false;
};

/// A program with the tasks of each stream side by side, in front of them one that only marks the beginning.
struct FastProgram {
  std::vector<FastTask> tasks;             // stream after stream, from index 1
  std::vector<std::uint32_t> index;        // of each in Program::tasks
  std::vector<std::uint32_t> stream_begin; // of each stream, and the end
  std::vector<FastDependency> dependencies;
  std::vector<FastComm> comms;             // by (index in Program::comms, task receives)
  std::vector<FastPart> parts;             // from index 1: of each segment that has some, in segment order
  std::uint32_t syncs = 0;
  double compute_slowdown = 1.0, transfer_slowdown = 1.0;
};

/// Numbers operations so that two tasks of different programs can be compared by one integer.
class OperationNumbers {
 public:
  void clear() { numbers_.clear(); }
  [[nodiscard]] std::uint32_t of(bool collective, const lower::Comm& comm);

 private:
  std::map<std::tuple<bool, int, double>, std::uint32_t> numbers_;
};

/// Rewrites a program that check_workload has accepted.
void rewrite(const lower::Program& program, OperationNumbers& numbers, FastProgram& out);

}  // namespace sgsim::engine

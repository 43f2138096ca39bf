#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "sim/lower/workload.h"

namespace sgsim::engine {

/// A task as the fast engine reads it.
struct FastTask {
  double device = 0.0;       // s at full speed; host_sync: host time after the wait
  double launch = 0.0;       // s from the host's last synchronisation to the earliest start: host times before it + issue_to_end - device
  std::uint32_t sync = 0;    // host_syncs issued before it
  std::uint32_t index = 0;   // in Program::tasks
  std::uint32_t first_dependency = 0, dependency_count = 0;
  std::uint32_t use = 0;        // communication: which use of its slot
  std::uint32_t operation = 0;  // communication: equal for members that agree; send and receive differ in the last bit
  std::uint16_t slot = 0;       // communication
  lower::TaskKind kind = lower::TaskKind::compute;
};

/// A dependency: stream `stream` has finished the tasks before `target` (index in FastProgram::tasks).
struct FastDependency {
  std::uint16_t stream = 0;
  std::uint32_t target = 0;
};

/// A program with the tasks of each stream side by side.
struct FastProgram {
  std::vector<FastTask> tasks;             // stream after stream
  std::vector<std::uint32_t> stream_begin; // of each stream, and the end
  std::vector<FastDependency> dependencies;
  std::uint32_t syncs = 0;
  double compute_slowdown = 1.0, transfer_slowdown = 1.0;
};

/// Numbers operations so that two tasks of different programs can be compared by one integer.
class OperationNumbers {
 public:
  void clear() { numbers_.clear(); }
  [[nodiscard]] std::uint32_t of(lower::TaskKind kind, const lower::Comm& comm);

 private:
  std::map<std::tuple<bool, int, double>, std::uint32_t> numbers_;
};

/// Rewrites a program that check_workload has accepted.
void rewrite(const lower::Program& program, OperationNumbers& numbers, FastProgram& out);

}  // namespace sgsim::engine

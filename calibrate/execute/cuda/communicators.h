#pragma once

#include <nccl.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "calibrate/device/cuda/cuda.h"
#include "calibrate/record/program_file.h"

namespace sgsim::calibrate {

/// The NCCL communicators of a program, rank r on GPU r, all in this process.
class Communicators {
 public:
  explicit Communicators(const ExecutableProgram& program);
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  [[nodiscard]] ncclComm_t of(std::uint32_t group, std::uint32_t rank) const { return comms_.at({group, rank}); }

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, ncclComm_t> comms_;
};

/// What one rank puts into a communication (comm_pattern.h) and gets out of it.
class CommBuffers {
 public:
  /// `place`: this rank's place among the group's `members` ranks.
  CommBuffers(const ProgramComm& comm, ProgramTaskKind kind, int place, int members, cudaStream_t stream);
  /// Enqueues the operation.
  void enqueue(ncclComm_t comm, cudaStream_t stream) const;
  /// Makes every element of the result wrong.
  void poison_result(cudaStream_t stream) const;
  struct Compared {
    std::uint64_t elements = 0, wrong = 0;
  };
  /// Compares each element of the result with what it must be; waits for the stream. A send has no result.
  [[nodiscard]] Compared compare(cudaStream_t stream) const;
  [[nodiscard]] std::size_t bytes() const { return in_.bytes() + out_.bytes(); }

 private:
  ProgramComm comm_;
  ProgramTaskKind kind_;
  int place_, members_;
  std::size_t count_ = 0, part_ = 0;  // elements of the whole buffer, and of one rank's share
  DeviceBuffer in_, out_, wrong_;
};

}  // namespace sgsim::calibrate

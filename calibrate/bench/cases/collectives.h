#pragma once

#include <map>
#include <memory>
#include <vector>

#include "calibrate/bench/cases/cases.h"
#include "calibrate/device/cuda/nccl_group.h"

namespace sgsim::calibrate {

/// Communicators, made when first asked for, and one buffer a GPU that the points share.
class Collectives {
 public:
  explicit Collectives(int gpus) : gpus_(gpus) {}
  [[nodiscard]] int gpus() const { return gpus_; }
  [[nodiscard]] NcclGroup& group(const NcclOptions& options);
  /// The GPU's buffer. Throws Waived when it is smaller than `bytes`.
  [[nodiscard]] char* memory(int rank, std::size_t bytes);

 private:
  static constexpr std::size_t kBytes = (std::size_t{4} << 30) + (64u << 20);  // two communicators' in and out of 1 GiB
  int gpus_ = 1;
  std::map<NcclOptions, std::unique_ptr<NcclGroup>> groups_;
  std::vector<DeviceBuffer> memory_;
};

[[nodiscard]] CollectiveKind collective_kind(const std::string& op);

}  // namespace sgsim::calibrate

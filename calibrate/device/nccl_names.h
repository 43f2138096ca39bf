#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgsim::calibrate {

/// What an NCCL kernel's name says: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...)". NCCL (2.19 and later) builds one
/// kernel an operation and type and runs every algorithm and protocol inside it, so for those the name gives the
/// operation, and algorithm and protocol only of the variant that it is called after; the tuning log (below) says what ran.
struct NcclKernelName {
  std::string operation;  // "AllReduce", "SendRecv"
  std::string algorithm;  // "RING", "TREE"; empty where the name has none
  std::string protocol;   // "LL", "LL128", "SIMPLE"
  bool operator==(const NcclKernelName&) const = default;
};
/// Mangled or plain; nothing when it is no NCCL kernel.
[[nodiscard]] std::optional<NcclKernelName> parse_nccl_kernel(std::string_view name);

/// One line of NCCL's log, subsystem TUNING: "AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}".
struct NcclChoice {
  std::string operation, algorithm, protocol;
  std::int64_t bytes = 0;
  int channels = 0;       // 0 when the line does not say
  bool operator==(const NcclChoice&) const = default;
};
/// All such lines of a log text, in order; others are passed over.
[[nodiscard]] std::vector<NcclChoice> parse_tuning_log(std::string_view log);

}  // namespace sgsim::calibrate

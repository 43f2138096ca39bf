#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/check/record.h"

/// Facts that sources write as free text, read as narrowly as they can be. What cannot be read is nothing, never a guess.
namespace sgsim::check {

/// Whether `text` contains `word`, upper and lower case alike.
[[nodiscard]] bool mentions(std::string_view text, std::string_view word);

/// Name of the builtin cluster whose GPU a record names; nothing for a GPU without a profile.
[[nodiscard]] std::optional<std::string> cluster_of(const Record& record);

/// A node's network as a record states it.
struct Network {
  int nics = 0;
  double gbit_per_s = 0.0;  // of one
};
/// From "4 x 100Gb", "400 Gbps per node", "3200 Gbps/node", "p4d.24xlarge", "400 Gb/s RDMA per GPU", "4 Omni-Path links per node" (100 Gbit/s each, Intel
/// Omni-Path 100). Nothing when the text has no such figure.
[[nodiscard]] std::optional<Network> network_of(std::string_view interconnect, std::int64_t gpus_per_node);

/// "fsdp", "hybrid", "zero1", "zero2" or "ddp"; nothing when the record leaves it open.
[[nodiscard]] std::optional<std::string> sharding_of(const Record& record);
/// "none", "selective" or "full"; nothing when the record leaves it open.
[[nodiscard]] std::optional<std::string> recompute_of(const Record& record);
/// "float16", "bfloat16", "float32" or "float8"; nothing when the record leaves it open.
[[nodiscard]] std::optional<std::string> precision_of(const Record& record);
/// "eager", "compiled" or "cuda_graph"; nothing when the record leaves it open.
[[nodiscard]] std::optional<std::string> execution_of(const Record& record);
/// Whether the record says asynchronous tensor parallel, which PyTorch has in compiled models alone (torchtitan's --experimental.enable_async_tensor_parallel).
[[nodiscard]] bool is_async_tensor_parallel(const Record& record);

}  // namespace sgsim::check

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
/// The same of a record: what its interconnect says, else its GPU's text where that names an instance ("A100 (p4d.24xlarge)").
[[nodiscard]] std::optional<Network> network_of(const Record& record, std::int64_t gpus_per_node);

/// "fsdp", "hybrid", "zero1", "zero2" or "ddp"; nothing when the record leaves it open.
[[nodiscard]] std::optional<std::string> sharding_of(const Record& record);
/// "none", "selective" or "full"; nothing when the record leaves it open.
[[nodiscard]] std::optional<std::string> recompute_of(const Record& record);
/// "adamw" (Adam too; LAMB, whose kernels move nearly as much, is taken as AdamW) or "sgd"; nothing when the record leaves it open.
[[nodiscard]] std::optional<std::string> optimizer_of(const Record& record);
/// "float16", "bfloat16", "float32" or "float8"; nothing when the record leaves it open.
[[nodiscard]] std::optional<std::string> precision_of(const Record& record);
/// "eager", "compiled" or "cuda_graph"; nothing when the record leaves it open.
[[nodiscard]] std::optional<std::string> execution_of(const Record& record);
/// Whether the record says asynchronous tensor parallel, which PyTorch has in compiled models alone (torchtitan's --experimental.enable_async_tensor_parallel).
[[nodiscard]] bool is_async_tensor_parallel(const Record& record);
/// Whether the id or the notes say LoRA, and not "no LoRA".
[[nodiscard]] bool trains_adapters(const Record& record);

/// A text that says nothing: empty, "not stated", "unknown".
[[nodiscard]] bool is_open(std::string_view text);
/// Whether a stated word is one that a prediction can be made of.
[[nodiscard]] bool understands_family(std::string_view family);
[[nodiscard]] bool understands_activation(std::string_view activation);
[[nodiscard]] bool understands_execution(std::string_view execution);
[[nodiscard]] bool understands_schedule(std::string_view schedule);
/// "zb_h1", "gpipe" or nothing: what the record's schedule says beside the virtual stages.
[[nodiscard]] std::optional<std::string> schedule_of(const Record& record);
/// Placements that are no sharding of the optimizer: DTensor's tensor parallelism.
[[nodiscard]] bool understands_unsharded(std::string_view sharding);

}  // namespace sgsim::check

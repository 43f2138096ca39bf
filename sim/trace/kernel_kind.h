#pragma once

#include <cstdint>
#include <string_view>

#include "sim/trace/imported_run.h"

namespace sgsim::trace {

/// What a device operation does, by its name: for summaries and comparison, and for what scales with what when a run is rescaled.
enum class KernelKind : std::uint8_t {
  matmul, attention, convolution, normalisation, softmax_loss, embedding_index, reduction, pointwise, optimizer, communication, copy, set, other };
inline constexpr std::size_t kKernelKinds = 13;

[[nodiscard]] KernelKind kernel_kind(std::string_view name);
[[nodiscard]] KernelKind kernel_kind(const ImportedRun& run, const DeviceOp& op);
[[nodiscard]] const char* name_of(KernelKind kind);

}  // namespace sgsim::trace

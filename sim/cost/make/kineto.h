#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sgsim::cost::make {

/// One device activity of a PyTorch profile with the framework operator that launched it.
struct TracedKernel {
  std::string kernel;
  double us = 0.0;
  std::int64_t call = 0;                         // number of the operator call: kernels of one call share it
  std::string op;                                // "aten::mm", "triton_poi_fused__to_copy_4"
  std::vector<std::vector<std::int64_t>> shapes; // of its arguments; empty for scalars and lists
  std::vector<std::vector<std::int64_t>> strides;
  std::vector<std::string> types;                // "c10::BFloat16", "float", "Scalar", ...
  std::vector<std::string> constants;            // "[1, 1]" where an argument is no tensor
};

/// Kernels and memsets of a Kineto trace (Chrome JSON, packed or not) whose operator was recorded with its shapes, in
/// file order.
[[nodiscard]] std::vector<TracedKernel> read_trace(const std::string& path);

/// Bytes of all tensor arguments, each once.
[[nodiscard]] double argument_bytes(const TracedKernel& kernel);

}  // namespace sgsim::cost::make

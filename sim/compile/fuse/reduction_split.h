#pragma once

#include <cstdint>

namespace sgsim::compile::fuse {

/// Into how many parts Inductor cuts each output element's reduction, each part summed by its own block and the parts by a
/// second kernel; 1: not cut. `outer`: most operands are contiguous along the kept dimensions.
/// Source: torch/_inductor/ir.py, Reduction.num_splits (PyTorch 2.11): 32 to 512 elements a thread, 2,048 threads an SM.
/// The number of SMs is that of the GPU that was captured on (132: H100 and H200, from the datasheet); on an A100 (108) the
/// parts are a little larger and the kernels the same.
[[nodiscard]] std::int64_t reduction_parts(std::int64_t kept, std::int64_t reduced, bool outer);

/// True when one kernel sums a matrix of `rows` x `columns` along both of its dimensions: rows in registers, columns into
/// partial sums of `kMixedRows` rows each that ATen's sum kernel adds up. Source: torch/_inductor/scheduler.py,
/// MixOrderReduction.can_fuse (PyTorch 2.11, config.triton.mix_order_reduction).
[[nodiscard]] bool sums_both_ways(std::int64_t rows, std::int64_t columns);
/// Rows a block of such a kernel (profiles of llama_1b and gpt2_350m: 8,192 rows in 512 blocks, 16,384 in 1,024).
inline constexpr std::int64_t kMixedRows = 16;

/// Rows of up to this many elements are kept in registers and read once (config.triton.persistent_reductions).
[[nodiscard]] bool is_persistent(std::int64_t reduced, bool outer);

}  // namespace sgsim::compile::fuse

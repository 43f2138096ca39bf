#pragma once

#include <vector>

#include "calibrate/record/key.h"

namespace sgsim::calibrate {

/// The points of each group of measurements, in the order in which they are measured. Pure: nothing here needs a GPU.
/// Sizes are one GPU's. What a label or size means stands beside the case that measures it (calibrate/bench/cases).
[[nodiscard]] std::vector<Key> matmul_sweep();
[[nodiscard]] std::vector<Key> attention_sweep();
[[nodiscard]] std::vector<Key> memory_sweep();
[[nodiscard]] std::vector<Key> convolution_sweep();
[[nodiscard]] std::vector<Key> host_copy_sweep();
[[nodiscard]] std::vector<Key> launch_sweep();
[[nodiscard]] std::vector<Key> clock_sweep();
/// `gpus`: local GPUs to use; 1 gives the one-rank points only.
[[nodiscard]] std::vector<Key> collective_sweep(int gpus);
[[nodiscard]] std::vector<Key> interference_sweep(int gpus);

/// Shapes that the fit never sees: random, from a fixed seed, none of them in a sweep. 200 matrix products, 100 attentions
/// (half of them backward), bandwidth-bound kernels, and, with two or more GPUs, collectives from 64 KB up.
[[nodiscard]] std::vector<Key> held_out_sweep(int gpus);

/// Names of the groups, in running order.
[[nodiscard]] const std::vector<std::string>& group_names();
/// Sweeps of the groups named (all when empty), or the held-out ones of them. Throws InputError for an unknown group.
[[nodiscard]] std::vector<Key> select_points(const std::vector<std::string>& groups, bool held_out, int gpus);

/// A few points of every group, to see that everything runs.
[[nodiscard]] std::vector<Key> smoke_points(int gpus);

}  // namespace sgsim::calibrate

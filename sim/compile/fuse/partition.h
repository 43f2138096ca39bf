#pragma once

#include <cstdint>
#include <vector>

#include "sim/compile/fuse/program.h"

namespace sgsim::compile::fuse {

/// Which operators run in which pass and which values are kept for the backward pass.
struct Partition {
  std::vector<char> forward;    // by op: runs in the forward pass
  std::vector<char> backward;   // by op: runs in the backward pass (a recomputed operator runs in both)
  std::vector<char> saved;      // by value: made by the forward pass and read by the backward pass
};

/// Readers of each value, in program order.
struct Users {
  std::vector<std::uint32_t> first;  // by value; size values + 1
  std::vector<std::uint32_t> ops;
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t value) const {
    return {ops.data() + first[value], first[value + 1] - first[value]};
  }
};
[[nodiscard]] Users users_of(const Program& program);

/// Chooses what the backward pass recomputes and what the forward pass saves, as AOTAutograd's
/// min_cut_rematerialization_partition does (torch/_functorch/partitioners.py, PyTorch 2.11, default options): the cheapest
/// cut, in bytes, between what may not be recomputed and what needs gradients. `recompute` false: saves every forward value
/// that a backward operator reads (default_partition).
[[nodiscard]] Partition partition(const Program& program, const Users& users, bool recompute);

}  // namespace sgsim::compile::fuse

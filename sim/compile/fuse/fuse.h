#pragma once

#include <cstdint>
#include <vector>

#include "sim/compile/fuse/loops.h"

namespace sgsim::compile::fuse {

/// Loop nests that run as one kernel, in order.
struct Group {
  std::vector<std::uint32_t> nests;
  bool mixed = false;  // sums a matrix along rows and columns in one pass
};

/// Joins loop nests as Inductor's scheduler does (torch/_inductor/scheduler.py and codegen/simd.py): producers with consumers
/// whose reads match the writes, and neighbours that read the same memory; the pair that saves most bytes first; in rounds
/// until nothing changes. Never across pieces, passes or library kernels. `enabled` false: every nest by itself.
/// The groups stand in an order in which everything is made before it is read. Sizes of partial sums are set to those of the
/// kernels chosen.
[[nodiscard]] std::vector<Group> fuse(LoopProgram& program, bool enabled);

}  // namespace sgsim::compile::fuse

#pragma once

#include <vector>

#include "sim/compile/fuse/fuse.h"
#include "sim/compile/fuse/loops.h"
#include "sim/compile/fuse/program.h"
#include "sim/compile/kernel.h"
#include "sim/compile/operator_table.h"

namespace sgsim::compile::fuse {

/// Kernels of the fused groups: the bytes that each moves (every outside operand once a pass over it, every result that is
/// read outside once), what it covers, reads and saves. Names follow Inductor's ("triton_red_fused_add_mean_mul_pow_rsqrt").
[[nodiscard]] std::vector<Kernel> emit(const graph::OperatorGraph& graph, const OperatorTable& operators, const Program& program, const LoopProgram& loops,
                                       const std::vector<Group>& groups);

}  // namespace sgsim::compile::fuse

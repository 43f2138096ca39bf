#pragma once

#include "sim/compile/kernel.h"

namespace sgsim::lower::segment {

/// Stack::fused_cross_entropy: cast, log-softmax and loss as one kernel a pass. Forward reads the logits in their own type and
/// keeps a number a row; backward reads them again and writes their gradient (Dao-AILab/flash-attention
/// flash_attn/losses/cross_entropy.py; NVIDIA/apex csrc xentropy). What stood around it keeps its launch and moves nothing.
void fuse_cross_entropy(compile::CompiledGraph& compiled);

}  // namespace sgsim::lower::segment

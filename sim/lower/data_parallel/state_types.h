#pragma once

#include "sim/graph/dtype.h"
#include "sim/lower/lower.h"
#include "sim/plan/plan.h"

namespace sgsim::lower {

/// Element types of a rank's training state.
struct StateTypes {
  graph::DType parameter = graph::DType::float32;   // that the kernels read; what data parallelism gathers
  graph::DType raw_gradient = graph::DType::float32;  // as the backward kernels write it
  graph::DType gradient = graph::DType::float32;    // as it is kept and reduced
  graph::DType kept = graph::DType::float32;        // of the parameters that the optimizer updates
  bool master = false;      // the optimizer updates a copy of its own (`kept`) and writes `parameter` from it
  bool main_gradient = false;  // gradients are kept in a buffer of another type than the raw ones (Megatron's main_grad)
  bool operator==(const StateTypes&) const = default;
};

/// autocast: the kernels cast parameter_dtype parameters at use, gradients come back in it. Otherwise parameters are
/// compute_dtype; where parameter_dtype is wider, DDP and ZeRO keep a master copy, and FSDP keeps its shard in
/// parameter_dtype, gathers in compute_dtype and reduces in gradient_dtype (MixedPrecisionPolicy).
[[nodiscard]] StateTypes state_types(const Training& training, plan::Sharding sharding);

[[nodiscard]] inline bool fully_sharded(plan::Sharding sharding) { return sharding == plan::Sharding::fsdp || sharding == plan::Sharding::hybrid; }

}  // namespace sgsim::lower

#include "sim/lower/data_parallel/state_types.h"

namespace sgsim::lower {

StateTypes state_types(const Training& training, plan::Sharding sharding) {
  StateTypes types;
  types.parameter = training.autocast ? training.parameter_dtype : training.compute_dtype;
  types.raw_gradient = types.parameter;
  types.kept = training.parameter_dtype;
  types.gradient = training.gradient_dtype;
  if (fully_sharded(sharding)) return types;
  types.master = types.parameter != types.kept;
  types.main_gradient = types.gradient != types.raw_gradient;
  return types;
}

}  // namespace sgsim::lower

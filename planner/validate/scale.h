#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace sgsim::validate {

/// A scenario as it can be executed on one machine, and what had to change for that, in words.
struct Scaled {
  scenario::Scenario scenario;
  std::vector<std::string> changes;   // empty: it runs as it is
};

/// Whether a scenario's plan fits into its GPUs' memory.
using Fits = std::function<bool(const scenario::Scenario&)>;

/// Makes a scenario small enough for `gpus` GPUs of one node without changing the shape of any kernel, in this order:
/// 1. data-parallel replicas go (whole copies; FSDP then shards over fewer ranks), each of the rest keeps its micro-batches;
/// 2. pipeline stages go, each of the rest keeps its layers;
/// 3. where 1 or 2 acted, micro-batches go until twice the pipeline stages (at least 2) are left;
/// 4. layers go, as many in each stage, until the plan fits in memory.
/// Tensor, context and expert parallel sizes shape the kernels and stay. Throws InputError when they need more GPUs than there are, or
/// when one layer a stage does not fit. `shape`: of the scenario's model.
[[nodiscard]] Scaled scale_to(const scenario::Scenario& scenario, const plan::ModelShape& shape, int gpus, const Fits& fits);

}  // namespace sgsim::validate

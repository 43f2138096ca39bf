#include "sim/lower/program/stack_costs.h"

#include <algorithm>
#include <utility>

namespace sgsim::lower {
namespace {

constexpr double kFloat32Sigma = 0.2;  // assumed, as for other products that nobody measured

int generation_of(const cost::Profile& profile) {
  const auto stated = profile.factors.find("attention.generation");
  if (stated != profile.factors.end()) return static_cast<int>(stated->second.value);
  return profile.gpu.peak.contains(graph::DType::float8_e4m3fn) ? 3 : 2;
}

}  // namespace

double attention_slowdown(int generation, int of_profile, const graph::Attention& work) {
  if (generation == 0 || of_profile == 0) return 1.0;
  const bool forward = work.pass == graph::Pass::forward;
  const double wide = std::clamp((static_cast<double>(work.head_dim) - 64.0) / 64.0, 0.0, 1.0);  // 0 at head size 64, 1 at 128
  const double first = forward ? 1.4 : 2.0, second = forward ? 1.58 + 0.31 * wide : 1.66 + 0.24 * wide;
  const auto over_third = [&](int g) { return g == 1 ? first * second : g == 2 ? second : 1.0; };
  return over_third(generation) / over_third(of_profile);
}

TaskCosts with_stack(TaskCosts costs, const cost::Profile& profile, const Stack& stack) {
  for (cost::LaunchModel* launch : {&costs.launch, &costs.eager}) {
    for (Seconds* host : {&launch->host_per_operator, &launch->host_per_kernel, &launch->host_per_collective, &launch->host_per_graph, &launch->host_per_step,
                          &launch->host_backward_extra}) {
      *host = *host * stack.host_time;
    }
  }
  if (stack.attention_generation == 0 && stack.product_time == 1.0) return costs;
  // Newer kernels than a GPU has do not run on it: at least as slow as the profile's.
  const int of_profile = generation_of(profile), generation = std::min(stack.attention_generation, of_profile);
  const double products = stack.product_time;
  auto inner = std::move(costs.kernel);
  costs.kernel = [inner = std::move(inner), generation, of_profile, products](const graph::Work& work) {
    cost::Estimate estimate = inner(work);
    if (const auto* attention = std::get_if<graph::Attention>(&work)) estimate.time = estimate.time * attention_slowdown(generation, of_profile, *attention);
    if (std::holds_alternative<graph::Matmul>(work)) estimate.time = estimate.time * products;
    return estimate;
  };
  return costs;
}

TaskCosts with_full_float32(TaskCosts costs, const cost::Profile& profile, Diagnostics& diagnostics) {
  auto inner = std::move(costs.kernel);
  costs.kernel = [inner = std::move(inner), peak = profile.gpu.vector_peak.value, &diagnostics](const graph::Work& work) {
    cost::Estimate estimate = inner(work);
    const auto* product = std::get_if<graph::Matmul>(&work);
    if (product == nullptr || product->dtype != graph::DType::float32) return estimate;
    const Seconds vector = estimate.flops / peak;
    if (vector <= estimate.time) return estimate;
    estimate.time = vector;
    estimate.bound = cost::Bound::compute;
    estimate.source = cost::Source::analytic;
    estimate.sigma = std::max(estimate.sigma, kFloat32Sigma);
    diagnostics.add("cost.matmul.float32_vector_rate", Severity::info, "float32 products at the datasheet's vector rate (training.tf32 is off); not measured");
    return estimate;
  };
  return costs;
}

TaskCosts training_costs(const cost::Profile& profile, const Training& training, Diagnostics& diagnostics) {
  TaskCosts plain = profile_costs(profile, training.execution, diagnostics);
  if (!training.tf32) plain = with_full_float32(std::move(plain), profile, diagnostics);
  return with_stack(std::move(plain), profile, training.stack);
}

std::optional<TensorWrapper> tensor_wrapper(const cost::Profile& profile, const plan::Plan& plan, const Training& training) {
  // One reduction a product is what DTensor's plans do (Stack), whose dispatch costs host time.
  const bool through_dtensor = plan.tp > 1 && training.stack.tensor_parallel_reduces_each && training.execution == compile::Execution::eager;
  return through_dtensor ? dtensor_costs(profile) : std::nullopt;
}

TaskCosts request_costs(const Request& request, Diagnostics& diagnostics) {
  TaskCosts costs = training_costs(request.profile, request.training, diagnostics);
  costs.wrapper = tensor_wrapper(request.profile, request.plan, request.training);
  return costs;
}

}  // namespace sgsim::lower

#include "sim/lower/program/launches.h"

#include <algorithm>

namespace sgsim::lower {
namespace {

bool is_extern(const graph::Work& work) { return !std::holds_alternative<graph::MemoryBound>(work); }

// The kernel that first needs the result of collective `index`. Without data flow in the list (no kernel names an
// input) the next kernel is taken to need it.
std::uint32_t first_reader(const std::vector<compile::Kernel>& kernels, std::size_t index, bool has_flow) {
  if (!has_flow) return static_cast<std::uint32_t>(index + 1);
  const KernelId id{static_cast<std::uint32_t>(index)};
  for (std::size_t k = index + 1; k < kernels.size(); ++k) {
    if (std::find(kernels[k].inputs.begin(), kernels[k].inputs.end(), id) != kernels[k].inputs.end()) return static_cast<std::uint32_t>(k);
  }
  return static_cast<std::uint32_t>(kernels.size());
}

/// A linear layer's product as its 8-bit kernel; products over a batch (attention) keep their type.
graph::Work in_float8(graph::Work work) {
  if (auto* product = std::get_if<graph::Matmul>(&work); product != nullptr && product->batch == 1) product->dtype = graph::DType::float8_e4m3fn;
  return work;
}

/// Bringing the operands of an 8-bit linear product into their type: forward its input, backward the gradient of its output, whose
/// second layout serves the weight gradient too.
Seconds cast_time(const graph::Work& work, const TaskCosts& costs, double cast_bytes) {
  const auto* product = std::get_if<graph::Matmul>(&work);
  if (product == nullptr || product->dtype != graph::DType::float8_e4m3fn || product->a_transposed || cast_bytes <= 0.0) return {};
  const double elements = static_cast<double>(product->m) * static_cast<double>(product->k);
  return costs.kernel(graph::MemoryBound{.kind = graph::MemoryKind::copy, .read = Bytes(elements * cast_bytes / 2.0), .written = Bytes(elements * cast_bytes / 2.0), .flops = {}}).time;
}

std::vector<Launch> price(const std::vector<compile::Kernel>& kernels, compile::Execution execution, const TaskCosts& costs, const Stack& stack, bool float8) {
  const bool has_flow = std::any_of(kernels.begin(), kernels.end(), [](const compile::Kernel& k) { return !k.inputs.empty(); });
  std::vector<Launch> launches;
  launches.reserve(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const compile::Kernel& kernel = kernels[i];
    Launch launch{.kernel = &kernel, .estimate = {}, .cost = {}, .reader = 0};
    if (kernel.is_communication) {
      launch.reader = first_reader(kernels, i, has_flow);
    } else {
      const graph::Work work = float8 ? in_float8(kernel.work) : kernel.work;
      launch.estimate = costs.kernel(work);
      launch.estimate.time += cast_time(work, costs, stack.float8_cast_bytes);
      launch.cost = launch_kernel(kernel, launch.estimate.time, execution, execution == compile::Execution::eager ? costs.eager : costs.launch);
      if (stack.launch_blocking && execution != compile::Execution::cuda_graph) launch.cost = blocking(launch.cost);
    }
    launches.push_back(launch);
  }
  return launches;
}

}  // namespace

RunCost launch_kernel(const compile::Kernel& kernel, Seconds time, compile::Execution execution, const cost::LaunchModel& launch) {
  switch (execution) {
    case compile::Execution::eager: {
      Seconds host = launch.host_per_operator * kernel.host_operators + launch.host_per_kernel;
      if (kernel.phase == graph::Phase::backward) host += launch.host_backward_extra * kernel.host_operators;
      return kernel_run(time, host, launch.launch_latency, launch.device_gap);
    }
    case compile::Execution::compiled: {
      const Seconds host = launch.host_per_kernel + (is_extern(kernel.work) ? launch.host_per_operator : Seconds());
      return kernel_run(time, host, launch.launch_latency, launch.device_gap);
    }
    case compile::Execution::cuda_graph: return {.device = launch.device_gap + time, .issue_to_end = launch.device_gap + time, .host = Seconds()};
  }
  return {};
}

compile::Execution execution_of(SegmentRole role, compile::Execution execution, bool compile_layers_only) {
  return compile_layers_only && role != SegmentRole::layer ? compile::Execution::eager : execution;
}

std::vector<SegmentLaunches> price_segments(const SegmentedModel& model, compile::Execution execution, const Stack& stack, const TaskCosts& costs) {
  std::vector<SegmentLaunches> priced;
  for (const ModelSegment& segment : model.segments) {
    const compile::Execution mode = execution_of(segment.role, execution, stack.compile_layers_only);
    const bool float8 = stack.float8_linear && segment.role == SegmentRole::layer;
    const auto list = [&](const std::vector<compile::Kernel>& kernels) { return price(kernels, mode, costs, stack, float8); };
    priced.push_back({.segment = &segment, .forward = list(segment.forward), .recompute = list(segment.recompute), .backward = list(segment.backward)});
  }
  return priced;
}

Seconds device_time(const std::vector<Launch>& launches) {
  Seconds total;
  for (const Launch& launch : launches) total += launch.cost.device;
  return total;
}

}  // namespace sgsim::lower

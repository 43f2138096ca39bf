#include "sim/lower/program/launches.h"

#include <algorithm>

#include "sim/lower/program/tensor_pieces.h"

namespace sgsim::lower {
namespace {

bool is_extern(const graph::Work& work) { return !std::holds_alternative<graph::MemoryBound>(work); }

/// A linear layer's product as its 8-bit kernel; products over a batch (attention) keep their type.
graph::Work in_float8(graph::Work work) {
  if (auto* product = std::get_if<graph::Matmul>(&work); product != nullptr && product->batch == 1) product->dtype = graph::DType::float8_e4m3fn;
  return work;
}

/// Host time that a tensor-parallel wrapper adds to a kernel: to linear layers' products, half of a layer's backward part each.
Seconds wrapped(const TaskCosts& costs, const compile::Kernel& kernel) {
  const auto* product = std::get_if<graph::Matmul>(&kernel.work);
  if (!costs.wrapper || product == nullptr || product->batch != 1) return {};
  return kernel.phase == graph::Phase::backward ? costs.wrapper->backward * 0.5 : costs.wrapper->forward;
}

/// Bringing the operands of an 8-bit linear product into their type: forward its input, backward the gradient of its output, whose
/// second layout serves the weight gradient too.
Seconds cast_time(const graph::Work& work, const TaskCosts& costs, double cast_bytes) {
  const auto* product = std::get_if<graph::Matmul>(&work);
  if (product == nullptr || product->dtype != graph::DType::float8_e4m3fn || product->a_transposed || cast_bytes <= 0.0) return {};
  const double elements = static_cast<double>(product->m) * static_cast<double>(product->k);
  return costs.kernel(graph::MemoryBound{.kind = graph::MemoryKind::copy, .read = Bytes(elements * cast_bytes / 2.0), .written = Bytes(elements * cast_bytes / 2.0), .flops = {}}).time;
}

std::vector<Launch> price(const std::vector<compile::Kernel>& kernels, compile::Execution execution, const TaskCosts& costs, const Stack& stack, bool float8, bool in_layer,
                          std::int64_t tensor_parallel) {
  const bool has_flow = std::any_of(kernels.begin(), kernels.end(), [](const compile::Kernel& k) { return !k.inputs.empty(); });
  std::vector<Launch> launches;
  launches.reserve(kernels.size());
  const bool pipelined = stack.tensor_parallel_pipelined && has_flow;
  const ProductPieces pieces = pipelined ? product_pieces(kernels, tensor_parallel) : ProductPieces{};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const compile::Kernel& kernel = kernels[i];
    Launch launch{.kernel = &kernel, .estimate = {}, .cost = {}, .reader = 0, .float8 = float8};
    if (kernel.is_communication) {
      launch.reader = waited_at(kernels, static_cast<std::uint32_t>(i), has_flow, execution);
      launch.float8 = float8 && stack.float8_gather && has_flow && is_operand_gather(kernels, i, launch.reader);
    } else {
      const graph::Work work = work_of(launch);
      launch.estimate = costs.kernel(work);
      launch.estimate.time += cast_time(work, costs, stack.float8_cast_bytes) + more_in_pieces(work, pieces, static_cast<std::uint32_t>(i), costs);
      launch.cost = launch_kernel(kernel, launch.estimate.time, execution, execution == compile::Execution::eager ? costs.eager : costs.launch);
      const Seconds more = in_layer && execution == compile::Execution::eager ? wrapped(costs, kernel) : Seconds();
      launch.cost.host += more;
      launch.cost.issue_to_end += more;
      if (stack.launch_blocking && execution != compile::Execution::cuda_graph) launch.cost = blocking(launch.cost);
    }
    launches.push_back(launch);
  }
  if (pipelined) send_in_pieces(launches, kernels);
  return launches;
}

/// The launches of one kind of a split backward list. A collective that only the other kind reads is waited for by nobody here:
/// the other list comes later.
std::vector<Launch> part_of(const std::vector<Launch>& launches, const std::vector<compile::Kernel>& kernels, const std::vector<bool>& weight_only, bool weights) {
  const auto belongs = [&](std::size_t k) { return (k < weight_only.size() && weight_only[k]) == weights; };
  const bool has_flow = std::any_of(kernels.begin(), kernels.end(), [](const compile::Kernel& k) { return !k.inputs.empty(); });
  std::vector<std::uint32_t> place(kernels.size() + 1, 0);
  for (std::size_t k = 0; k < kernels.size(); ++k) place[k + 1] = place[k] + (belongs(k) ? 1U : 0U);
  std::vector<Launch> part;
  for (std::size_t k = 0; k < launches.size(); ++k) {
    if (!belongs(k)) continue;
    part.push_back(launches[k]);
    if (!launches[k].kernel->is_communication) continue;
    const auto own = static_cast<std::size_t>(launches[k].kernel - kernels.data());  // pipelining may have moved it
    std::size_t reader = first_reader(kernels, own, has_flow);
    const KernelId id{static_cast<std::uint32_t>(own)};
    while (reader < kernels.size() && !(belongs(reader) && (!has_flow || std::find(kernels[reader].inputs.begin(), kernels[reader].inputs.end(), id) != kernels[reader].inputs.end()))) ++reader;
    part.back().reader = place[reader];
  }
  return part;
}

}  // namespace

std::uint32_t waited_at(const std::vector<compile::Kernel>& kernels, std::uint32_t index, bool has_flow, compile::Execution execution) {
  const bool at_once = execution == compile::Execution::compiled && kernels[index].communication.group == "cp";
  return at_once ? index + 1 : first_reader(kernels, index, has_flow);
}

graph::Work work_of(const Launch& launch) { return launch.float8 ? in_float8(launch.kernel->work) : launch.kernel->work; }

Bytes payload_of(const Launch& launch) { return launch.kernel->communication.bytes * (launch.float8 ? 0.5 : 1.0); }

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

std::vector<SegmentLaunches> price_segments(const SegmentedModel& model, compile::Execution execution, const Stack& stack, const TaskCosts& costs, bool split_backward,
                                            std::int64_t tensor_parallel) {
  std::vector<SegmentLaunches> priced;
  for (const ModelSegment& segment : model.segments) {
    const compile::Execution mode = execution_of(segment.role, execution, stack.compile_layers_only);
    const bool float8 = stack.float8_linear && segment.role == SegmentRole::layer;
    const auto priced_list = [&](const std::vector<compile::Kernel>& kernels) { return price(kernels, mode, costs, stack, float8, segment.role == SegmentRole::layer, tensor_parallel); };
    priced.push_back({.segment = &segment, .forward = priced_list(segment.forward), .recompute = priced_list(segment.recompute), .backward = priced_list(segment.backward), .input_gradients = {}, .weight_gradients = {}});
    if (!split_backward) continue;
    SegmentLaunches& made = priced.back();
    made.input_gradients = part_of(made.backward, segment.backward, segment.weight_only, false);
    made.weight_gradients = part_of(made.backward, segment.backward, segment.weight_only, true);
  }
  return priced;
}

std::vector<SegmentLaunches> price_plan(const SegmentedModel& model, const plan::Plan& plan, const Training& training, const TaskCosts& costs) {
  return price_segments(model, training.execution, training.stack, costs, plan.schedule == plan::Schedule::zero_bubble, plan.tp);
}

Seconds device_time(const std::vector<Launch>& launches) {
  Seconds total;
  for (const Launch& launch : launches) total += launch.cost.device;
  return total;
}

}  // namespace sgsim::lower

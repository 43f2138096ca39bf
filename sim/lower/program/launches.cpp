#include "sim/lower/program/launches.h"

#include <algorithm>
#include <set>

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

/// The kernels that tensor-parallel transfers in pieces change: a product of which a gather's pieces are read, or whose pieces are
/// sent, runs as `pieces` smaller ones, and what was received of a reduce-scatter is summed up at the end.
struct Pieces {
  std::set<std::uint32_t> gathered, scattered;
  std::int64_t count = 1;
};

Pieces pieces_of(const std::vector<compile::Kernel>& kernels, std::int64_t count);

/// What a product in pieces takes longer than in one.
Seconds time_in_pieces(const graph::Work& work, const Pieces& pieces, std::uint32_t index, const TaskCosts& costs) {
  const bool scattered = pieces.scattered.contains(index);
  if (pieces.count <= 1 || (!scattered && !pieces.gathered.contains(index))) return {};
  graph::Matmul piece = std::get<graph::Matmul>(work);
  piece.m = std::max<std::int64_t>(1, piece.m / pieces.count);
  Seconds more = std::max(Seconds(), costs.kernel(piece).time * static_cast<double>(pieces.count) - costs.kernel(work).time);
  if (scattered) {
    const Bytes received(static_cast<double>(std::get<graph::Matmul>(work).m) * static_cast<double>(piece.n) * graph::size_of(piece.out_dtype));
    more += costs.kernel(graph::MemoryBound{.kind = graph::MemoryKind::reduction, .read = received, .written = received / static_cast<double>(pieces.count), .flops = {}}).time;
  }
  return more;
}

void pipeline_tensor_parallel(std::vector<Launch>& launches, const std::vector<compile::Kernel>& kernels);

bool is_float8_gather(const std::vector<compile::Kernel>& kernels, std::size_t index, std::uint32_t reader);

std::vector<Launch> price(const std::vector<compile::Kernel>& kernels, compile::Execution execution, const TaskCosts& costs, const Stack& stack, bool float8, bool in_layer,
                          std::int64_t tensor_parallel) {
  const bool has_flow = std::any_of(kernels.begin(), kernels.end(), [](const compile::Kernel& k) { return !k.inputs.empty(); });
  std::vector<Launch> launches;
  launches.reserve(kernels.size());
  const bool pipelined = stack.tensor_parallel_pipelined && has_flow;
  const Pieces pieces = pipelined ? pieces_of(kernels, tensor_parallel) : Pieces{};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const compile::Kernel& kernel = kernels[i];
    Launch launch{.kernel = &kernel, .estimate = {}, .cost = {}, .reader = 0, .float8 = float8};
    if (kernel.is_communication) {
      launch.reader = first_reader(kernels, i, has_flow);
      launch.float8 = float8 && stack.float8_gather && has_flow && is_float8_gather(kernels, i, launch.reader);
    } else {
      const graph::Work work = work_of(launch);
      launch.estimate = costs.kernel(work);
      launch.estimate.time += cast_time(work, costs, stack.float8_cast_bytes) + time_in_pieces(work, pieces, static_cast<std::uint32_t>(i), costs);
      launch.cost = launch_kernel(kernel, launch.estimate.time, execution, execution == compile::Execution::eager ? costs.eager : costs.launch);
      const Seconds more = in_layer && execution == compile::Execution::eager ? wrapped(costs, kernel) : Seconds();
      launch.cost.host += more;
      launch.cost.issue_to_end += more;
      if (stack.launch_blocking && execution != compile::Execution::cuda_graph) launch.cost = blocking(launch.cost);
    }
    launches.push_back(launch);
  }
  if (pipelined) pipeline_tensor_parallel(launches, kernels);
  return launches;
}

bool is_linear_product(const compile::Kernel& kernel) {
  const auto* product = std::get_if<graph::Matmul>(&kernel.work);
  return !kernel.is_communication && product != nullptr && product->batch == 1;
}

bool is_tensor(const compile::Kernel& kernel, graph::CollectiveOp op) { return kernel.is_communication && kernel.communication.group == "tp" && kernel.communication.op == op; }

bool is_float8_gather(const std::vector<compile::Kernel>& kernels, std::size_t index, std::uint32_t reader) {
  return is_tensor(kernels[index], graph::CollectiveOp::all_gather) && reader < kernels.size() && is_linear_product(kernels[reader]);
}

/// A reduce-scatter of what the kernel before it made.
bool sends_pieces(const std::vector<compile::Kernel>& kernels, std::uint32_t k) {
  if (k == 0 || !is_tensor(kernels[k], graph::CollectiveOp::reduce_scatter) || !is_linear_product(kernels[k - 1])) return false;
  return std::find(kernels[k].inputs.begin(), kernels[k].inputs.end(), KernelId{k - 1}) != kernels[k].inputs.end();
}

// Weight gradients sum over what is gathered: their pieces add up in place, as one product does.
bool has_row_pieces(const compile::Kernel& kernel) { return is_linear_product(kernel) && !std::get<graph::Matmul>(kernel.work).a_transposed; }

Pieces pieces_of(const std::vector<compile::Kernel>& kernels, std::int64_t count) {
  Pieces pieces{.gathered = {}, .scattered = {}, .count = count};
  for (std::uint32_t k = 0; k < kernels.size(); ++k) {
    if (sends_pieces(kernels, k)) pieces.scattered.insert(k - 1);
    if (!is_tensor(kernels[k], graph::CollectiveOp::all_gather)) continue;
    const std::uint32_t reader = first_reader(kernels, k, true);
    if (reader < kernels.size() && has_row_pieces(kernels[reader])) pieces.gathered.insert(reader);
  }
  return pieces;
}

/// Tensor-parallel transfers in pieces. A gather goes on while the product that reads it works on the pieces that have come, so
/// that not this product but what follows it waits for the end; a reduce-scatter of a product begins with the product, whose pieces
/// it sends as they are made. The first piece of a gather and the last of a reduce-scatter, which have nothing to run beside, are
/// not counted.
void pipeline_tensor_parallel(std::vector<Launch>& launches, const std::vector<compile::Kernel>& kernels) {
  const auto end = static_cast<std::uint32_t>(launches.size());
  std::vector<std::uint32_t> place(launches.size() + 1);
  for (std::uint32_t k = 0; k <= end; ++k) place[k] = k;
  for (std::uint32_t k = 1; k < end; ++k) {
    if (sends_pieces(kernels, k)) {
      std::swap(launches[k - 1], launches[k]);
      std::swap(place[k - 1], place[k]);
    }
  }
  for (Launch& launch : launches) {
    if (!launch.kernel->is_communication) continue;
    launch.reader = place[launch.reader];
    if (is_tensor(*launch.kernel, graph::CollectiveOp::all_gather) && launch.reader < end && is_linear_product(*launches[launch.reader].kernel)) ++launch.reader;
  }
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

Seconds device_time(const std::vector<Launch>& launches) {
  Seconds total;
  for (const Launch& launch : launches) total += launch.cost.device;
  return total;
}

}  // namespace sgsim::lower

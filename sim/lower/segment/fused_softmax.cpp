#include "sim/lower/segment/fused_softmax.h"

#include <algorithm>
#include <string>

#include "sim/compile/operator_effects.h"
#include "sim/core/error.h"
#include "sim/graph/dtype.h"

namespace sgsim::lower::segment {
namespace {

using compile::Kernel;
using graph::MemoryBound;
using graph::MemoryKind;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::ValueRef;

/// Made of constants alone (positions compared with positions): a causal mask, not a batch's padding.
bool is_constant(const OperatorGraph& graph, ValueRef value, int depth = 0) {
  constexpr int kDeepest = 12;
  const graph::Node& node = graph.node(value.node);
  if (node.kind != NodeKind::call || depth > kDeepest) return false;
  bool constant = true;
  graph::for_each_input(node, [&](ValueRef input) { constant = constant && is_constant(graph, input, depth + 1); });
  return constant;
}

const graph::Node* node_named(const OperatorGraph& graph, const Kernel& kernel, std::string_view name) {
  for (NodeId id : kernel.nodes) {
    if (compile::base_name(graph.node(id).target) == name) return &graph.node(id);
  }
  return nullptr;
}

double elements_of(const graph::TensorType& type) {
  double elements = 1.0;
  for (const std::int64_t extent : type.shape) elements *= static_cast<double>(extent);
  return elements;
}

bool has_causal_mask(const OperatorGraph& graph, const graph::Node& masked_fill) {
  int operand = 0;
  bool causal = false;
  graph::for_each_input(masked_fill, [&](ValueRef v) { causal = operand++ == 1 ? is_constant(graph, v) : causal; });
  return causal;
}

/// One fused kernel over all of it.
void price_fused(const OperatorGraph& graph, Kernel& kernel, const graph::Node& masked_fill, bool backward) {
  auto& work = std::get<MemoryBound>(kernel.work);
  const graph::TensorType& scores = scores_of(graph, kernel);
  const Bytes all(elements_of(scores) * graph::size_of(scores.dtype));
  const double seen = has_causal_mask(graph, masked_fill) ? 0.5 : 1.0;
  work.kind = MemoryKind::norm;
  work.read = all * (backward ? 2.0 * seen : seen);
  work.written = all;
}

/// The same step by step in float32; the cast at each end counts with its neighbour.
void price_apart(const OperatorGraph& graph, Kernel& kernel, bool backward) {
  constexpr double kWide = 4.0;
  auto& work = std::get<MemoryBound>(kernel.work);
  const graph::TensorType& scores = scores_of(graph, kernel);
  const double elements = elements_of(scores), narrow = graph::size_of(scores.dtype);
  const Bytes cast_read(elements * narrow), wide(elements * kWide);
  const bool softmax = node_named(graph, kernel, "_softmax") != nullptr || node_named(graph, kernel, "_softmax_backward_data") != nullptr;
  const bool scale = node_named(graph, kernel, "mul") != nullptr;
  work.read = wide;
  work.written = wide;
  if (softmax) work.kind = MemoryKind::norm;
  if (softmax && backward) work.read += wide;
  if (!softmax && !scale) return;
  const bool widens = scale != backward;  // forward before the scale, backward before the softmax
  work.read += widens ? cast_read : wide;
  work.written += widens ? wide : cast_read;
  kernel.host_operators += 1;
}

bool touches(const Kernel& kernel, const std::vector<Kernel>& kernels, std::string_view name) {
  return std::any_of(kernel.inputs.begin(), kernel.inputs.end(), [&](KernelId input) { return kernels[input.value].name == name; });
}

}  // namespace

bool is_softmax_chain(std::string_view producer, std::string_view consumer) {
  const auto of_chain = [](std::string_view name) { return name == "masked_fill" || name == "_softmax" || name == "_softmax_backward_data"; };
  return of_chain(producer) || of_chain(consumer);
}

const graph::TensorType& scores_of(const OperatorGraph& graph, const Kernel& kernel) {
  SGSIM_CHECK(!kernel.nodes.empty(), "a kernel of the softmax has operators");
  return graph.type({kernel.nodes.front(), 0});
}

bool has_fused_softmax(const graph::TensorType& scores) {
  constexpr std::int64_t kShortest = 16, kLongest = 4096, kVector = 4;
  if (scores.shape.size() < 3 || graph::size_of(scores.dtype) != 2) return false;
  const std::int64_t keys = scores.shape.back(), queries = scores.shape[scores.shape.size() - 2];
  std::int64_t batches = 1;
  for (std::size_t i = 0; i + 2 < scores.shape.size(); ++i) batches *= scores.shape[i];
  return keys > kShortest && keys <= kLongest && queries % kVector == 0 && batches % kVector == 0;
}

void price_softmax(compile::CompiledGraph& compiled) {
  const OperatorGraph& graph = compiled.graph;
  std::vector<bool> before_mask(compiled.kernels.size(), false);
  for (const Kernel& kernel : compiled.kernels) {
    if (kernel.name != "masked_fill") continue;
    for (KernelId input : kernel.inputs) before_mask[input.value] = true;
  }
  for (std::size_t k = 0; k < compiled.kernels.size(); ++k) {
    Kernel& kernel = compiled.kernels[k];
    if (kernel.is_communication || !std::holds_alternative<MemoryBound>(kernel.work)) continue;
    const graph::Node* fill = node_named(graph, kernel, "masked_fill");
    const bool forward = node_named(graph, kernel, "_softmax") != nullptr, backward = node_named(graph, kernel, "_softmax_backward_data") != nullptr;
    if (fill != nullptr && (forward || backward)) {
      price_fused(graph, kernel, *fill, backward);
      continue;
    }
    const bool after_mask = touches(kernel, compiled.kernels, "masked_fill");
    const bool of_chain = fill != nullptr || ((forward || kernel.name == "mul") && after_mask) || ((backward || kernel.name == "mul") && before_mask[k]);
    if (of_chain) price_apart(graph, kernel, backward || (kernel.name == "mul" && after_mask));
  }
}

}  // namespace sgsim::lower::segment

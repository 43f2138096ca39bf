#include "sim/import/stack/region.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/graph/tensor_type.h"

namespace sgsim::import::stack {
namespace {

using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::Phase;
using graph::ValueRef;

[[noreturn]] void fail(const OperatorGraph& graph, std::string found, std::string expected) {
  throw InputError({.file = graph.name, .where = "layers", .found = std::move(found), .expected = std::move(expected),
                    .hint = "stacking repeats the last layer of one chain of equal layers"});
}

/// Module that a node belongs to: of a source, its name.
std::string path_of(const OperatorGraph& graph, const Node& node) {
  if (node.kind != NodeKind::call) return node.name;
  return node.module.valid() ? graph.modules[node.module.value] : std::string();
}

struct Container {
  std::set<std::int64_t> indices;
  std::size_t nodes = 0;
};

std::pair<std::string, Container> find_container(const OperatorGraph& graph) {
  std::map<std::string, Container> containers;
  for (const Node& node : graph.nodes) {
    const auto path = layer_path(path_of(graph, node));
    if (!path) continue;
    Container& container = containers[path->container];
    container.indices.insert(path->index);
    ++container.nodes;
  }
  if (containers.empty()) fail(graph, "no module path with an index", "layers such as \"model.layers.0\"");
  if (containers.size() > 1) {
    std::string names;
    for (const auto& [name, container] : containers) names += (names.empty() ? "" : ", ") + name;
    fail(graph, "several stacks of layers: " + names, "one");
  }
  return *containers.begin();
}

bool belongs(const std::string& path, const std::string& layer) {
  return path == layer || path.starts_with(layer + '.');
}

/// The one value of a set, or an error that says what it should be.
ValueRef only(const OperatorGraph& graph, const std::set<ValueRef>& values, std::string_view what) {
  if (values.size() == 1) return *values.begin();
  std::string names;
  for (const ValueRef value : values) names += (names.empty() ? "" : ", ") + graph.node(value.node).name;
  fail(graph, fmt::format("{} values that could be {}: {}", values.size(), what, names), "exactly one");
}

/// Values of the layer (of one phase) that nodes outside it read.
std::set<ValueRef> leaving(const OperatorGraph& graph, const std::vector<bool>& inside, Phase phase) {
  std::set<ValueRef> values;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (inside[i]) continue;
    graph::for_each_input(graph.nodes[i], [&](ValueRef ref) {
      const Node& source = graph.node(ref.node);
      if (inside[ref.node.value] && source.kind == NodeKind::call && source.phase == phase) values.insert(ref);
    });
  }
  return values;
}

/// Values of `phase` made outside that calls of the layer in that phase read.
std::set<ValueRef> entering(const OperatorGraph& graph, const std::vector<bool>& inside, Phase phase) {
  std::set<ValueRef> values;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!inside[i] || graph.nodes[i].phase != phase) continue;
    graph::for_each_input(graph.nodes[i], [&](ValueRef ref) {
      const Node& source = graph.node(ref.node);
      if (!inside[ref.node.value] && source.kind == NodeKind::call && source.phase == phase) values.insert(ref);
    });
  }
  return values;
}

/// By node: whether a trained parameter has a part in it. Masks and rotary angles have none.
std::vector<bool> trained(const OperatorGraph& graph) {
  std::vector<bool> found(graph.nodes.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    found[i] = graph.nodes[i].kind == NodeKind::parameter;
    graph::for_each_input(graph.nodes[i], [&](ValueRef ref) { found[i] = found[i] || found[ref.node.value]; });
  }
  return found;
}

std::set<ValueRef> of_type(const OperatorGraph& graph, std::set<ValueRef> values, const graph::TensorType& type) {
  std::erase_if(values, [&](ValueRef value) { return graph.type(value).shape != type.shape || graph.type(value).dtype != type.dtype; });
  return values;
}

}  // namespace

std::optional<LayerPath> layer_path(const std::string& path) {
  std::size_t start = 0;
  while (start <= path.size()) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    std::int64_t index = 0;
    const char* last = path.data() + end;
    const auto [stopped, error] = std::from_chars(path.data() + start, last, index);
    if (error == std::errc() && stopped == last && start > 0) return LayerPath{path.substr(0, start - 1), index};
    start = end + 1;
  }
  return std::nullopt;
}

Region find_last_layer(const OperatorGraph& graph) {
  const auto [name, container] = find_container(graph);
  Region region;
  region.container = name;
  region.index = *container.indices.rbegin();
  const std::string layer = fmt::format("{}.{}", name, region.index);
  for (const Node& node : graph.nodes) region.inside.push_back(belongs(path_of(graph, node), layer));

  region.output = only(graph, leaving(graph, region.inside, Phase::forward), "the layer's result");
  const graph::TensorType& type = graph.type(region.output);
  std::set<ValueRef> inputs = of_type(graph, entering(graph, region.inside, Phase::forward), type);
  const std::vector<bool> from_parameters = trained(graph);
  std::erase_if(inputs, [&](ValueRef value) { return !from_parameters[value.node.value]; });
  region.input = only(graph, inputs, "the layer's input");
  region.output_gradient = only(graph, entering(graph, region.inside, Phase::backward), "the gradient of the layer's result");
  region.input_gradient = only(graph, leaving(graph, region.inside, Phase::backward), "the gradient of the layer's input");
  if (graph.type(region.output_gradient).shape != graph.type(region.input_gradient).shape ||
      graph.type(region.output_gradient).dtype != graph.type(region.input_gradient).dtype) {
    fail(graph, "gradients of two types: " + graph::to_text(graph.type(region.output_gradient)) + " in, " +
                    graph::to_text(graph.type(region.input_gradient)) + " out", "the same type");
  }
  return region;
}

}  // namespace sgsim::import::stack

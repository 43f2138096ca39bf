#include "sim/lower/shard/weights.h"

#include <algorithm>
#include <numeric>

#include "sim/core/error.h"
#include "sim/graph/operators.h"
#include "sim/lower/shard/dimensions.h"

namespace sgsim::lower::shard {
namespace {

using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;

/// Where each dimension of a look at `dims` goes; nothing when the node is more than a look or a cast.
std::optional<std::vector<int>> look_dims(const OperatorGraph& graph, const Node& node, const std::vector<int>& dims) {
  const auto operand = tensor_at(node, 0);
  if (!operand || node.outputs.size() != 1) return std::nullopt;
  const auto& from = graph.type(*operand).shape;
  const auto& to = node.outputs[0].shape;
  switch (passage(node.target)) {
    case Passage::elementwise: {
      const auto kind = graph::classify(node.target);
      if (kind == graph::OperatorClass::copy || kind == graph::OperatorClass::view) return dims;
      return std::nullopt;
    }
    case Passage::reshape: return from == to ? std::optional(dims) : std::nullopt;
    case Passage::transpose:
    case Passage::move: {
      std::vector<int> result(dims.size());
      for (std::size_t i = 0; i < dims.size(); ++i) {
        const auto moved = carry(graph, node, Mesh{}, split(static_cast<int>(i)));
        if (!moved) return std::nullopt;
        result[static_cast<std::size_t>(moved->dim)] = dims[i];
      }
      return result;
    }
    default: return std::nullopt;
  }
}

}  // namespace

Weights::Weights(const OperatorGraph& graph) : looks_(graph.nodes.size()), placements_(graph.nodes.size()), decided_(graph.nodes.size(), false) {
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind == NodeKind::parameter) {
      Look look{.parameter = i, .dims = std::vector<int>(node.outputs[0].shape.size()), .valid = true};
      std::iota(look.dims.begin(), look.dims.end(), 0);
      looks_[i] = std::move(look);
    } else if (node.kind == NodeKind::call) {
      const auto operand = tensor_at(node, 0);
      if (!operand || !looks_[operand->node.value].valid) continue;
      const Look& source = looks_[operand->node.value];
      if (auto dims = look_dims(graph, node, source.dims)) {
        looks_[i] = {.parameter = source.parameter, .dims = std::move(*dims), .valid = true};
      }
    }
  }
}

std::optional<NodeId> Weights::parameter(graph::ValueRef v) const {
  const Look& look = looks_[v.node.value];
  return look.valid ? std::optional(NodeId{look.parameter}) : std::nullopt;
}

Placement Weights::placement(graph::ValueRef v) const {
  const Look& look = looks_[v.node.value];
  const Placement& placement = placements_[look.parameter];
  if (!placement.sharded()) return placement;
  const auto at = std::find(look.dims.begin(), look.dims.end(), placement.dim);
  return on(placement, static_cast<int>(at - look.dims.begin()));
}

void Weights::decide(graph::ValueRef v, const Placement& placement) {
  const Look& look = looks_[v.node.value];
  SGSIM_CHECK(look.valid, "not a look at a parameter");
  placements_[look.parameter] = placement.sharded() ? on(placement, look.dims.at(static_cast<std::size_t>(placement.dim))) : placement;
  decided_[look.parameter] = true;
}

void Weights::forget_decisions() {
  placements_.assign(placements_.size(), whole());
  decided_.assign(decided_.size(), false);
}

}  // namespace sgsim::lower::shard

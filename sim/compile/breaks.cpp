#include "sim/compile/breaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/compile/operator_effects.h"

namespace sgsim::compile {

using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::Phase;

namespace {

constexpr std::string_view kDataDependent[] = {"nonzero", "nonzero_static_unbacked", "masked_select", "unique_dim", "_unique2",
                                               "unique_consecutive", "repeat_interleave", "bincount", "_assert_async_size"};
constexpr std::string_view kHostReads[] = {"_local_scalar_dense", "item", "is_nonzero", "equal", "_is_all_true", "_is_any_true",
                                           "_linalg_check_errors", "tolist"};
constexpr std::string_view kHostCollectives[] = {"barrier", "monitored_barrier_", "all_gather_object", "broadcast_object_list"};

template <std::size_t n>
bool contains(const std::string_view (&list)[n], std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

/// An index by a boolean mask is a nonzero in disguise.
bool indexes_by_mask(const OperatorGraph& graph, const Node& node) {
  if (base_name(node.target) != "index" || node.args.size() < 2) return false;
  bool mask = false;
  graph::for_each_input(node.args[1], [&](graph::ValueRef v) { mask = mask || graph.type(v).dtype == graph::DType::bool_; });
  return mask;
}

/// `_to_copy(x, device="cpu")`: the result leaves the device.
bool leaves_device(const Node& node) {
  const std::string_view name = base_name(node.target);
  if (name != "_to_copy" && name != "to" && name != "copy_") return false;
  const auto device = node.kwargs.find("device");
  if (device == node.kwargs.end()) return false;
  const auto* text = std::get_if<std::string>(&device->second.value);
  return text != nullptr && text->starts_with("cpu");
}

}  // namespace

std::string_view to_text(BreakReason reason) {
  switch (reason) {
    case BreakReason::data_dependent_shape: return "the size of its result depends on data";
    case BreakReason::host_read: return "the host waits for a value from the device";
    case BreakReason::device_transfer: return "copies between device and host";
    case BreakReason::host_collective: return "a collective that the host waits for";
  }
  return "";
}

std::optional<BreakReason> break_reason(const OperatorGraph& graph, const Node& node) {
  if (node.kind != NodeKind::call) return std::nullopt;
  const std::string_view name = base_name(node.target);
  if (contains(kDataDependent, name) || indexes_by_mask(graph, node)) return BreakReason::data_dependent_shape;
  if (contains(kHostReads, name)) return BreakReason::host_read;
  if (contains(kHostCollectives, name)) return BreakReason::host_collective;
  if (leaves_device(node)) return BreakReason::device_transfer;
  for (const graph::TensorType& type : node.outputs) {
    if (std::any_of(type.shape.begin(), type.shape.end(), [](std::int64_t d) { return d < 0; }))
      return BreakReason::data_dependent_shape;  // an unknown size, as capture writes symbolic ones
  }
  return std::nullopt;
}

namespace {

/// Two breaks in a row leave an empty piece between them, which is never launched.
void drop_empty_pieces(BrokenGraph& broken) {
  std::vector<std::uint32_t> new_number(broken.pieces.size(), 0);
  std::vector<Piece> kept;
  for (std::size_t i = 0; i < broken.pieces.size(); ++i) {
    if (!broken.pieces[i].nodes.empty()) kept.push_back(std::move(broken.pieces[i]));
    new_number[i] = kept.empty() ? 0 : static_cast<std::uint32_t>(kept.size() - 1);
  }
  for (std::uint32_t& number : broken.piece_of) number = new_number[number];
  broken.pieces = std::move(kept);
}

}  // namespace

BrokenGraph find_breaks(const OperatorGraph& graph) {
  BrokenGraph result;
  result.piece_of.assign(graph.nodes.size(), 0);
  std::vector<char> breaks(graph.nodes.size(), 0);
  std::uint32_t piece = 0;
  std::map<std::int64_t, std::uint32_t> piece_of_sequence;
  std::uint32_t backward_piece = 0;
  bool in_backward = false;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind != NodeKind::call) continue;
    const auto reason = break_reason(graph, node);
    if (node.phase == Phase::forward) {
      result.piece_of[i] = piece;
      if (node.seq_nr) piece_of_sequence.emplace(*node.seq_nr, piece);
    } else {
      if (!in_backward) backward_piece = piece;
      in_backward = true;
      if (node.seq_nr) {
        const auto found = piece_of_sequence.find(*node.seq_nr);
        if (found != piece_of_sequence.end()) backward_piece = std::min(backward_piece, found->second);
      }
      result.piece_of[i] = backward_piece;
    }
    if (!reason) continue;
    breaks[i] = 1;
    const std::string module = node.module.valid() ? graph.modules[node.module.value] : "";
    result.breaks.push_back({.node = NodeId{i}, .reason = *reason,
                             .text = fmt::format("{} ({}) in {}: {}", node.name, node.target,
                                                 module.empty() ? "the model's root" : module, to_text(*reason))});
    if (node.phase == Phase::forward) ++piece;
  }
  result.pieces.resize(piece + 1);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind == NodeKind::call && !breaks[i]) result.pieces[result.piece_of[i]].nodes.push_back(NodeId{i});
  }
  drop_empty_pieces(result);
  return result;
}

}  // namespace sgsim::compile

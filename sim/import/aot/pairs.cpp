#include "sim/import/aot/pairs.h"

#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "sim/core/error.h"

namespace sgsim::import::aot {
namespace {

constexpr std::string_view kTangent = "tangents_";

[[noreturn]] void fail(const Document& document, const std::string& where, std::string found, std::string expected, std::string hint = "") {
  throw InputError({.file = document.file, .where = where, .found = std::move(found), .expected = std::move(expected), .hint = std::move(hint)});
}

/// The list that an output node returns.
std::vector<const RawArgument*> returned(const Document& document, const RawGraph& raw) {
  const RawNode& output = raw.nodes.back();
  const auto* list = output.args.size() == 1 ? std::get_if<RawList>(&output.args[0].value) : nullptr;
  if (list == nullptr) fail(document, output.path + ".args", "no list", "one list with what the graph returns");
  std::vector<const RawArgument*> values;
  for (const RawArgument& argument : *list) values.push_back(&argument);
  return values;
}

std::vector<const RawNode*> placeholders(const RawGraph& raw) {
  std::vector<const RawNode*> found;
  for (const RawNode& node : raw.nodes) {
    if (node.kind == RawKind::placeholder) found.push_back(&node);
  }
  return found;
}

bool is_tangent(const RawNode& node) { return node.name.starts_with(kTangent); }

/// A backward graph fits when the forward graph returns every value that it reads, and it returns a gradient for each primal.
bool fits(const Document& document, const RawGraph& forward, const RawGraph& backward) {
  std::unordered_set<std::string_view> values;
  for (const RawNode& node : forward.nodes) values.insert(node.name);
  for (const RawNode* node : placeholders(backward)) {
    if (!is_tangent(*node) && !values.contains(node->name)) return false;
  }
  return returned(document, backward).size() == placeholders(forward).size();
}

/// Which user output each tangent is the gradient of: the last floating outputs of the tangents' types, in order (updated
/// buffers come before what the region returns).
void match_tangents(const Document& document, Segment& segment) {
  std::unordered_map<std::string_view, const RawNode*> by_name;
  for (const RawNode& node : segment.forward->nodes) by_name.emplace(node.name, &node);
  segment.tangent_of.assign(segment.user_outputs.size(), std::nullopt);
  std::size_t output = segment.user_outputs.size();
  for (std::size_t i = segment.tangents.size(); i-- > 0;) {
    const graph::TensorType& wanted = segment.tangents[i]->outs[0];
    bool found = false;
    while (!found && output-- > 0) {
      const auto* reference = std::get_if<RawReference>(&segment.user_outputs[output]->value);
      if (reference == nullptr) continue;
      const RawNode* node = by_name.at(reference->name);
      found = node->outs.size() == 1 && node->outs[0].shape == wanted.shape && node->outs[0].dtype == wanted.dtype;
    }
    if (!found) {
      fail(document, segment.tangents[i]->path, "the gradient " + segment.tangents[i]->name,
           "a result of the forward graph with its shape and type");
    }
    segment.tangent_of[output] = i;
  }
}

void add_backward(const Document& document, Segment& segment) {
  std::size_t saved = 0;
  for (const RawNode* node : placeholders(*segment.backward)) {
    if (node->outs.size() != 1) fail(document, node->path + ".out", "several results", "one tensor for a placeholder");
    if (is_tangent(*node)) {
      segment.tangents.push_back(node);
    } else {
      ++saved;
    }
  }
  if (saved > segment.user_outputs.size()) {
    fail(document, segment.backward->path, fmt::format("{} values that backward reads", saved),
         fmt::format("no more than the {} that its forward graph returns", segment.user_outputs.size()));
  }
  segment.user_outputs.resize(segment.user_outputs.size() - saved);
  segment.gradients = returned(document, *segment.backward);
  match_tangents(document, segment);
}

Segment* partner_of(const Document& document, std::vector<Segment>& segments, const RawGraph& backward) {
  Segment* partner = nullptr;
  for (Segment& segment : segments) {  // the latest that fits: regions that look alike run backward in reverse order
    if (segment.backward == nullptr && fits(document, *segment.forward, backward)) partner = &segment;
  }
  return partner;
}

}  // namespace

bool is_getitem(const RawNode& node) { return node.kind == RawKind::call && node.target.find("getitem") != std::string::npos; }

std::vector<Segment> pair_segments(const Document& document) {
  std::vector<Segment> segments;
  for (const RawGraph& raw : document.graphs) {
    if (!raw.forward) continue;
    Segment segment;
    segment.forward = &raw;
    segment.primals = placeholders(raw);
    segment.user_outputs = returned(document, raw);
    for (const RawNode* primal : segment.primals) {
      if (primal->outs.size() != 1) fail(document, primal->path + ".out", "several results", "one tensor for a placeholder");
    }
    segments.push_back(std::move(segment));
  }
  for (const RawGraph& raw : document.graphs) {
    if (raw.forward) continue;
    Segment* partner = partner_of(document, segments, raw);
    if (partner == nullptr) {
      fail(document, raw.path, "a backward graph that fits no forward graph",
           "its saved values and one gradient for each placeholder of a forward graph", "capture the model again");
    }
    partner->backward = &raw;
  }
  for (Segment& segment : segments) {
    if (segment.backward != nullptr) add_backward(document, segment);
    segment.tangent_of.resize(segment.user_outputs.size());
  }
  return segments;
}

}  // namespace sgsim::import::aot

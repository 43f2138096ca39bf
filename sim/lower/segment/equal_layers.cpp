#include "sim/lower/segment/equal_layers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

namespace sgsim::lower::segment {
namespace {

using graph::Argument;
using graph::ArgumentList;
using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::TensorType;
using graph::ValueRef;

/// Multiply-xorshift mixing as in splitmix64 (Steele, Lea, Flood 2014, figure 16).
struct Hash {
  std::uint64_t state = 0x9E3779B97F4A7C15ULL;

  void add(std::uint64_t value) {
    std::uint64_t z = (state ^ value) + 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    state = z ^ (z >> 31);
  }
  void add(std::string_view text) { add(std::hash<std::string_view>{}(text)); }
  void add(const TensorType& type) {
    add(static_cast<std::uint64_t>(type.dtype) * 64 + type.shape.size());
    for (std::int64_t size : type.shape) add(static_cast<std::uint64_t>(size));
    for (std::int64_t stride : type.stride) add(static_cast<std::uint64_t>(stride));
  }
};

class Fingerprints {
 public:
  Fingerprints(const OperatorGraph& graph, const Cut& cut) : graph_(graph), cut_(cut) {
    layers_.nodes.resize(cut.count());
    layers_.external.resize(cut.count());
    local_.assign(graph.nodes.size(), 0);
    stamp_.assign(graph.nodes.size(), cut.count());
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].kind != NodeKind::call) continue;
      std::vector<std::uint32_t>& nodes = layers_.nodes[cut.position[i]];
      local_[i] = static_cast<std::uint32_t>(nodes.size());
      nodes.push_back(i);
    }
  }

  Layers run() {
    std::unordered_map<std::uint64_t, std::uint32_t> known;
    for (std::uint32_t at = 0; at < cut_.count(); ++at) {
      const std::uint64_t key = fingerprint(at);
      layers_.shape.push_back(known.try_emplace(key, static_cast<std::uint32_t>(known.size())).first->second);
    }
    return std::move(layers_);
  }

 private:
  std::uint64_t fingerprint(std::uint32_t at) {
    Hash hash;
    hash.add(static_cast<std::uint64_t>(cut_.role(at)));
    for (std::uint32_t i : layers_.nodes[at]) {
      const Node& node = graph_.nodes[i];
      hash.add(node.target);
      hash.add(static_cast<std::uint64_t>(node.phase) * 256 + node.args.size());
      for (const TensorType& type : node.outputs) hash.add(type);
      for (const Argument& argument : node.args) add(hash, argument, at);
      for (const auto& [key, argument] : node.kwargs) {
        if (key == "device" || key == "layout" || key == "pin_memory") continue;
        hash.add(key);
        add(hash, argument, at);
      }
    }
    for (ValueRef v : layers_.external[at]) add_parameter(hash, v, at);
    return hash.state;
  }

  void add(Hash& hash, const Argument& argument, std::uint32_t at) {
    hash.add(argument.value.index());
    if (const auto* v = std::get_if<ValueRef>(&argument.value)) {
      add(hash, *v, at);
    } else if (const auto* integer = std::get_if<std::int64_t>(&argument.value)) {
      hash.add(static_cast<std::uint64_t>(*integer));
    } else if (const auto* real = std::get_if<double>(&argument.value)) {
      hash.add(std::bit_cast<std::uint64_t>(*real));
    } else if (const auto* flag = std::get_if<bool>(&argument.value)) {
      hash.add(static_cast<std::uint64_t>(*flag));
    } else if (const auto* text = std::get_if<std::string>(&argument.value)) {
      hash.add(std::string_view(*text));
    } else if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
      hash.add(list->size());
      for (const Argument& item : *list) add(hash, item, at);
    }
  }

  /// A value of the same layer counts by its place in the layer, one from outside by its order of first use.
  void add(Hash& hash, ValueRef v, std::uint32_t at) {
    const std::uint32_t source = v.node.value;
    const bool call = graph_.nodes[source].kind == NodeKind::call;
    if (call && cut_.position[source] == at) {
      hash.add((std::uint64_t{local_[source]} << 8) + v.output);
      return;
    }
    check_neighbour(source, at);
    std::vector<ValueRef>& external = layers_.external[at];
    std::uint32_t slot = 0;
    if (stamp_[source] == at) {
      slot = static_cast<std::uint32_t>(std::find(external.begin(), external.end(), v) - external.begin());
    } else {
      stamp_[source] = at;
      slot = static_cast<std::uint32_t>(external.size());
    }
    if (slot == external.size()) external.push_back(v);
    hash.add((std::uint64_t{1} << 40) + slot);
    hash.add(graph_.type(v));
  }

  void check_neighbour(std::uint32_t source, std::uint32_t at) {
    const std::uint32_t from = cut_.position[source];
    const std::uint32_t after = cut_.count() - 1;
    if (from == at || from == 0 || from == after || at == 0 || at == after) return;
    const bool next = from + 1 == at || at + 1 == from;
    if (!next || graph_.nodes[source].kind == NodeKind::parameter) layers_.neighbours_only = false;
  }

  void add_parameter(Hash& hash, ValueRef v, std::uint32_t at) {
    const Node& node = graph_.nodes[v.node.value];
    hash.add(static_cast<std::uint64_t>(node.kind));
    if (node.kind != NodeKind::parameter) return;
    const auto gradient = graph_.gradients.find(v.node);
    if (gradient == graph_.gradients.end()) return;
    const std::uint32_t maker = gradient->second.node.value;
    hash.add(cut_.position[maker] == at ? local_[maker] + 1 : 0);
  }

  const OperatorGraph& graph_;
  const Cut& cut_;
  Layers layers_;
  std::vector<std::uint32_t> local_;  // place of a call in its layer
  std::vector<std::uint32_t> stamp_;  // the last position that read this node from outside
};

}  // namespace

Layers find_equal_layers(const OperatorGraph& graph, const Cut& cut) { return Fingerprints(graph, cut).run(); }

std::vector<Kept> shorten(const Layers& layers, bool with_neighbours) {
  const auto count = static_cast<std::uint32_t>(layers.shape.size());
  using Situation = std::array<std::uint32_t, 3>;  // the layer and, if they matter, its neighbours
  const auto situation = [&](std::uint32_t at) {
    const std::uint32_t shape = layers.shape[at];
    return with_neighbours ? Situation{layers.shape[at - 1], shape, layers.shape[at + 1]} : Situation{shape, shape, shape};
  };
  std::map<Situation, std::uint32_t> last_seen;  // last position of each situation
  for (std::uint32_t at = 1; at + 1 < count; ++at) last_seen[situation(at)] = at;

  std::vector<Kept> kept = {{0, 0}};
  std::set<Situation> covered;
  for (std::uint32_t at = 1; at + 1 < count;) {
    covered.insert(situation(at));
    std::uint32_t end = at;
    if (layers.neighbours_only) {
      for (std::uint32_t to = at + 1; to + 1 < count; ++to) {
        // All that stands in (at, to] is dropped: it must be covered already or come again.
        if (!covered.contains(situation(to)) && last_seen[situation(to)] == to) break;
        const bool same = layers.shape[to] == layers.shape[at];
        if (same && (!with_neighbours || layers.shape[to + 1] == layers.shape[at + 1])) end = to;
      }
    }
    kept.push_back({at, end});
    at = end + 1;
  }
  kept.push_back({count - 1, count - 1});
  return kept;
}

}  // namespace sgsim::lower::segment

#include "sim/compile/fuse/deduplicate.h"

#include <bit>
#include <functional>
#include <string>


namespace sgsim::compile::fuse {

using graph::Argument;
using graph::ArgumentList;
using graph::Node;
using graph::NodeKind;
using graph::ValueRef;

namespace {

class Deduplicator {
 public:
  Deduplicator(const graph::OperatorGraph& graph, const OperatorTable& operators) : graph_(graph), operators_(operators), same_as_(graph.nodes.size()) {}

  std::vector<std::uint32_t> run() {
    seen_.assign(std::bit_ceil(graph_.nodes.size() * 2 + 1), Entry{});
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) same_as_[i] = find(i);
    return std::move(same_as_);
  }

 private:
  std::uint32_t find(std::uint32_t i) {
    const Node& node = graph_.nodes[i];
    const OperatorInfo& info = operators_.of(i);
    if (node.kind != NodeKind::call || info.side_effect || info.operator_class == graph::OperatorClass::random) return i;
    std::uint64_t key = reinterpret_cast<std::uintptr_t>(&info);
    for (const Argument& argument : node.args) mix(key, hash(argument));
    for (const auto& [name, argument] : node.kwargs) {
      mix(key, std::hash<std::string>{}(name));
      mix(key, hash(argument));
    }
    mix(key, node.args.size());
    std::size_t place = key & (seen_.size() - 1);
    for (; seen_[place].used; place = (place + 1) & (seen_.size() - 1)) {
      if (seen_[place].key == key && equal(node, graph_.nodes[seen_[place].node])) return seen_[place].node;
    }
    seen_[place] = {key, i, true};
    return i;
  }

  static void mix(std::uint64_t& key, std::uint64_t value) { key = (std::rotl(key, 7) ^ value) * 0x9e3779b97f4a7c15ULL; }

  [[nodiscard]] ValueRef canonical(ValueRef v) const { return {NodeId{same_as_[v.node.value]}, v.output}; }

  [[nodiscard]] std::uint64_t hash(const Argument& argument) const {
    std::uint64_t key = argument.value.index();
    if (const auto* v = std::get_if<ValueRef>(&argument.value)) {
      const ValueRef c = canonical(*v);
      mix(key, (std::uint64_t{c.node.value} << 8) + c.output);
    } else if (const auto* n = std::get_if<std::int64_t>(&argument.value)) {
      mix(key, static_cast<std::uint64_t>(*n));
    } else if (const auto* d = std::get_if<double>(&argument.value)) {
      mix(key, std::bit_cast<std::uint64_t>(*d));
    } else if (const auto* b = std::get_if<bool>(&argument.value)) {
      mix(key, *b ? 1 : 2);
    } else if (const auto* text = std::get_if<std::string>(&argument.value)) {
      mix(key, std::hash<std::string>{}(*text));
    } else if (const auto* list = std::get_if<ArgumentList>(&argument.value)) {
      for (const Argument& item : *list) mix(key, hash(item));
    }
    return key;
  }

  [[nodiscard]] bool equal(const Argument& a, const Argument& b) const {
    if (a.value.index() != b.value.index()) return false;
    if (const auto* v = std::get_if<ValueRef>(&a.value)) return canonical(*v) == canonical(std::get<ValueRef>(b.value));
    if (const auto* list = std::get_if<ArgumentList>(&a.value)) {
      const auto& other = std::get<ArgumentList>(b.value);
      if (list->size() != other.size()) return false;
      for (std::size_t i = 0; i < list->size(); ++i) {
        if (!equal((*list)[i], other[i])) return false;
      }
      return true;
    }
    return a == b;
  }

  [[nodiscard]] bool equal(const Node& a, const Node& b) const {
    if (a.target != b.target || a.args.size() != b.args.size() || a.kwargs.size() != b.kwargs.size()) return false;
    for (std::size_t i = 0; i < a.args.size(); ++i) {
      if (!equal(a.args[i], b.args[i])) return false;
    }
    auto other = b.kwargs.begin();
    for (const auto& [name, argument] : a.kwargs) {
      if (name != other->first || !equal(argument, other->second)) return false;
      ++other;
    }
    return true;
  }

  const graph::OperatorGraph& graph_;
  const OperatorTable& operators_;
  std::vector<std::uint32_t> same_as_;
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t node = 0;
    bool used = false;
  };
  std::vector<Entry> seen_;  // open addressing
};

}  // namespace

std::vector<std::uint32_t> same_computation(const graph::OperatorGraph& graph, const OperatorTable& operators) {
  return Deduplicator(graph, operators).run();
}

std::vector<char> live_nodes(const graph::OperatorGraph& graph, const OperatorTable& operators, const std::vector<std::uint32_t>& same_as) {
  std::vector<char> live(graph.nodes.size(), 0);
  for (const ValueRef& v : graph.outputs) live[same_as[v.node.value]] = 1;
  for (const auto& [parameter, gradient] : graph.gradients) live[same_as[gradient.node.value]] = 1;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (node.kind == NodeKind::call && same_as[i] == i && operators.of(static_cast<std::uint32_t>(i)).side_effect) live[i] = 1;
    if (live[i]) graph::for_each_input(node, [&](ValueRef v) { live[same_as[v.node.value]] = 1; });
  }
  return live;
}

}  // namespace sgsim::compile::fuse

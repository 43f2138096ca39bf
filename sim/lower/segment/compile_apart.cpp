#include "sim/lower/segment/compile_apart.h"

#include <map>
#include <set>
#include <utility>

#include "sim/compile/passes.h"
#include "sim/lower/segment/storage.h"

namespace sgsim::lower::segment {
namespace {

using compile::CompiledGraph;
using compile::Kernel;
using graph::Argument;
using graph::ArgumentList;
using graph::Node;
using graph::NodeKind;
using graph::OperatorGraph;
using graph::Phase;
using graph::ValueRef;

/// One position as a graph, and which value of the whole graph each of its nodes stands for.
struct Part {
  OperatorGraph graph;
  std::vector<ValueRef> origin;  // of each node: its node (output 0) or, for an input, the value it stands for
};

class Splitter {
 public:
  Splitter(const OperatorGraph& graph, const Cut& cut) : graph_(graph), cut_(cut), calls_(cut.count()), read_outside_(graph.nodes.size()) {
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].kind != NodeKind::call) continue;
      calls_[cut.position[i]].push_back(i);
      graph::for_each_input(graph.nodes[i], [&](ValueRef v) {
        const bool foreign = graph_.node(v.node).kind == NodeKind::call && cut_.position[v.node.value] != cut_.position[i];
        if (foreign) read_outside_[v.node.value].insert(v.output);
      });
    }
    for (ValueRef v : graph.outputs) read_outside_[v.node.value].insert(v.output);
    for (const auto& [parameter, v] : graph.gradients) gradient_of_[v].push_back(parameter);
  }

  Part part(std::uint32_t at) const {
    Part part;
    part.graph.name = graph_.name;
    part.graph.modules = graph_.modules;
    part.graph.module_types = graph_.module_types;
    part.graph.micro_batch = graph_.micro_batch;
    part.graph.sequence = graph_.sequence;
    std::map<ValueRef, ValueRef> stands;
    for (std::uint32_t i : calls_[at]) {
      graph::for_each_input(graph_.nodes[i], [&](ValueRef v) { add_source(part, stands, v, at); });
    }
    for (std::uint32_t i : calls_[at]) add_call(part, stands, i);
    return part;
  }

 private:
  void add_source(Part& part, std::map<ValueRef, ValueRef>& stands, ValueRef v, std::uint32_t at) const {
    const Node& source = graph_.node(v.node);
    if ((source.kind == NodeKind::call && cut_.position[v.node.value] == at) || stands.contains(v)) return;
    Node node;
    node.kind = source.kind == NodeKind::call ? NodeKind::input : source.kind;
    node.name = source.name + (v.output == 0 ? "" : "." + std::to_string(v.output));
    node.outputs = {graph_.type(v)};
    stands[v] = {NodeId{static_cast<std::uint32_t>(part.graph.nodes.size())}, 0};
    part.graph.nodes.push_back(std::move(node));
    part.origin.push_back(v);
  }

  void add_call(Part& part, std::map<ValueRef, ValueRef>& stands, std::uint32_t i) const {
    const NodeId id{static_cast<std::uint32_t>(part.graph.nodes.size())};
    Node node = graph_.nodes[i];
    for (Argument& argument : node.args) rewire(argument, stands);
    for (auto& [key, argument] : node.kwargs) rewire(argument, stands);
    part.graph.nodes.push_back(std::move(node));
    part.origin.push_back({NodeId{i}, 0});
    for (std::uint32_t o = 0; o < graph_.nodes[i].outputs.size(); ++o) stands[{NodeId{i}, o}] = {id, o};
    for (std::uint32_t o : read_outside_[i]) part.graph.outputs.push_back({id, o});
    for (std::uint32_t o = 0; o < graph_.nodes[i].outputs.size(); ++o) {
      const auto gradient = gradient_of_.find({NodeId{i}, o});
      if (gradient == gradient_of_.end()) continue;
      for (NodeId parameter : gradient->second) {
        const auto local = stands.find({parameter, 0});
        if (local != stands.end()) part.graph.gradients[local->second.node] = {id, o};
        else part.graph.outputs.push_back({id, o});
      }
    }
  }

  static void rewire(Argument& argument, const std::map<ValueRef, ValueRef>& stands) {
    if (auto* v = std::get_if<ValueRef>(&argument.value)) *v = stands.at(*v);
    if (auto* list = std::get_if<ArgumentList>(&argument.value)) {
      for (Argument& item : *list) rewire(item, stands);
    }
  }

  const OperatorGraph& graph_;
  const Cut& cut_;
  std::vector<std::vector<std::uint32_t>> calls_;          // by position
  std::vector<std::set<std::uint32_t>> read_outside_;      // by node: outputs that other positions (or the caller) read
  std::map<ValueRef, std::vector<NodeId>> gradient_of_;
};

/// Renames what a part's kernels refer to into the whole graph.
void rename(Kernel& kernel, const Part& part, const Storage& storage, const std::vector<std::uint32_t>& place) {
  for (NodeId& id : kernel.nodes) id = part.origin[id.value].node;
  const auto whole = [&](ValueRef v) {
    const ValueRef origin = part.origin[v.node.value];
    const bool input = part.graph.nodes[v.node.value].kind != NodeKind::call;
    return storage.owner(input ? origin : ValueRef{origin.node, v.output});
  };
  for (ValueRef& v : kernel.saved) v = whole(v);
  for (ValueRef& v : kernel.reads) v = whole(v);
  for (KernelId& input : kernel.inputs) input.value = place[input.value];
}

}  // namespace

CompiledGraph compile_apart(const OperatorGraph& graph, const Cut& cut, const std::vector<compile::Execution>& execution, Diagnostics& diagnostics) {
  const Splitter splitter(graph, cut);
  const Storage storage(graph);
  CompiledGraph result;
  std::vector<std::pair<Part, CompiledGraph>> parts;
  for (std::uint32_t at = 0; at < cut.count(); ++at) {
    Part part = splitter.part(at);
    CompiledGraph compiled = compile::compile(part.graph, execution[at], diagnostics);
    parts.emplace_back(std::move(part), std::move(compiled));
  }
  std::vector<std::vector<std::uint32_t>> place(cut.count());
  const auto add = [&](std::uint32_t at, bool forward) {
    auto& [part, compiled] = parts[at];
    place[at].resize(compiled.kernels.size());
    for (std::uint32_t k = 0; k < compiled.kernels.size(); ++k) {
      if ((compiled.kernels[k].phase == Phase::forward) != forward) continue;
      place[at][k] = static_cast<std::uint32_t>(result.kernels.size());
      rename(compiled.kernels[k], part, storage, place[at]);
      result.kernels.push_back(std::move(compiled.kernels[k]));
    }
  };
  for (std::uint32_t at = 0; at < cut.count(); ++at) add(at, true);
  for (std::uint32_t at = cut.count(); at-- > 0;) add(at, false);
  result.graph = graph;
  result.execution = execution.at(cut.count() > 2 ? 1 : 0);
  return result;
}

}  // namespace sgsim::lower::segment

#include "sim/lower/segment/assemble.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "sim/graph/trained.h"
#include "sim/lower/segment/liveness.h"
#include "sim/lower/segment/schedule.h"
#include "sim/lower/segment/storage.h"

namespace sgsim::lower::segment {
namespace {

using compile::Kernel;
using graph::Node;
using graph::NodeKind;
using graph::Phase;
using graph::ValueRef;

constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

/// Place of each kernel in its list.
std::vector<std::uint32_t> places(const KernelLists& lists) {
  std::vector<std::uint32_t> place(lists.position.size(), kNowhere);
  for (const auto* group : {&lists.forward, &lists.recompute, &lists.backward}) {
    for (const std::vector<std::uint32_t>& list : *group) {
      for (std::uint32_t i = 0; i < list.size(); ++i) place[list[i]] = i;
    }
  }
  return place;
}

std::vector<Kernel> copy_kernels(const compile::CompiledGraph& compiled, const std::vector<std::uint32_t>& list,
                                 const std::vector<std::uint32_t>& place) {
  std::vector<Kernel> kernels;
  kernels.reserve(list.size());
  for (std::uint32_t k : list) {
    const Kernel& from = compiled.kernels[k];
    Kernel kernel;
    kernel.name = from.name;
    kernel.work = from.work;
    kernel.is_communication = from.is_communication;
    kernel.communication = from.communication;
    kernel.phase = from.phase;
    kernel.module = from.module;
    kernel.scratch = from.scratch;
    kernel.piece = from.piece;
    kernel.host_operators = from.host_operators;
    for (KernelId input : from.inputs) {
      const std::uint32_t at = place[input.value];
      if (at < list.size() && list[at] == input.value) kernel.inputs.push_back(KernelId{at});
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

/// Where parameters are read and where their gradients are complete.
class ParameterUses {
 public:
  ParameterUses(const compile::CompiledGraph& compiled, const KernelLists& lists, const std::vector<std::uint32_t>& place)
      : compiled_(compiled), lists_(lists), place_(place), storage_(compiled.graph) {
    for (std::uint32_t k = 0; k < compiled.kernels.size(); ++k) {
      const Kernel& kernel = compiled.kernels[k];
      if (kernel.phase == Phase::forward) {
        for (ValueRef v : kernel.reads) first_read_.try_emplace({v.node.value, lists.position[k]}, k);
        continue;
      }
      for (NodeId id : kernel.nodes) last_maker_[id.value] = k;
    }
  }

  [[nodiscard]] ParameterShard shard(std::uint32_t node, std::uint32_t at, const Marks& marks) const {
    const Node& parameter = compiled_.graph.nodes[node];
    ParameterShard shard;
    shard.name = parameter.name;
    shard.elements = parameter.outputs[0].elements();
    shard.dtype = parameter.outputs[0].dtype;
    shard.tensor_sharded = marks.tensor_sharded[node];
    shard.expert = marks.expert[node];
    shard.trained = graph::is_trained(compiled_.graph, NodeId{node});
    const auto read = first_read_.find({node, at});
    if (read != first_read_.end()) shard.used_at = place_[read->second];
    shard.ready_at = ready_at(node, at);
    return shard;
  }

 private:
  /// A gradient that a kernel of a later segment completes is ready as soon as this one starts.
  [[nodiscard]] std::uint32_t ready_at(std::uint32_t node, std::uint32_t at) const {
    const auto gradient = compiled_.graph.gradients.find(NodeId{node});
    if (gradient == compiled_.graph.gradients.end()) return 0;
    const auto maker = last_maker_.find(storage_.owner(gradient->second).node.value);
    if (maker == last_maker_.end() || lists_.position[maker->second] != at) return 0;
    return place_[maker->second];
  }

  const compile::CompiledGraph& compiled_;
  const KernelLists& lists_;
  const std::vector<std::uint32_t>& place_;
  Storage storage_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> first_read_;  // (parameter, position) -> kernel
  std::map<std::uint32_t, std::uint32_t> last_maker_;                            // backward operator -> kernel
};

/// (parameter, position) where an operator of that position's forward pass reads the parameter. Kernels do not say: one that
/// covers operators of two positions reads what both read.
std::set<std::pair<std::uint32_t, std::uint32_t>> readers_of(const graph::OperatorGraph& graph, const Cut& cut) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> readers;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind != NodeKind::call || graph.nodes[i].phase != Phase::forward) continue;
    graph::for_each_input(graph.nodes[i], [&](ValueRef v) {
      if (graph.nodes[v.node.value].kind == NodeKind::parameter) readers.emplace(v.node.value, cut.position[i]);
    });
  }
  return readers;
}

/// Backward kernels that only gradients of parameters depend on: no other kernel of another position reads what they lead to.
class WeightKernels {
 public:
  WeightKernels(const compile::CompiledGraph& compiled, const KernelLists& lists) : compiled_(compiled), lists_(lists), storage_(compiled.graph) {
    const std::size_t count = compiled.kernels.size();
    needed_.assign(count, false);
    for (std::size_t k = count; k-- > 0;) {
      const Kernel& kernel = compiled.kernels[k];
      if (kernel.phase == Phase::forward) needed_[k] = true;
      for (KernelId input : kernel.inputs) {
        if (needed_[k] || lists.position[input.value] != lists.position[k]) needed_[input.value] = true;
      }
    }
  }

  [[nodiscard]] std::vector<bool> of(std::uint32_t at) const {
    std::vector<bool> result;
    for (std::uint32_t k : lists_.backward[at]) result.push_back(!needed_[k]);
    return result;
  }

  /// Distinct memory that they read, parameters and their own results aside.
  [[nodiscard]] Bytes held(std::uint32_t at) const {
    std::set<ValueRef> own, read;
    for (std::uint32_t k : lists_.backward[at]) {
      if (needed_[k]) continue;
      for (ValueRef v : compiled_.kernels[k].saved) own.insert(storage_.owner(v));
      for (ValueRef v : compiled_.kernels[k].reads) read.insert(storage_.owner(v));
    }
    Bytes bytes;
    for (ValueRef v : read) {
      if (compiled_.graph.node(v.node).kind == NodeKind::call && !own.contains(v)) bytes += compiled_.graph.type(v).bytes();
    }
    return bytes;
  }

 private:
  const compile::CompiledGraph& compiled_;
  const KernelLists& lists_;
  Storage storage_;
  std::vector<bool> needed_;  // by kernel
};

bool same_kernel(const Kernel& a, const Kernel& b) {
  if (a.is_communication != b.is_communication || a.host_operators != b.host_operators || a.inputs != b.inputs) return false;
  if (a.scratch != b.scratch) return false;
  if (!a.is_communication) return a.work == b.work;
  return a.communication.op == b.communication.op && a.communication.group == b.communication.group &&
         a.communication.bytes == b.communication.bytes;
}

bool same_parameter(const ParameterShard& a, const ParameterShard& b) {
  return a.elements == b.elements && a.dtype == b.dtype && a.tensor_sharded == b.tensor_sharded && a.expert == b.expert && a.trained == b.trained &&
         a.used_at == b.used_at && a.ready_at == b.ready_at;
}

template <class Item, class Same>
bool same_list(const std::vector<Item>& a, const std::vector<Item>& b, Same same) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

}  // namespace

std::vector<ModelSegment> assemble(const compile::CompiledGraph& compiled, const Cut& cut, const Marks& marks) {
  const KernelLists lists = list_kernels(compiled, cut, marks.recomputed);
  const std::vector<std::uint32_t> place = places(lists);
  const std::vector<Footprint> memory = footprints(compiled, lists);
  const std::vector<Bytes> boundary = boundaries(compiled.graph, cut);
  const ParameterUses uses(compiled, lists, place);
  const auto readers = readers_of(compiled.graph, cut);
  const WeightKernels weights(compiled, lists);

  std::vector<ModelSegment> segments(cut.count());
  for (std::uint32_t at = 0; at < cut.count(); ++at) {
    ModelSegment& segment = segments[at];
    segment.name = cut.names[at];
    segment.role = cut.role(at);
    segment.forward = copy_kernels(compiled, lists.forward[at], place);
    segment.recompute = copy_kernels(compiled, lists.recompute[at], place);
    segment.backward = copy_kernels(compiled, lists.backward[at], place);
    segment.weight_only = weights.of(at);
    segment.held = weights.held(at);
    segment.boundary = boundary[at];
    segment.saved = memory[at].saved;
    segment.forward_peak = memory[at].forward_peak;
    segment.backward_peak = memory[at].backward_peak;
  }
  for (std::uint32_t i = 0; i < compiled.graph.nodes.size(); ++i) {
    if (compiled.graph.nodes[i].kind != NodeKind::parameter) continue;
    const std::uint32_t home = cut.position[i];
    segments[home].parameters.push_back(uses.shard(i, home, marks));
    for (std::uint32_t at = home + 1; at < cut.count(); ++at) {
      if (readers.contains({i, at})) segments[at].shared_parameters.push_back(uses.shard(i, at, marks));
    }
  }
  return segments;
}

bool same_segment(const ModelSegment& a, const ModelSegment& b) {
  return a.role == b.role && a.boundary == b.boundary && a.saved == b.saved && a.held == b.held && a.weight_only == b.weight_only && a.forward_peak == b.forward_peak &&
         a.backward_peak == b.backward_peak && same_list(a.forward, b.forward, same_kernel) &&
         same_list(a.recompute, b.recompute, same_kernel) && same_list(a.backward, b.backward, same_kernel) &&
         same_list(a.parameters, b.parameters, same_parameter) &&
         same_list(a.shared_parameters, b.shared_parameters, same_parameter);
}

}  // namespace sgsim::lower::segment

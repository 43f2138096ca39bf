#include "sim/compile/eager.h"

#include <algorithm>

#include "sim/compile/breaks.h"
#include "sim/compile/external.h"
#include "sim/compile/operator_effects.h"
#include "sim/compile/operator_table.h"
#include "sim/compile/value_table.h"
#include "sim/graph/operators.h"

namespace sgsim::compile {

using graph::NodeKind;
using graph::OperatorClass;
using graph::OperatorGraph;
using graph::ValueRef;

namespace {

/// What tracing wrote down and eager execution does not run: dropout with probability 0, traced as a copy, and the cast
/// behind a float32 sum of lower operands, which eager sums into the lower type in one kernel.
bool is_capture_artefact(const OperatorGraph& graph, const graph::Node& node) {
  const std::string_view name = base_name(node.target);
  if (name == "clone" && node.kwargs.empty() && node.module.valid())
    return graph.module_types[node.module.value].find("Dropout") != std::string::npos;
  if (name != "_to_copy") return false;
  ValueRef v = first_input(node);
  if (!v.node.valid()) return false;
  while (is_view_node(graph.node(v.node))) v = first_input(graph.node(v.node));
  const graph::Node& source = graph.node(v.node);
  return source.kind == NodeKind::call && base_name(source.target) == "sum" &&
         graph.type(first_input(source)).dtype == node.outputs.at(0).dtype && source.outputs[0].dtype != node.outputs[0].dtype;
}

std::vector<char> capture_artefacts(const OperatorGraph& graph) {
  std::vector<char> artefacts(graph.nodes.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) artefacts[i] = is_capture_artefact(graph, graph.nodes[i]);
  return artefacts;
}

class EagerCompiler {
 public:
  EagerCompiler(const OperatorGraph& graph, Diagnostics& diagnostics)
      : graph_(graph), operators_(graph), artefacts_(capture_artefacts(graph)), values_(graph, operators_, artefacts_), diagnostics_(diagnostics), maker_(values_.size(), kNobody), needed_(values_.size(), 0) {}

  std::vector<Kernel> run() {
    find_needed();
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) add_node(NodeId{i});
    if (!kernels_.empty()) kernels_.back().host_operators += views_;
    return std::move(kernels_);
  }

 private:
  static constexpr std::uint32_t kNobody = KernelId{}.value;

  /// Values that a kernel, the graph's caller or the optimizer reads.
  void find_needed() {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      const graph::Node& node = graph_.nodes[i];
      if (node.kind != NodeKind::call || operators_.of(i).view) continue;
      graph::for_each_input(node, [&](ValueRef v) { needed_[values_.index(values_.storage(v))] = 1; });
    }
    for (const ValueRef& v : graph_.outputs) needed_[values_.index(values_.storage(v))] = 1;
    for (const auto& [parameter, gradient] : graph_.gradients) needed_[values_.index(values_.storage(gradient))] = 1;
  }

  void add_node(NodeId id) {
    const graph::Node& node = graph_.node(id);
    if (node.kind != NodeKind::call) return;
    const OperatorInfo& info = operators_.of(id);
    const OperatorClass operator_class = info.operator_class;
    if (operator_class == OperatorClass::view || artefacts_[id.value]) {
      ++views_;
      return;
    }
    const std::size_t first = kernels_.size();
    if (operator_class == OperatorClass::collective) {
      Kernel kernel;
      kernel.name = info.name;
      kernel.is_communication = true;
      kernel.communication = communication_of(graph_, node);
      kernels_.push_back(std::move(kernel));
    } else if (info.external) {
      for (NamedWork& named : external_work(graph_, node)) push(std::move(named.name), std::move(named.work));
    } else {
      if (operator_class == OperatorClass::unknown)
        diagnostics_.add("compile.unknown_operator", Severity::warning, node.target + " (" + node.name + ") is priced by its bytes");
      for (graph::MemoryBound& work : eager_kernels(graph_, node)) push(std::string(info.name), work);
    }
    if (kernels_.size() == first) {  // an allocation
      ++views_;
      return;
    }
    place(id, first);
  }

  void push(std::string name, graph::Work work) {
    Kernel kernel;
    kernel.name = std::move(name);
    kernel.work = std::move(work);
    kernels_.push_back(std::move(kernel));
  }

  /// The kernels from `first` on are those of node `id`.
  void place(NodeId id, std::size_t first) {
    const graph::Node& node = graph_.node(id);
    std::vector<ValueRef> reads;
    std::vector<KernelId> inputs;
    graph::for_each_input(node, [&](ValueRef v) {
      const ValueRef storage = values_.storage(v);
      if (std::find(reads.begin(), reads.end(), storage) != reads.end()) return;
      reads.push_back(storage);
      const std::uint32_t maker = maker_[values_.index(storage)];
      if (maker != kNobody && std::find(inputs.begin(), inputs.end(), KernelId{maker}) == inputs.end())
        inputs.push_back(KernelId{maker});
    });
    std::sort(inputs.begin(), inputs.end());
    for (std::size_t k = first; k < kernels_.size(); ++k) {
      Kernel& kernel = kernels_[k];
      kernel.nodes = {id};
      kernel.phase = node.phase;
      kernel.module = node.module;
      kernel.reads = reads;
      kernel.inputs = inputs;
      if (k > first) kernel.inputs.push_back(KernelId{static_cast<std::uint32_t>(k - 1)});
      kernel.host_operators = 0;
    }
    kernels_[first].host_operators = 1 + views_;
    kernels_.back().host_waits = break_reason(graph_, node).has_value();
    views_ = 0;
    const auto last = static_cast<std::uint32_t>(kernels_.size() - 1);
    for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
      const ValueRef v{id, output};
      maker_[values_.index(v)] = last;
      if (needed_[values_.index(v)]) kernels_[last].saved.push_back(v);
    }
    if (operators_.of(id).in_place) maker_[values_.index(values_.storage(first_input(node)))] = last;
  }

  const OperatorGraph& graph_;
  OperatorTable operators_;
  std::vector<char> artefacts_;  // by node: runs no kernel
  ValueTable values_;
  Diagnostics& diagnostics_;
  std::vector<Kernel> kernels_;
  std::vector<std::uint32_t> maker_;  // kernel that made each value last
  std::vector<char> needed_;
  int views_ = 0;  // dispatched since the last kernel
};

}  // namespace

std::vector<Kernel> compile_eager(const OperatorGraph& graph, Diagnostics& diagnostics) {
  return EagerCompiler(graph, diagnostics).run();
}

}  // namespace sgsim::compile

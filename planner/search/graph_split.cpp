#include "planner/search/graph_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "planner/search/slot_shape.h"
#include "sim/compile/passes.h"
#include "sim/core/error.h"
#include "sim/cost/cost.h"
#include "sim/graph/trained.h"
#include "sim/lower/data_parallel/optimizer.h"
#include "sim/lower/data_parallel/state_types.h"

namespace sgsim::search {
namespace {

constexpr std::size_t kMostRuns = 300;
constexpr std::size_t kMostPrefixes = 1500;
constexpr double kLooseEnd = 0.002;  // of all time: a batch norm's running statistics are some 1e-4

std::string shortened(const std::string& path, std::size_t depth) {
  std::size_t at = 0;
  for (std::size_t d = 0; d < depth; ++d) {
    at = path.find('.', at == 0 ? 0 : at + 1);
    if (at == std::string::npos) return path;
  }
  return path.substr(0, at);
}

class Runs {
 public:
  Runs(const compile::CompiledGraph& compiled, std::size_t depth) : compiled_(compiled), run_of_(compiled.kernels.size(), 0) {
    for (std::uint32_t k = 0; k < compiled.kernels.size(); ++k) {
      const compile::Kernel& kernel = compiled.kernels[k];
      if (kernel.phase != graph::Phase::forward) continue;
      std::string name = name_of(kernel, depth);
      if (names_.empty() || names_.back() != name) names_.push_back(name);
      run_of_[k] = static_cast<std::uint32_t>(names_.size() - 1);
      last_[std::move(name)] = run_of_[k];
    }
    for (std::uint32_t k = 0; k < compiled.kernels.size(); ++k) {
      const compile::Kernel& kernel = compiled.kernels[k];
      if (kernel.phase == graph::Phase::forward) continue;
      const auto found = last_.find(name_of(kernel, depth));
      run_of_[k] = found != last_.end() ? found->second : static_cast<std::uint32_t>(names_.size() - 1);
    }
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::uint32_t run_of(std::size_t kernel) const { return run_of_[kernel]; }

 private:
  [[nodiscard]] std::string name_of(const compile::Kernel& kernel, std::size_t depth) const {
    return kernel.module.valid() ? shortened(compiled_.graph.modules[kernel.module.value], depth) : std::string();
  }
  const compile::CompiledGraph& compiled_;
  std::vector<std::uint32_t> run_of_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t> last_;
};

/// Bytes of one parameter element.
struct StateBytes {
  double frozen = 0.0, trained = 0.0;  // itself; with its gradient, moments and master copy
  double gathered = 0.0;               // as FSDP gathers it
};

StateBytes state_bytes(const lower::Training& training) {
  const lower::StateTypes types = lower::state_types(training, plan::Sharding::ddp);
  const double frozen = graph::size_of(types.parameter);
  return {.frozen = frozen, .trained = frozen + graph::size_of(types.gradient) + lower::optimizer_state_bytes(types, training.optimizer),
          .gathered = static_cast<double>(graph::size_of(lower::state_types(training, plan::Sharding::fsdp).parameter))};
}

void add_parameter(const graph::OperatorGraph& graph, graph::ValueRef v, const StateBytes& state, split::WorkNode& out) {
  const auto elements = static_cast<double>(graph.type(v).elements());
  out.memory += Bytes(elements * (graph::is_trained(graph, v.node) ? state.trained : state.frozen));
  out.parameters += Bytes(elements * state.gathered);
}

void add_values(const compile::CompiledGraph& compiled, const Runs& runs, const StateBytes& state, split::WorkGraph& out) {
  std::map<graph::ValueRef, std::uint32_t> maker;  // run of each value that a forward kernel makes
  std::map<graph::ValueRef, std::uint32_t> number;
  std::map<graph::ValueRef, bool> kept, held;
  for (std::uint32_t k = 0; k < compiled.kernels.size(); ++k) {
    const compile::Kernel& kernel = compiled.kernels[k];
    const bool forward = kernel.phase == graph::Phase::forward;
    for (const graph::ValueRef v : kernel.reads) {
      const graph::Node& node = compiled.graph.node(v.node);
      const double bytes = compiled.graph.type(v).bytes().value();
      if (node.kind == graph::NodeKind::parameter && !std::exchange(held[v], true)) add_parameter(compiled.graph, v, state, out.nodes[runs.run_of(k)]);
      const auto made = maker.find(v);
      if (made == maker.end()) continue;
      if (!forward && !std::exchange(kept[v], true)) out.nodes[made->second].memory += Bytes(bytes);
      if (forward && made->second < runs.run_of(k)) {
        const std::uint32_t value = number.try_emplace(v, static_cast<std::uint32_t>(number.size())).first->second;
        out.edges.push_back({.from = made->second, .to = runs.run_of(k), .bytes = Bytes(bytes), .value = value});
      }
    }
    if (!forward) continue;
    for (const graph::ValueRef v : kernel.saved) maker.try_emplace(v, runs.run_of(k));
  }
}

split::Link link_between(const scenario::Scenario& s, const cost::Profile& profile, int first_gpu) {
  const std::vector<GpuId> pair = {GpuId{static_cast<std::uint32_t>(first_gpu)}, GpuId{static_cast<std::uint32_t>(first_gpu + 1)}};
  Diagnostics diagnostics;
  const cost::TransferEstimate t = cost::collective_time(profile, graph::CollectiveOp::send_receive, 64_MiB, cluster::group_shape(s.cluster, pair, 1.0), diagnostics);
  return {.bandwidth = t.bandwidth, .latency = t.latency};
}

std::optional<ModelUnits> units_of_model(const scenario::Scenario& s, const scenario::Inputs& inputs, const split::WorkGraph& graph) {
  plan::Plan p;
  p.dp = s.cluster.gpus();
  if (p.dp == 1) return std::nullopt;
  const cluster::GroupShape everyone = slot_shape(s.cluster, p, 1, lower::Slot::data, 0);
  Diagnostics diagnostics;
  const auto gather = [&](Bytes bytes) { return cost::collective_time(*inputs.profile, graph::CollectiveOp::all_gather, bytes, everyone, diagnostics).time(); };
  const Seconds one = gather(64_MiB), two = gather(128_MiB);  // the line through both
  const BytesPerSecond bandwidth = 64_MiB / std::max(two - one, Seconds(1e-9));
  const split::Link link{.bandwidth = bandwidth, .latency = std::max(Seconds(), one - 64_MiB / bandwidth)};
  std::vector<split::UnitLayer> layers;
  ModelUnits units{.gpus = p.dp, .names = {}, .split = {}};
  for (const split::WorkNode& node : graph.nodes) {
    // A third of both passes is the forward pass, in which gathers have the least to hide behind.
    layers.push_back({.time = node.time / 3.0, .parameters = node.parameters});
    units.names.push_back(node.name);
  }
  units.split = split::split_units(layers, link, s.cluster.node.gpu.memory / 4.0);
  return units;
}

}  // namespace

split::WorkGraph work_graph_of(const scenario::Scenario& s, const scenario::Inputs& inputs, std::size_t most_runs) {
  Diagnostics diagnostics;
  const graph::OperatorGraph cast = s.training.autocast ? compile::autocast(*inputs.graph, s.training.compute_dtype) : *inputs.graph;
  const compile::CompiledGraph compiled = compile::compile(cast, s.training.execution, diagnostics);
  std::size_t depth = 10;
  while (depth > 1 && Runs(compiled, depth).names().size() > most_runs) --depth;
  const Runs runs(compiled, depth);
  split::WorkGraph out;
  for (const std::string& name : runs.names()) out.nodes.push_back({.name = name, .time = {}, .memory = {}, .parameters = {}});
  for (std::size_t k = 0; k < compiled.kernels.size(); ++k) {
    const compile::Kernel& kernel = compiled.kernels[k];
    if (!kernel.is_communication) out.nodes[runs.run_of(k)].time += cost::kernel_time(*inputs.profile, kernel.work, diagnostics).time;
  }
  add_values(compiled, runs, state_bytes(s.training), out);
  return split::without_loose_ends(out, kLooseEnd);
}

namespace {

/// Runs for FSDP units: as near as can be to a layer each, since a unit is a module.
std::size_t unit_runs(const plan::ModelShape& shape) { return shape.layers > 0 ? static_cast<std::size_t>(shape.layers) * 2 + 4 : kMostRuns; }

}  // namespace

ModelSplit split_model(const scenario::Scenario& s, const scenario::Inputs& inputs, int stages, double overlap_share) {
  if (stages > s.cluster.gpus()) {
    throw InputError({.file = "--split", .where = "", .found = fmt::format("{} stages of one GPU each on {} GPU{}", stages, s.cluster.gpus(), s.cluster.gpus() == 1 ? "" : "s"), .expected = "a cluster with a GPU for every stage",
                      .hint = "cuts are priced with the cluster's links; e.g. --set cluster.nodes=4, or --set cluster.node.gpus=8 where a node has fewer"});
  }
  ModelSplit out{.stages = stages, .overlap_share = overlap_share, .gpu_memory = s.cluster.node.gpu.memory, .graph = work_graph_of(s, inputs, kMostRuns), .links = {}, .between_nodes = {}, .split = {}, .fits = true, .units = {}};
  for (int i = 0; i + 1 < stages; ++i) {
    out.links.push_back(link_between(s, *inputs.profile, i));
    out.between_nodes.push_back(i / s.cluster.node.gpus != (i + 1) / s.cluster.node.gpus);
  }
  split::SplitRequest request{.stages = stages, .capacity = out.gpu_memory, .links = out.links, .overlap_share = overlap_share, .most_prefixes = kMostPrefixes};
  out.split = split::split_pipeline(out.graph, request);
  if (!out.split) {
    out.fits = false;
    request.capacity = Bytes(1e30);
    out.split = split::split_pipeline(out.graph, request);
  }
  out.units = units_of_model(s, inputs, work_graph_of(s, inputs, unit_runs(inputs.shape)));
  return out;
}

}  // namespace sgsim::search

#include "sim/lower/memory/live.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/core/error.h"
#include "sim/lower/binding/layout.h"
#include "sim/lower/memory/runtime.h"
#include "sim/lower/program/stack_costs.h"
#include "sim/lower/program/stage.h"

namespace sgsim::lower {
namespace {

using ByClass = std::array<double, kMemoryClasses>;

class Items {
 public:
  explicit Items(std::vector<LiveItem>& items) : items_(items) {}
  std::uint32_t operator()(MemoryClass c, const std::string& what, const std::string& of, std::int32_t micro_batch) {
    const auto [found, added] = ids_.try_emplace({c, what, of, micro_batch}, static_cast<std::uint32_t>(items_.size()));
    if (added) items_.push_back({.memory_class = c, .what = what, .of = of, .micro_batch = micro_batch, .bytes = {}});
    return found->second;
  }

 private:
  std::vector<LiveItem>& items_;
  std::map<std::tuple<MemoryClass, std::string, std::string, std::int32_t>, std::uint32_t> ids_;
};

/// Whether data-parallel ranks divide what is kept of this kind, so that experts, which fewer ranks share, weigh more.
bool divided(plan::Sharding sharding, MemoryClass c) {
  const bool fully = sharding == plan::Sharding::fsdp || sharding == plan::Sharding::hybrid;
  if (c == MemoryClass::optimizer) return sharding != plan::Sharding::ddp;
  return c == MemoryClass::gradients ? fully || sharding == plan::Sharding::zero2 : fully;
}

/// Persistent state, shared out among the positions that hold its parameters.
void keep(const Stage& stage, const std::vector<Chunk>& chunks, const std::vector<std::vector<OwnedParameter>>& parameters, const plan::Plan& plan, std::vector<LiveItem>& items, Items& item) {
  for (const Persistent& p : stage.persistent) {
    std::vector<std::pair<std::string, double>> weights;
    double all = 0.0;
    for (std::size_t c = 0; c < parameters.size(); ++c) {
      for (const OwnedParameter& parameter : parameters[c]) {
        const std::string& place = chunks[c].positions[parameter.position].label;
        const double weight = static_cast<double>(parameter.shard->elements) * (parameter.shard->expert && divided(plan.sharding, p.memory_class) ? plan.ep : 1);
        if (weights.empty() || weights.back().first != place) weights.emplace_back(place, 0.0);
        weights.back().second += weight;
        all += weight;
      }
    }
    for (const auto& [place, weight] : weights) items[item(p.memory_class, p.label, place, -1)].bytes += p.bytes * (weight / all);
    if (weights.empty()) items[item(p.memory_class, p.label, {}, -1)].bytes += p.bytes;
  }
}

ByClass start_of(const MemoryLog& log) {
  ByClass live{};
  for (const LiveItem& item : log.items) live[static_cast<std::size_t>(item.memory_class)] += item.bytes.value();
  return live;
}

double distance(const ByClass& live, const MemoryPoint& point) {
  double sum = 0.0;
  for (std::size_t c = 0; c < kMemoryClasses; ++c) {
    if (static_cast<MemoryClass>(c) != MemoryClass::runtime) sum += std::abs(live[c] - point.by_class[c].value());
  }
  return sum;
}

/// How many changes have happened at the point, the last one taken but not yet given back if it is transient. Of all states during
/// the point's task the one whose sums are the point's.
std::size_t changes_until(const MemoryLog& log, const MemoryPoint& point) {
  ByClass live = start_of(log);
  std::size_t best = 0;
  double least = point.task == 0 ? distance(live, point) : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < log.changes.size(); ++i) {
    const MemoryLog::Change& change = log.changes[i];
    double& of_class = live[static_cast<std::size_t>(log.items[change.item].memory_class)];
    of_class += change.delta;
    if (change.task == point.task) {
      if (const double d = distance(live, point); d < least) least = d, best = i + 1;
    }
    if (!change.transient) continue;
    of_class -= change.delta;
  }
  return best;
}

}  // namespace

MemoryLog memory_log(const SegmentedModel& model, const plan::Plan& plan, const Training& training, const cluster::Cluster& cluster, const TaskCosts& costs, int stage) {
  SGSIM_CHECK(stage >= 0 && stage < plan.pp, "no such stage");
  const std::vector<SegmentLaunches> segments = price_plan(model, plan, training, costs);
  const auto stages = partition(model, plan);
  const StageInput input{.model = model, .segments = segments, .stages = stages, .plan = plan, .training = training, .costs = costs,
                         .shard_group = resolved_shard_group(plan, cluster.node.gpus), .merge_lockstep = false, .host_link = host_link_of(cluster.node)};
  const Stage built = build_stage(input, stage);
  const Skeleton& skeleton = built.skeleton;
  MemoryLog log;
  Items item(log.items);
  keep(built, stages[static_cast<std::size_t>(stage)], owned_parameters(model, stages, stage), plan, log.items, item);
  const RuntimeMemory runtime = runtime_memory(cluster.node.gpu, static_cast<int>(skeleton.slots.size()), training.execution);
  log.items[item(MemoryClass::buffers, "library workspaces", {}, -1)].bytes += runtime.workspaces;
  for (const Emission& emission : skeleton.emissions) {
    const Piece& piece = skeleton.pieces[emission.piece];
    const auto steps = static_cast<std::uint32_t>(piece.steps.size());
    for (const MemoryStep& step : piece.memory) {
      const std::int32_t micro_batch = step.memory_class == MemoryClass::activations ? emission.micro_batch : -1;
      const std::uint32_t index = item(step.memory_class, skeleton.labels[step.label], skeleton.labels[step.of], micro_batch);
      log.changes.push_back({.task = emission.first_task + std::min(step.step, steps > 0 ? steps - 1 : 0), .item = index, .delta = step.delta, .transient = step.transient});
    }
  }
  return log;
}

MemoryLog memory_log(const Request& request, int stage) {
  const SegmentedModel model = segment_model(request.graph, request.model, request.plan, request.training);
  Diagnostics said_by_lower;
  const TaskCosts costs = request_costs(request, said_by_lower);
  return memory_log(model, request.plan, request.training, request.cluster, costs, stage);
}

std::vector<LiveItem> live_at(const MemoryLog& log, const MemoryPoint& point) {
  std::vector<LiveItem> live = log.items;
  const std::size_t until = changes_until(log, point);
  for (std::size_t i = 0; i < until; ++i) {
    const MemoryLog::Change& change = log.changes[i];
    if (!change.transient || i + 1 == until) live[change.item].bytes += Bytes(change.delta);
  }
  std::erase_if(live, [](const LiveItem& item) { return item.bytes.value() < 0.5; });
  std::stable_sort(live.begin(), live.end(), [](const LiveItem& a, const LiveItem& b) { return a.bytes > b.bytes; });
  return live;
}

}  // namespace sgsim::lower

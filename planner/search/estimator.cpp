#include "planner/search/estimator.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/search/axes.h"
#include "planner/search/memory_estimate.h"
#include "planner/search/slot_shape.h"
#include "sim/graph/dtype.h"
#include "sim/lower/binding/layout.h"
#include "sim/lower/data_parallel/offload.h"
#include "sim/lower/data_parallel/optimizer.h"
#include "sim/lower/program/stack_costs.h"
#include "sim/lower/schedule/order.h"
#include "sim/plan/legality.h"

namespace sgsim::search {

using lower::RunCost;
using lower::Slot;
using plan::Sharding;

/// A layout's chunks with one choice of what decides its kernels.
struct Estimator::Part {
  std::shared_ptr<const LayerCosts> costs;
  Stages stages;
  std::vector<std::vector<Beside>> beside;
  Seconds bound;   // no step is shorter
};

/// What the options of a layout share.
struct Estimator::LayoutWork {
  std::vector<std::vector<lower::PassStep>> orders;
  std::map<std::pair<bool, int>, Part> parts;  // by "kernels cross layers" and recomputed layers
};

namespace {

RunCost actions_cost(const std::vector<lower::Action>& actions, const lower::TaskCosts& costs) {
  RunCost total;
  for (const lower::Action& action : actions) {
    if (const auto* kernels = std::get_if<lower::SideKernels>(&action)) total = lower::then(total, side_kernels(*kernels, costs));
  }
  return total;
}

/// Copy out, the host's update, copy back: one after the other.
RunCost host_update(const lower::OptimizerShare& share, lower::Optimizer optimizer, const lower::HostLink& link) {
  Seconds total;
  for (const lower::Action& action : lower::host_optimizer_actions(share, optimizer, link, {}, {})) {
    if (const auto* copy = std::get_if<lower::HostCopy>(&action)) total += copy->device;
    if (const auto* work = std::get_if<lower::HostWork>(&action)) total += work->host;
  }
  return {.device = total, .issue_to_end = total, .host = Seconds()};
}

void add(Seconds& end, Seconds& host, const RunCost& run) {
  end = std::max(end + run.device, host + run.issue_to_end);
  host += run.host;
}

/// On a slower GPU. Transfers between the kernels are slowed with them, which they are not: an upper bound.
void slow_down(ChunkPasses& passes, double by) {
  const auto slow = [by](RunCost& run) {
    run.issue_to_end += run.device * (by - 1.0);
    run.device = run.device * by;
  };
  for (RunCost& run : passes.forward) slow(run);
  for (RunCost& run : passes.backward) slow(run);
  slow(passes.inputs);
}

/// The orders of passes, of as many micro-batches as show every situation of memory.
std::vector<std::vector<lower::PassStep>> orders_of(const plan::Plan& p) {
  const auto m = static_cast<int>(std::min<std::int64_t>(p.micro_batches(), p.schedule == plan::Schedule::gpipe ? p.micro_batches() : 3LL * std::max(2, p.pp)));
  std::vector<std::vector<lower::PassStep>> orders;
  for (int s = 0; s < p.pp; ++s) orders.push_back(lower::pass_order(p.schedule, p.pp, p.virtual_stages, m, s));
  return orders;
}

/// The busiest stage runs all its passes one after the other; before the first come those of the stages before it, and after the last, where
/// gradients are not split, their backward passes.
Seconds least_step(const Stages& stages, const plan::Plan& p) {
  const bool splits = p.schedule == plan::Schedule::zero_bubble;
  Seconds most, before;
  for (std::size_t s = 0; s < stages.stages.size(); ++s) {
    Seconds once;
    for (const std::uint32_t chunk : stages.kinds[stages.stages[s]]) {
      const ChunkKind& kind = stages.chunk_kinds[chunk];
      once += kind.forward.device + kind.backward.device + kind.inputs.device;
    }
    most = std::max(most, before + once * static_cast<double>(p.micro_batches()));
    const ChunkKind& first = stages.chunk_kinds[stages.chunks[s]];
    before += splits ? first.forward.device : first.forward.device + first.backward.device;
  }
  return most;
}

/// Ends of stages with the reductions that outlast their last passes.
void reduce_after(const plan::Plan& p, const Stages& stages, const std::vector<ChunkState>& states, PipelineTimes& times) {
  for (std::size_t stage = 0; stage < stages.stages.size(); ++stage) {
    // Reductions of a stage's chunks share one stream, in the order in which the chunks are finished (last first).
    Seconds reduced;
    const auto& chunks = stages.kinds[stages.stages[stage]];
    for (std::size_t v = chunks.size(); v-- > 0;) {
      const ChunkState& state = states[chunks[v]];
      if (state.transfer_total == 0.0) continue;
      const Seconds start = times.last_backward_start[v * static_cast<std::size_t>(p.pp) + stage];
      reduced = std::max(reduced + Seconds(state.transfer_total), start + Seconds(state.transfer_end));
      const Seconds computed = start + state.backward[lower::variant_of(p.micro_batches() - 1, p.micro_batches())].device;
      if (v == 0 && times.end[stage] > computed) reduced = std::max(reduced, times.end[stage] + Seconds(state.tail));
    }
    times.end[stage] = std::max(times.end[stage], reduced);
  }
}

scenario::Scenario with_plan(const scenario::Scenario& base, std::int64_t micro_batch) {
  scenario::Scenario s = base;
  s.plan.micro_batch = micro_batch;
  return s;
}

}  // namespace

Estimator::Estimator(const Problem& problem, LayerCostTable& table)
    : problem_(problem), table_(table), inputs_(problem.cache.load(with_plan(problem.scenario, problem.scenario.plan.micro_batch))),
      costs_(lower::training_costs(*inputs_.profile, problem.scenario.training, diagnostics_)) {}

const cluster::GroupShape& Estimator::shape(const plan::Plan& p, int shard_group, Slot slot, int stage) {
  const auto key = std::tuple(cluster_.nodes, p.tp, p.cp, p.ep, p.dp, p.pp, shard_group, static_cast<int>(slot), stage);
  const auto found = shapes_.find(key);
  if (found != shapes_.end()) return found->second;
  return shapes_.emplace(key, slot_shape(cluster_, p, shard_group, slot, stage)).first->second;
}

StateSetting Estimator::setting(const plan::Plan& p) {
  const int group = lower::resolved_shard_group(p, cluster_.node.gpus), replicas = p.dp * p.cp;
  StateSetting s{.plan = p, .training = problem_.scenario.training, .costs = costs_, .types = lower::state_types(problem_.scenario.training, p.sharding),
                 .data = {}, .expert_data = {}, .shard = {}, .replicate = {}};
  s.shards = p.sharding == Sharding::ddp ? 1 : p.sharding == Sharding::hybrid ? group : replicas;
  s.expert_shards = p.sharding == Sharding::ddp ? 1 : std::max(1, s.shards / p.ep);
  bool inter = false;
  if (replicas > 1) {
    s.data = shape(p, 1, Slot::data, 0);
    if (p.ep > 1) s.expert_data = shape(p, p.sharding == Sharding::hybrid ? group : 1, Slot::expert_data, 0);
    if (p.sharding == Sharding::hybrid) {
      s.shard = shape(p, group, Slot::shard, 0);
      s.replicate = shape(p, group, Slot::replicate, 0);
    }
    inter = p.sharding == Sharding::hybrid ? s.shard.nodes > 1 || s.replicate.nodes > 1 : s.data.nodes > 1;
  }
  for (int stage = 0; stage + 1 < p.pp && !inter; ++stage) inter = shape(p, 1, Slot::forward_out, stage).nodes > 1;
  const cost::Interference slow = costs_.interference(inter);
  s.slowdown = {.compute = std::max(1.0, slow.compute_slowdown), .transfer = std::max(1.0, slow.transfer_slowdown)};
  return s;
}

std::vector<Seconds> Estimator::hops(const plan::Plan& p, const Stages& stages) {
  std::vector<Seconds> hops(stages.chunks.size());
  if (p.pp == 1) return hops;
  const lower::Stack& stack = problem_.scenario.training.stack;
  const int pieces = stack.scatter_gather_boundary && p.tp > 1 && !p.sequence_parallel ? p.tp : 1;
  for (std::size_t g = 0; g + 1 < hops.size(); ++g) {
    const Bytes boundary(stages.chunk_kinds[stages.chunks[g]].boundary);
    cluster::GroupShape between = shape(p, 1, Slot::forward_out, static_cast<int>(g) % p.pp);
    between.nics_per_node = std::min(between.nics_per_node, 1.0);  // as lowering's binding
    hops[g] = costs_.collective(graph::CollectiveOp::send_receive, boundary / pieces, between).time();
    if (pieces > 1) hops[g] += costs_.collective(graph::CollectiveOp::all_gather, boundary, shape(p, 1, Slot::tensor, 0)).time();
  }
  return hops;
}

const Estimator::Part& Estimator::part(LayoutWork& work, const Candidate& candidate) {
  if (work.orders.empty()) work.orders = orders_of(candidate.plan);
  const bool across = layer_key(problem_, candidate).across;
  const auto [found, is_new] = work.parts.try_emplace({across, candidate.plan.recompute_layers});
  Part& part = found->second;
  if (is_new) {
    part.costs = table_.get(candidate);
    part.stages = stages_of(*part.costs, candidate.plan, lower::host_link_of(cluster_.node));
    part.beside = live_beside(work.orders, part.stages);
    part.bound = least_step(part.stages, candidate.plan);
  }
  return part;
}

std::vector<Figures> Estimator::estimate(const Layout& layout, std::span<const StateOption> options) {
  std::vector<Figures> figures = bounds(layout, options);
  const std::vector<Seconds> times = step_times(layout, options);
  for (std::size_t i = 0; i < figures.size(); ++i) figures[i].step_time = times[i];
  return figures;
}

std::vector<Figures> Estimator::bounds(const Layout& layout, std::span<const StateOption> options) {
  cluster_ = resized(problem_.scenario.cluster, layout.nodes);
  LayoutWork work;
  std::vector<Figures> figures;
  for (const StateOption& option : options) {
    const Candidate candidate = candidate_of(layout, option);
    const Part& p = part(work, candidate);
    figures.push_back(memory(p, setting(candidate.plan)));
    figures.back().step_time = p.bound;
  }
  return figures;
}

std::vector<Seconds> Estimator::step_times(const Layout& layout, std::span<const StateOption> options) {
  cluster_ = resized(problem_.scenario.cluster, layout.nodes);
  LayoutWork work;
  std::vector<Seconds> times;
  for (const StateOption& option : options) {
    const Candidate candidate = candidate_of(layout, option);
    times.push_back(step_time(part(work, candidate), setting(candidate.plan)));
  }
  return times;
}

std::vector<Estimator::SomeRecomputed> Estimator::fewest_recomputed(const Layout& layout, std::span<const StateOption> options, Bytes limit) {
  cluster_ = resized(problem_.scenario.cluster, layout.nodes);
  LayoutWork work;
  std::vector<SomeRecomputed> answers;
  for (const StateOption& option : options) {
    Candidate candidate = candidate_of(layout, option);
    candidate.plan.recompute_layers = 1;
    const std::vector<int>& stages = layout.plan.stage_layers;
    const auto layers = stages.empty() ? static_cast<int>(table_.get(candidate)->layers.size()) / (layout.plan.pp * layout.plan.virtual_stages) : *std::min_element(stages.begin(), stages.end());
    answers.push_back(fewest_recomputed(work, candidate, layers, limit));
  }
  return answers;
}

Estimator::SomeRecomputed Estimator::fewest_recomputed(LayoutWork& work, Candidate candidate, int layers, Bytes limit) {
  const auto takes = [&](int n) {
    Candidate some = candidate;
    some.plan.recompute_layers = n;
    if (n == 0) some.plan.recompute = plan::Recompute::none;
    return memory(part(work, some), setting(some.plan));
  };
  if (layers < 2) return {.layers = layers, .all = layers, .figures = {}};
  if (takes(0).needed <= limit) return {.layers = 0, .all = layers, .figures = {}};
  int too_few = 0, enough = layers;
  while (enough - too_few > 1) {
    const int middle = (too_few + enough) / 2;
    (takes(middle).needed <= limit ? enough : too_few) = middle;
  }
  if (enough == layers) return {.layers = layers, .all = layers, .figures = {}};
  candidate.plan.recompute_layers = enough;
  SomeRecomputed some{.layers = enough, .all = layers, .figures = takes(enough)};
  some.figures.step_time = part(work, candidate).bound;
  return some;
}

std::vector<int> Estimator::balanced_layers(const Layout& layout) {
  const auto costs = table_.get(candidate_of(layout, {}));
  const auto stages = static_cast<std::size_t>(layout.plan.pp), chunks = stages * static_cast<std::size_t>(layout.plan.virtual_stages);
  if (costs->layers.size() < chunks) return {};
  const auto time = [&](std::uint32_t at) { return (costs->segments[at].forward.device + costs->segments[at].backward.device + costs->segments[at].inputs.device).value(); };
  double layer = 0.0;
  for (const std::uint32_t at : costs->layers) layer += time(at) / static_cast<double>(costs->layers.size());
  std::vector<int> count(chunks, 1);
  std::vector<double> busy(stages, layer * static_cast<double>(layout.plan.virtual_stages));
  for (const std::uint32_t at : costs->before) busy.front() += time(at);
  for (const std::uint32_t at : costs->after) busy.back() += time(at);
  for (std::size_t l = chunks; l < costs->layers.size(); ++l) {  // equal layers, each to the stage with the least to do: no other choice has a less busy busiest stage
    std::size_t least = 0, chunk = 0;
    for (std::size_t s = 0; s < stages; ++s) {
      if (busy[s] <= busy[least] * (1.0 + 1e-9)) least = s;
    }
    busy[least] += layer;
    for (std::size_t g = chunk = least; g < chunks; g += stages) {
      if (count[g] < count[chunk]) chunk = g;
    }
    ++count[chunk];
  }
  plan::ModelShape shape;
  shape.layers = static_cast<std::int64_t>(costs->layers.size());
  return count == plan::chunk_layers(shape, layout.plan) ? std::vector<int>{} : count;
}

bool Estimator::recomputes(const Layout& layout) {
  if (layout.plan.recompute != plan::Recompute::selective) return layout.plan.recompute == plan::Recompute::full;
  if (selective_finds_) return *selective_finds_;
  const auto costs = table_.get(candidate_of(layout, {}));
  selective_finds_ = std::any_of(costs->model->segments.begin(), costs->model->segments.end(), [](const lower::ModelSegment& segment) { return !segment.recompute.empty(); });
  return *selective_finds_;
}

Figures Estimator::memory(const Part& part, const StateSetting& s) const {
  std::vector<ChunkMemory> chunks;
  for (const ChunkKind& kind : part.stages.chunk_kinds) chunks.push_back(chunk_memory(s, *part.costs, kind));
  Figures most;
  for (std::size_t stage = 0; stage < part.stages.stages.size(); ++stage) {
    const Figures here = stage_memory(s, *part.costs, part.stages, chunks, stage, part.beside[stage], cluster_.node.gpu);
    most.reserved = std::max(most.reserved, here.reserved);
    most.needed = std::max(most.needed, here.needed);
  }
  return most;
}

/// Steps that are continued from a steady state that is not quite reached may come out below the bound.
Seconds Estimator::step_time(const Part& part, const StateSetting& s) { return std::max(part.bound, pipelined(part, s)); }

Seconds Estimator::pipelined(const Part& part, const StateSetting& s) {
  const plan::Plan& p = s.plan;
  const LayerCosts& costs = *part.costs;
  const Stages& stages = part.stages;
  std::vector<ChunkState> states;
  for (const ChunkKind& kind : stages.chunk_kinds) states.push_back(chunk_state(s, costs, kind));
  const lower::Stack& stack = s.training.stack;
  PipelineInput input{.schedule = p.schedule, .pp = p.pp, .virtual_stages = p.virtual_stages, .micro_batches = p.micro_batches(), .chunks = {}};
  input.waits_for_sends = p.pp > 1 && (p.schedule == plan::Schedule::one_f_one_b ? stack.pipeline_waits_for_sends
                                                                                 : p.schedule == plan::Schedule::interleaved && stack.interleaved_waits_for_sends);
  input.exchange_host = costs_.eager.host_per_collective;
  input.latency = costs_.eager.launch_latency;
  const std::vector<Seconds> hop = hops(p, stages);
  const std::vector<double> speeds = stage_speeds(cluster_, p);
  for (std::size_t g = 0; g < stages.chunks.size(); ++g) {
    const ChunkState& state = states[stages.chunks[g]];
    ChunkPasses passes{.forward = state.forward, .backward = state.backward, .inputs = stages.chunk_kinds[stages.chunks[g]].inputs, .hop = hop[g]};
    // A transfer that arrives while the stage computes slows it.
    const Seconds slowed = hop[g] * (s.slowdown.compute - 1.0) / s.slowdown.compute;
    if (g + 1 < stages.chunks.size()) {
      for (lower::RunCost& run : passes.forward) run.device += slowed;
      if (p.schedule == plan::Schedule::zero_bubble) {
        passes.inputs.device += slowed;
      } else {
        for (lower::RunCost& run : passes.backward) run.device += slowed;
      }
    }
    if (const double speed = speeds[g % static_cast<std::size_t>(p.pp)]; speed < 1.0) slow_down(passes, 1.0 / speed);
    input.chunks.push_back(passes);
  }
  PipelineTimes times = pipeline_.run(input);
  reduce_after(p, stages, states, times);
  return finish(part, s, std::move(times.end), std::move(times.host));
}

RunCost Estimator::update(const StateSetting& s, const Part& part, std::size_t kind) const {
  double dense = 0.0, expert = 0.0;
  int tensors = 0, tensor_sharded = 0;
  for (const std::uint32_t chunk : part.stages.kinds[kind]) {
    const ChunkKind& c = part.stages.chunk_kinds[chunk];
    dense += c.dense;
    expert += c.expert;
    tensors += c.tensors;
    tensor_sharded += c.tensor_sharded;
  }
  lower::OptimizerShare share{.elements = std::ceil(dense / s.shards) + std::ceil(expert / s.expert_shards), .tensors = tensors, .types = s.types};
  if (lower::fully_sharded(s.plan.sharding)) share.types.gradient = s.types.kept;
  const bool flat = s.plan.sharding == Sharding::zero1 || s.plan.sharding == Sharding::zero2;
  if (flat) share.tensors = std::max(1, (tensors + s.shards - 1) / s.shards);
  RunCost run;
  if (const auto wrapper = lower::tensor_wrapper(*inputs_.profile, s.plan, s.training); wrapper && s.training.optimizer != lower::Optimizer::none) {
    run.host = run.issue_to_end = (s.training.optimizer_fused ? wrapper->optimizer_fused : wrapper->optimizer_loop) * static_cast<double>(tensor_sharded);
  }
  for (const std::uint32_t chunk : part.stages.kinds[kind]) run = lower::then(run, copies_out_of_buckets(s, *part.costs, part.stages.chunk_kinds[chunk]));
  if (s.training.clip_gradients) run = lower::then(run, actions_cost(lower::clip_actions(share, {}, {}), s.costs));
  if (s.plan.offload.optimizer) return lower::then(run, host_update(share, s.training.optimizer, lower::host_link_of(cluster_.node)));
  return lower::then(run, actions_cost(lower::optimizer_actions(share, s.training.optimizer, s.training.optimizer_fused), s.costs));
}

Seconds Estimator::finish(const Part& part, const StateSetting& s, std::vector<Seconds> end, std::vector<Seconds> host) {
  const plan::Plan& p = s.plan;
  const Stages& stages = part.stages;
  const int divisor = lower::fully_sharded(p.sharding) ? s.shards : 1;
  const auto all_reduce = [&](double elements, const cluster::GroupShape& group) {
    return costs_.collective(graph::CollectiveOp::all_reduce, Bytes(elements * graph::size_of(s.types.gradient)), group).time();
  };
  const bool divided = (p.sharding == Sharding::zero1 || p.sharding == Sharding::zero2) && p.dp * p.cp > 1;
  std::vector<RunCost> updates;
  std::vector<Seconds> gathers, reductions;
  for (std::size_t kind = 0; kind < stages.kinds.size(); ++kind) {
    updates.push_back(update(s, part, kind));
    double gather = 0.0, replicated = 0.0;
    for (const std::uint32_t chunk : stages.kinds[kind]) {
      replicated += stages.chunk_kinds[chunk].replicated;
      if (divided) gather += gather_time(s, *part.costs, stages.chunk_kinds[chunk]);
    }
    gathers.push_back(Seconds(gather));
    reductions.push_back(p.sequence_parallel && p.tp > 1 && replicated > 0.0 ? all_reduce(replicated / divisor, shape(p, 1, Slot::tensor, 0)) : Seconds());
  }
  for (std::size_t stage = 0; stage < end.size(); ++stage) end[stage] += reductions[stages.stages[stage]];
  if (const double tied = tied_elements(*part.costs, p); tied > 0.0 && end.size() > 1) {
    end.front() = end.back() = std::max(end.front(), end.back()) + all_reduce(tied / divisor, shape(p, 1, Slot::embedding, 0));
  }
  if (s.training.clip_gradients && end.size() > 1) end.assign(end.size(), *std::max_element(end.begin(), end.end()));
  Seconds step;
  for (std::size_t stage = 0; stage < end.size(); ++stage) {
    add(end[stage], host[stage], updates[stages.stages[stage]]);
    const Seconds gathered = s.training.stack.overlap_parameter_gather ? end[stage] : end[stage] + gathers[stages.stages[stage]];
    step = std::max({step, gathered, host[stage] + costs_.launch.host_per_step});
  }
  return step;
}

}  // namespace sgsim::search

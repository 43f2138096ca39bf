#include "planner/search/layer_costs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "planner/search/axes.h"
#include "planner/search/slot_shape.h"
#include "sim/core/error.h"
#include "sim/lower/program/launches.h"
#include "sim/lower/program/power.h"
#include "sim/lower/program/stack_costs.h"
#include "sim/lower/program/task_costs.h"

namespace sgsim::search {
namespace {

using lower::Launch;
using lower::RunCost;

/// Prices collectives of the model on the groups of one layout.
class GroupCosts {
 public:
  GroupCosts(const cluster::Cluster& cluster, const plan::Plan& plan, const lower::TaskCosts& costs) : cluster_(cluster), plan_(plan), costs_(costs) {}

  Seconds time(const compile::Communication& c) {
    cluster::GroupShape group = shape(c.group);
    if (c.op == graph::CollectiveOp::send_receive) group.nics_per_node = std::min(group.nics_per_node, 1.0);  // as lowering's binding
    return costs_.collective(c.op, c.bytes, group).time();
  }

  /// How transfers of context parallelism and the kernels beside them slow each other.
  [[nodiscard]] cost::Interference beside() {
    if (plan_.cp == 1) return {};
    const cost::Interference slow = costs_.interference(shape("cp").nodes > 1);
    return {.compute_slowdown = std::max(1.0, slow.compute_slowdown), .transfer_slowdown = std::max(1.0, slow.transfer_slowdown)};
  }

 private:
  const cluster::GroupShape& shape(const std::string& group) {
    const auto found = shapes_.find(group);
    if (found != shapes_.end()) return found->second;
    const lower::Slot slot = group == "tp" ? lower::Slot::tensor : group == "cp" ? lower::Slot::context : group == "ep" ? lower::Slot::expert : lower::Slot::data;
    return shapes_.emplace(group, slot_shape(cluster_, plan_, 1, slot, 0)).first->second;
  }

  const cluster::Cluster& cluster_;
  const plan::Plan& plan_;
  const lower::TaskCosts& costs_;
  std::map<std::string, cluster::GroupShape> shapes_;
};

/// A list as one run: the stream and the collectives beside it from time 0, once with the host long ahead, once with the
/// host starting at 0.
class ListClock {
 public:
  ListClock(GroupCosts& groups, Seconds collective_host, Seconds latency) : groups_(groups), collective_host_(collective_host), latency_(latency), beside_(groups.beside()) {}

  /// `after` gets the device time at which each kernel has ended.
  void run(const std::vector<Launch>& launches, std::vector<double>* after) {
    std::vector<std::pair<std::uint32_t, std::size_t>> unread;  // reader, index of the collective
    for (std::uint32_t k = 0; k < launches.size(); ++k) {
      for (const auto& [reader, c] : unread) {
        if (reader == k) wait(c);
      }
      const Launch& launch = launches[k];
      if (launch.kernel->is_communication) {
        const bool around = launch.kernel->communication.group == "cp";
        compile::Communication sent = launch.kernel->communication;
        sent.bytes = lower::payload_of(launch);
        const Seconds time = groups_.time(sent) * (around ? beside_.transfer_slowdown : 1.0);
        Link& link = around ? ring_ : link_;
        host_ += collective_host_;
        link.ahead = std::max(link.ahead, ahead_) + time;
        link.issued = std::max({link.issued, issued_, host_ + latency_}) + time;
        ends_.emplace_back(link.ahead, link.issued);
        unread.emplace_back(launch.reader, ends_.size() - 1);
      } else {
        const Seconds host_before = host_;
        ahead_ = advance(ahead_, launch.cost.device, ring_.ahead);
        issued_ = std::max(advance(issued_, launch.cost.device, ring_.issued), host_before + launch.cost.issue_to_end);
        host_ += launch.cost.host;
      }
      if (after != nullptr) after->push_back(ahead_.value());
    }
    for (const auto& [reader, c] : unread) {
      if (reader >= launches.size()) wait(c);
    }
  }

  [[nodiscard]] RunCost cost() const { return {.device = ahead_, .issue_to_end = issued_, .host = host_}; }

 private:
  struct Link {
    Seconds ahead, issued;   // free again
  };
  /// The end of a kernel while the ring is busy until then.
  [[nodiscard]] Seconds advance(Seconds from, Seconds work, Seconds busy) const {
    const double slow = beside_.compute_slowdown;
    if (slow <= 1.0 || from >= busy) return from + work;
    const Seconds slowed = busy - from;
    return work * slow <= slowed ? from + work * slow : busy + (work - slowed / slow);
  }
  void wait(std::size_t c) {
    ahead_ = std::max(ahead_, ends_[c].first);
    issued_ = std::max(issued_, ends_[c].second);
  }

  GroupCosts& groups_;
  Seconds collective_host_, latency_;
  cost::Interference beside_;
  Seconds ahead_, issued_, host_;
  Link link_, ring_;
  std::vector<std::pair<Seconds, Seconds>> ends_;
};

/// Ends in a list of weight-gradient kernels, by kernel of the whole backward list: others have ended before it begins.
std::vector<double> by_backward_kernel(const std::vector<bool>& weight_only, const std::vector<double>& after) {
  std::vector<double> ends;
  std::size_t next = 0;
  for (const bool weight : weight_only) {
    if (weight) ++next;
    ends.push_back(next == 0 ? 0.0 : after[next - 1]);
  }
  return ends;
}

void add_gradients(const lower::ModelSegment& segment, const std::vector<double>& after, double before, SegmentCost& cost) {
  std::vector<const lower::ParameterShard*> order;
  for (const lower::ParameterShard& p : segment.parameters) order.push_back(&p);
  std::reverse(order.begin(), order.end());
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->ready_at < b->ready_at; });
  for (const lower::ParameterShard* p : order) {
    const double elements = static_cast<double>(p->elements);
    if (!p->trained) {
      cost.frozen += elements;
      ++cost.frozen_tensors;
      if (p->expert) cost.frozen_expert += elements;
      if (p->expert) ++cost.frozen_expert_tensors;
      continue;
    }
    if (p->tensor_sharded) ++cost.tensor_sharded;
    const double ready = after.empty() ? 0.0 : after[std::min<std::size_t>(p->ready_at, after.size() - 1)];
    cost.gradients.push_back({.ready = before + ready, .elements = elements, .tensors = 1, .expert = p->expert});
    (p->expert ? cost.expert : cost.dense) += elements;
    if (!p->tensor_sharded && !p->expert) cost.replicated += elements;
    ++cost.tensors;
  }
}

/// How the host issues a segment's lists, and whether the backward list is two.
struct Issue {
  Seconds collective, latency;
  bool split = false;
};

SegmentCost segment_cost(const lower::SegmentLaunches& launches, GroupCosts& groups, const Issue& how) {
  const lower::ModelSegment& segment = *launches.segment;
  SegmentCost cost{.role = segment.role, .saved = segment.saved.value(), .forward_peak = segment.forward_peak.value(),
                   .backward_peak = segment.backward_peak.value(), .boundary = segment.boundary.value(), .held = how.split ? segment.held.value() : 0.0};
  ListClock forward(groups, how.collective, how.latency), recompute(groups, how.collective, how.latency), backward(groups, how.collective, how.latency), inputs_clock(groups, how.collective, how.latency);
  std::vector<double> after;
  forward.run(launches.forward, nullptr);
  recompute.run(launches.recompute, nullptr);
  backward.run(how.split ? launches.weight_gradients : launches.backward, &after);
  if (how.split) {
    inputs_clock.run(launches.input_gradients, nullptr);
    after = by_backward_kernel(segment.weight_only, after);
  }
  cost.forward = forward.cost();
  cost.inputs = how.split ? lower::then(recompute.cost(), inputs_clock.cost()) : RunCost{};
  cost.backward = how.split ? backward.cost() : lower::then(recompute.cost(), backward.cost());
  add_gradients(segment, after, how.split ? 0.0 : recompute.cost().device.value(), cost);
  return cost;
}

/// Parameters of the head that the embedding holds too.
void add_tied(const lower::SegmentedModel& model, LayerCosts& result) {
  std::set<std::string> first;
  for (const std::uint32_t at : result.before) {
    for (const lower::ParameterShard& p : model.segments[at].parameters) first.insert(p.name);
  }
  for (const std::uint32_t at : result.after) {
    for (const auto* list : {&model.segments[at].parameters, &model.segments[at].shared_parameters}) {
      for (const lower::ParameterShard& p : *list) {
        if (p.trained && first.contains(p.name)) result.segments[at].tied += static_cast<double>(p.elements);
      }
    }
  }
}

}  // namespace

LayerKey layer_key(const Problem& problem, const Candidate& candidate) {
  const plan::Plan& p = candidate.plan;
  return {.nodes = candidate.nodes, .tp = p.tp, .cp = p.cp, .ep = p.ep, .sequence_parallel = p.sequence_parallel,
          .across = lower::fuses_across_layers(p, problem.scenario.training), .split = p.schedule == plan::Schedule::zero_bubble, .some = p.recompute_layers > 0, .recompute = p.recompute, .micro_batch = p.micro_batch};
}

std::shared_ptr<const LayerCosts> LayerCostTable::get(const Candidate& candidate) {
  return made_.get(layer_key(problem_, candidate), [&] { return make(candidate); });
}

std::shared_ptr<const LayerCosts> LayerCostTable::mixed(const Candidate& candidate) {
  Candidate all = candidate, none = candidate;
  all.plan.recompute_layers = none.plan.recompute_layers = 0;
  none.plan.recompute = plan::Recompute::none;
  const auto recomputed = get(all), kept = get(none);
  auto result = std::make_shared<LayerCosts>(*recomputed);
  result->model = std::make_shared<const lower::SegmentedModel>(lower::with_kept_layers(*recomputed->model, *kept->model));
  const auto first = static_cast<std::uint32_t>(recomputed->segments.size());
  result->segments.insert(result->segments.end(), kept->segments.begin(), kept->segments.end());
  for (const std::uint32_t layer : kept->layers) result->kept_layers.push_back(first + layer);
  return result;
}

std::shared_ptr<const LayerCosts> LayerCostTable::make(const Candidate& candidate) {
  if (candidate.plan.recompute_layers > 0) return mixed(candidate);
  const bool split = candidate.plan.schedule == plan::Schedule::zero_bubble;
  scenario::Scenario s = problem_.scenario;
  s.plan = candidate.plan;
  s.cluster = resized(s.cluster, candidate.nodes);
  const scenario::Inputs inputs = problem_.cache.load(s);
  if (inputs.shape != shape_)
    throw InputError({.file = s.file, .where = "$.model", .found = "another model than when the search began", .expected = "a model file that stays as it is", .hint = "search again"});
  auto result = std::make_shared<LayerCosts>();
  result->model = segments_.get(inputs.graph, inputs.shape, s.plan, s.training);
  const lower::SegmentedModel& model = *result->model;
  Diagnostics diagnostics;
  lower::TaskCosts costs = lower::training_costs(*inputs.profile, s.training, diagnostics);
  costs.wrapper = lower::tensor_wrapper(*inputs.profile, s.plan, s.training);
  auto priced = lower::price_plan(model, s.plan, s.training, costs);
  if (costs.power) lower::apply_power_limit(priced, model, *costs.power);  // lowering counts the optimizer's share of the step too
  const bool captured = s.training.execution == compile::Execution::cuda_graph && s.training.stack.nccl_in_graph;
  const Seconds host = captured ? Seconds() : costs.launch.host_per_collective + (costs.wrapper ? costs.wrapper->collective : Seconds());
  const Seconds latency = captured ? Seconds() : costs.launch.launch_latency;
  GroupCosts groups(s.cluster, s.plan, costs);
  for (const lower::SegmentLaunches& launches : priced) result->segments.push_back(segment_cost(launches, groups, {.collective = host, .latency = latency, .split = split}));
  for (const std::uint32_t at : model.order) {
    const lower::SegmentRole role = model.segments[at].role;
    (role == lower::SegmentRole::layer ? result->layers : result->layers.empty() && role == lower::SegmentRole::before ? result->before : result->after).push_back(at);
  }
  add_tied(model, *result);
  return result;
}

}  // namespace sgsim::search

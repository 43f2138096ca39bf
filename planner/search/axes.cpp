#include "planner/search/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/lower/segments.h"
#include "sim/plan/legality.h"

namespace sgsim::search {
namespace {

using plan::Plan;
using plan::Schedule;
using plan::Sharding;

constexpr int kMostTensorNodes = 4;          // nodes that a tensor-parallel group may span in the search
constexpr std::int64_t kLargestMicroBatch = 64;

std::vector<int> divisors(std::int64_t n, std::int64_t most) {
  std::vector<int> found;
  for (std::int64_t d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) found.push_back(static_cast<int>(d));
  }
  return found;
}

class Enumerator {
 public:
  Enumerator(const Axes& axes, const plan::ModelShape& model, const cluster::Cluster& cluster, const Plan& base, const graph::OperatorGraph* graph)
      : axes_(axes), model_(model), cluster_(cluster), base_(base), graph_(graph) {}

  Space run() {
    for (const int nodes : axes_.nodes) {
      resized_ = resized(cluster_, nodes);
      nodes_ = nodes;
      for (const int tp : axes_.tp) {
        for (const int cp : axes_.cp) {
          for (const int ep : axes_.ep) {
            for (const int pp : axes_.pp) sizes(tp, cp, ep, pp);
          }
        }
      }
    }
    return std::move(space_);
  }

 private:
  // Layouts beneath one choice of sizes, for counting what is cut there.
  [[nodiscard]] std::uint64_t below_sizes(int tp, int pp) const {
    return schedules(pp).size() * recomputes().size() * axes_.micro_batch.size() * (tp > 1 ? 2 : 1) * (axes_.balanced_stages && pp > 1 ? 2 : 1);
  }
  [[nodiscard]] std::vector<std::pair<Schedule, int>> schedules(int pp) const {
    std::vector<std::pair<Schedule, int>> found;
    for (const Schedule s : axes_.schedule) {
      if (pp == 1 && s != Schedule::one_f_one_b) continue;  // one stage: all schedules are the same
      if (s == Schedule::interleaved) {
        for (const int v : axes_.virtual_stages) found.emplace_back(s, v);
      } else {
        found.emplace_back(s, 1);
      }
    }
    return found;
  }

  [[nodiscard]] std::vector<std::pair<plan::Recompute, int>> recomputes() const {
    std::vector<std::pair<plan::Recompute, int>> found;
    for (const plan::Recompute r : axes_.recompute) found.emplace_back(r, 0);
    if (axes_.some_recomputed) found.emplace_back(plan::Recompute::full, 1);
    return found;
  }

  void reject(const std::string& rule, std::uint64_t plans, const std::string& why) {
    Rejection& r = space_.rejections[rule];
    r.plans += plans;
    space_.considered += plans;
    if (r.example.empty()) r.example = why;
  }
  const std::vector<plan::Violation>& graph_rules(const Plan& p) {
    const auto [found, is_new] = graph_rules_.try_emplace(p.cp);
    if (is_new) found->second = lower::graph_violations(*graph_, p);
    return found->second;
  }
  /// The first rule that the plan breaks takes all of `plans`.
  bool illegal(const Plan& p, std::uint64_t plans) {
    auto violations = plan::check_plan(model_, p, resized_);
    if (violations.empty() && graph_ != nullptr && p.cp > 1) violations = graph_rules(p);
    if (violations.empty()) return false;
    reject(violations.front().rule, plans, violations.front().message);
    return true;
  }

  void sizes(int tp, int cp, int ep, int pp) {
    const std::int64_t others = static_cast<std::int64_t>(tp) * cp * pp;
    Plan p = base_;
    p.tp = tp;
    p.cp = cp;
    p.ep = ep;
    p.pp = pp;
    p.sharding = Sharding::ddp;
    p.fsdp = {};
    p.buckets = {};
    p.stage_layers.clear();
    p.schedule = Schedule::one_f_one_b;
    p.virtual_stages = 1;
    p.sequence_parallel = false;
    p.recompute = plan::Recompute::none;
    p.recompute_layers = 0;
    p.offload = {};
    p.micro_batch = axes_.micro_batch.front();
    const auto options = state_options(axes_, {.nodes = nodes_, .plan = p}, resized_).size();
    const std::uint64_t below = below_sizes(tp, pp) * options;
    if (resized_.gpus() % others != 0) {
      reject("dp_fills_cluster", below, fmt::format("tp {} x cp {} x pp {} does not divide {} GPUs", tp, cp, pp, resized_.gpus()));
      return;
    }
    p.dp = static_cast<int>(resized_.gpus() / others);
    // Whatever the micro-batch and schedule: the smallest micro-batch breaks the rules of the sizes alone.
    Plan probe = p;
    probe.micro_batch = 1;
    if (illegal(probe, below)) return;
    for (const bool sequence_parallel : {false, true}) {
      if (sequence_parallel && tp == 1) continue;
      p.sequence_parallel = sequence_parallel;
      for (const auto& [schedule, chunks] : schedules(pp)) {
        p.schedule = schedule;
        p.virtual_stages = chunks;
        for (const auto& [recompute, some] : recomputes()) {
          p.recompute = recompute;
          p.recompute_layers = some;
          family(p);
        }
      }
    }
  }

  /// Options that others of the same sizes have and this layout may not.
  void reject_options(const Plan& p) {
    if (p.dp * p.cp > 1) {
      Axes without = axes_;
      for (const Sharding sharding : axes_.sharding) {
        without.sharding = {sharding};
        if (p.schedule == Schedule::zero_bubble) {
          Plan plain = p;
          plain.schedule = Schedule::one_f_one_b;
          const std::uint64_t options = state_options(without, {.nodes = nodes_, .plan = plain}, resized_).size();
          const std::uint64_t left = state_options(without, {.nodes = nodes_, .plan = p}, resized_).size();
          if (left < options) reject("zero_bubble_sharding", options - left, "the zero-bubble schedule with parameters resharded after the forward pass: PyTorch's pipeline stages keep them gathered between the two backward passes");
        }
        if (sharding == Sharding::zero2 && p.pp > 1) {
          reject("zero2_with_pipeline", axes_.buckets.size() * (axes_.offload_optimizer ? 2 : 1), "ZeRO-2 in a pipeline would reduce every micro-batch apart, which DeepSpeed refuses; ZeRO-1 takes the same optimizer memory");
        }
      }
    }
    if (!axes_.offload_activations || offloads_activations(axes_, {.nodes = nodes_, .plan = p})) return;
    reject(p.pp > 1 ? "offload_with_pipeline" : "offload_with_recompute", state_options(axes_, {.nodes = nodes_, .plan = p}, resized_).size(),
           p.pp > 1 ? "activation offload in a pipeline: Megatron-LM refuses it, and copies of several micro-batches in flight are not modelled" : "activation offload beside recomputation: Megatron-LM refuses it");
  }

  void family(Plan p) {
    Family family;
    for (const std::int64_t micro_batch : axes_.micro_batch) {
      p.micro_batch = micro_batch;
      const std::uint64_t options = plans_of(axes_, {.nodes = nodes_, .plan = p}, resized_);
      if (illegal(p, options)) continue;
      reject_options(p);
      family.push_back({.nodes = nodes_, .plan = p});
      space_.plans += options;
      space_.considered += options;
    }
    if (!family.empty()) space_.families.push_back(std::move(family));
  }

  const Axes& axes_;
  const plan::ModelShape& model_;
  const cluster::Cluster& cluster_;
  const Plan& base_;
  const graph::OperatorGraph* graph_;
  std::map<int, std::vector<plan::Violation>> graph_rules_;  // by cp
  cluster::Cluster resized_;
  int nodes_ = 1;
  Space space_;
};

void add_sharded(const Axes& axes, Sharding sharding, int shard_group, std::vector<StateOption>& options) {
  for (const int prefetch : axes.fsdp_prefetch) {
    for (const int layers : axes.fsdp_layers_per_unit) {
      for (const bool reshard : {true, false}) {
        options.push_back({.sharding = sharding,
                           .fsdp = {.layers_per_unit = layers, .prefetch = prefetch, .reshard_after_forward = reshard, .shard_group = shard_group},
                           .buckets = {}});
      }
    }
  }
}

std::vector<StateOption> with_offload(const Axes& axes, std::vector<StateOption> options) {
  const std::size_t count = options.size();
  for (std::size_t i = 0; axes.offload_optimizer && i < count; ++i) {
    options.push_back(options[i]);
    options.back().offload_optimizer = true;
  }
  return options;
}

}  // namespace

cluster::Cluster resized(cluster::Cluster cluster, int nodes) {
  cluster.nodes = nodes;
  std::erase_if(cluster.faults, [nodes](const cluster::Fault& f) { return f.node >= nodes; });
  return cluster;
}

Axes default_axes(const plan::ModelShape& model, const cluster::Cluster& cluster, const Plan& base, const std::vector<int>& nodes,
                  std::int64_t fixed_micro_batch) {
  std::set<int> tp, pp, cp;
  const std::int64_t layers = std::max<std::int64_t>(1, model.layers);
  for (const int n : nodes) {
    const std::int64_t gpus = static_cast<std::int64_t>(n) * cluster.node.gpus;
    const bool divisible = model.heads > 0 || model.ffn > 0;
    for (const int d : divisors(gpus, divisible ? static_cast<std::int64_t>(kMostTensorNodes) * cluster.node.gpus : 1)) tp.insert(d);
    for (const int d : divisors(gpus, layers)) pp.insert(d);
    for (const int d : divisors(gpus, model.sequence > 0 ? cluster.node.gpus * 2 : 1)) cp.insert(d);
  }
  Axes axes;
  axes.nodes = nodes;
  axes.tp.assign(tp.begin(), tp.end());
  axes.pp.assign(pp.begin(), pp.end());
  axes.cp.assign(cp.begin(), cp.end());
  axes.ep = model.experts > 0 ? divisors(model.experts, model.experts) : std::vector<int>{1};
  for (const int v : divisors(layers, layers)) {
    if (v > 1 && v <= 16) axes.virtual_stages.push_back(v);
  }
  if (fixed_micro_batch > 0) {
    axes.micro_batch = {fixed_micro_batch};
  } else {
    for (std::int64_t b = 1; b <= std::min(kLargestMicroBatch, base.global_batch); b *= 2) axes.micro_batch.push_back(b);
  }
  axes.schedule = {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zero_bubble};
  axes.recompute = {plan::Recompute::none, plan::Recompute::selective, plan::Recompute::full};
  axes.sharding = {Sharding::ddp, Sharding::zero1, Sharding::zero2, Sharding::fsdp, Sharding::hybrid};
  axes.fsdp_prefetch = {1, 2};
  axes.fsdp_layers_per_unit = {1, 2, 4};
  axes.hybrid_nodes = {1, 2, 4, 8};
  axes.buckets = {Bytes(25.0 * 1048576.0), Bytes(100.0 * 1048576.0), Bytes(400.0 * 1048576.0)};
  return axes;
}

Space enumerate(const Axes& axes, const plan::ModelShape& model, const cluster::Cluster& cluster, const Plan& base, const graph::OperatorGraph* graph) {
  return Enumerator(axes, model, cluster, base, graph).run();
}

std::vector<StateOption> state_options(const Axes& axes, const Layout& layout, const cluster::Cluster& cluster) {
  const Plan& p = layout.plan;
  const int replicas = p.dp * p.cp;
  if (replicas == 1) return with_offload(axes, {StateOption{}});
  const bool splits = p.schedule == Schedule::zero_bubble;
  std::vector<StateOption> options;
  for (const Sharding sharding : axes.sharding) {
    switch (sharding) {
      case Sharding::zero2:
        if (p.pp > 1) break;
        [[fallthrough]];
      case Sharding::ddp:
      case Sharding::zero1:
        for (const Bytes bucket : axes.buckets) options.push_back({.sharding = sharding, .fsdp = {}, .buckets = {.bucket = bucket, .overlap = true}});
        break;
      case Sharding::fsdp: add_sharded(axes, sharding, 0, options); break;
      case Sharding::hybrid:
        for (const int nodes : axes.hybrid_nodes) {
          const int group = nodes * std::max(1, cluster.node.gpus / (p.tp * p.cp)) * p.cp;
          if (group >= replicas || replicas % group != 0 || p.dp % group != 0 || group < 2 || group % p.ep != 0) continue;
          add_sharded(axes, sharding, group, options);
        }
        break;
    }
  }
  if (splits) std::erase_if(options, [](const StateOption& option) { return !plan::split_backward_allows(option.sharding, option.fsdp.reshard_after_forward); });
  return with_offload(axes, std::move(options));
}

std::uint64_t plans_of(const Axes& axes, const Layout& layout, const cluster::Cluster& cluster) {
  const std::uint64_t options = state_options(axes, layout, cluster).size();
  return options * (offloads_activations(axes, layout) || balances_stages(axes, layout) ? 2 : 1);
}

bool balances_stages(const Axes& axes, const Layout& layout) { return axes.balanced_stages && layout.plan.pp > 1; }

bool offloads_activations(const Axes& axes, const Layout& layout) {
  return axes.offload_activations && layout.plan.pp == 1 && layout.plan.recompute == plan::Recompute::none;
}

}  // namespace sgsim::search

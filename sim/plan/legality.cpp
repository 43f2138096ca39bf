#include "sim/plan/legality.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>

namespace sgsim::plan {
namespace {

std::string divisors(std::int64_t n) {
  std::vector<std::string> found;
  for (std::int64_t d = 1; d <= n && d <= 128; ++d) {
    if (n % d == 0) found.push_back(std::to_string(d));
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

class Rules {
 public:
  /// `message`: a text, or what makes it: a search asks for many plans and reads few messages.
  template <class Message>
  void require(bool holds, const char* rule, const Message& message) {
    if (holds) return;
    if constexpr (std::is_invocable_v<Message>) {
      violations_.push_back({.rule = rule, .message = message()});
    } else {
      violations_.push_back({.rule = rule, .message = message});
    }
  }
  void divides(std::int64_t size, std::int64_t number, const char* rule, const char* size_name, const char* number_name) {
    if (number == 0) return;
    require(number % size == 0, rule, [&] { return fmt::format("{} {} does not divide {} {}; use one of {}", size_name, size, number, number_name, divisors(number)); });
  }
  std::vector<Violation> take() { return std::move(violations_); }
  [[nodiscard]] bool clean() const { return violations_.empty(); }

 private:
  std::vector<Violation> violations_;
};

void check_sizes(const Plan& p, Rules& rules) {
  const std::pair<const char*, std::int64_t> sizes[] = {
      {"dp", p.dp}, {"tp", p.tp}, {"pp", p.pp}, {"cp", p.cp}, {"ep", p.ep}, {"virtual_stages", p.virtual_stages},
      {"micro_batch", p.micro_batch}, {"global_batch", p.global_batch}};
  for (const auto& [name, value] : sizes) {
    rules.require(value >= 1, "size_positive", [&, name = name, value = value] { return fmt::format("plan.{} is {}; expected at least 1", name, value); });
  }
}

void check_tensor(const ModelShape& m, const Plan& p, Rules& rules) {
  rules.divides(p.tp, m.heads, "tp_divides_heads", "tensor parallel", "attention heads");
  rules.divides(p.tp, m.kv_heads, "tp_divides_kv_heads", "tensor parallel", "key/value heads");
  rules.divides(p.tp, m.ffn, "tp_divides_ffn", "tensor parallel", "feed-forward width");
  if (p.sequence_parallel) {
    rules.require(p.tp > 1, "sequence_parallel_needs_tp", "sequence_parallel is on with tensor parallel 1; it divides activations over the tensor-parallel ranks, so use tp > 1 or turn it off");
    rules.divides(static_cast<std::int64_t>(p.tp) * p.cp, m.sequence, "sp_divides_sequence", "tensor parallel x context parallel", "tokens of a sequence");
  }
  if (p.cp > 1) {
    if (m.sequence > 0) rules.require(m.sequence % (2 * std::int64_t{p.cp}) == 0, "cp_divides_sequence", [&] { return fmt::format("context parallel {} with sequences of {} tokens: each rank takes two equal chunks, so use a cp with {} tokens a multiple of 2 cp", p.cp, m.sequence, m.sequence); });
  }
  if (p.ep > 1) {
    rules.require(m.experts > 0, "ep_needs_experts", [&] { return fmt::format("expert parallel {} on a model without experts; use ep = 1", p.ep); });
    rules.divides(p.ep, m.experts, "ep_divides_experts", "expert parallel", "experts");
    rules.divides(p.ep, static_cast<std::int64_t>(p.dp) * p.cp, "ep_divides_dp", "expert parallel", "data-parallel ranks (experts are spread over them)");
  }
}

void check_pipeline(const ModelShape& m, const Plan& p, Rules& rules) {
  const std::int64_t chunks = static_cast<std::int64_t>(p.pp) * p.virtual_stages;
  if (m.layers > 0) {
    rules.require(chunks <= m.layers, "pp_at_most_layers", [&] { return fmt::format("{} pipeline chunks (pp {} x virtual stages {}) for {} layers; every chunk needs a layer", chunks, p.pp, p.virtual_stages, m.layers); });
  }
  if (p.schedule == Schedule::interleaved) {
    rules.require(p.virtual_stages > 1 && p.pp > 1, "interleaved_needs_chunks", [&] { return fmt::format("the interleaved schedule needs pp > 1 and virtual_stages > 1; found pp {} and virtual_stages {}", p.pp, p.virtual_stages); });
    rules.require(p.micro_batches() % p.pp == 0, "interleaved_micro_batches", [&] { return fmt::format("the interleaved schedule needs micro-batches in multiples of pp {}; found {} (global_batch {} / micro_batch {} / dp {})", p.pp, p.micro_batches(), p.global_batch, p.micro_batch, p.dp); });
  } else {
    rules.require(p.virtual_stages == 1, "chunks_need_interleaved", [&] { return fmt::format("virtual_stages {} needs the interleaved schedule", p.virtual_stages); });
  }
  if (p.schedule == Schedule::zero_bubble) {
    rules.require(p.pp > 1, "zero_bubble_needs_stages", "the zero-bubble schedule with pp 1: there is no bubble to fill; use 1f1b or pp > 1");
    rules.require(split_backward_allows(p.sharding, p.fsdp.reshard_after_forward), "zero_bubble_sharding", "the zero-bubble schedule with ZeRO-2 or with parameters resharded after the forward pass: between the two backward passes of a micro-batch PyTorch's pipeline stages keep units gathered and gradients whole; use ddp, zero1, fsdp with fsdp.reshard_after_forward false, or 1f1b");
  }
  rules.require(!(p.sharding == Sharding::zero2 && p.pp > 1), "zero2_with_pipeline", [&] { return fmt::format("ZeRO-2 with pipeline parallel {}: each rank keeps its part of the gradients only, so all {} micro-batches would be reduced one by one, which DeepSpeed's pipeline engine refuses; use zero1 (the same optimizer memory) or fsdp", p.pp, p.micro_batches()); });
  if (!p.stage_layers.empty()) {
    rules.require(static_cast<std::int64_t>(p.stage_layers.size()) == chunks, "stage_layers_count", [&] { return fmt::format("stage_layers has {} entries; expected {} (pp {} x virtual stages {})", p.stage_layers.size(), chunks, p.pp, p.virtual_stages); });
    const std::int64_t sum = std::accumulate(p.stage_layers.begin(), p.stage_layers.end(), std::int64_t{0});
    rules.require(sum == m.layers, "stage_layers_sum", [&] { return fmt::format("stage_layers sum to {}; the model has {} layers", sum, m.layers); });
    const bool all_positive = std::all_of(p.stage_layers.begin(), p.stage_layers.end(), [](int n) { return n >= 1; });
    rules.require(all_positive, "stage_layers_positive", "every entry of stage_layers must be at least 1");
  }
}

void check_recompute(const ModelShape& m, const Plan& p, const cluster::Cluster& c, Rules& rules) {
  rules.require(!p.offload.any() || c.node.pcie.bandwidth.value() > 0.0, "offload_needs_host_link", "offload to host memory, and the cluster states no node.pcie.bandwidth");
  rules.require(p.recompute_layers >= 0, "recompute_layers", [&] { return fmt::format("recompute_layers is {}; expected 0 (all) or the layers of each chunk that are recomputed", p.recompute_layers); });
  if (p.recompute_layers > 0) {
    rules.require(p.recompute != Recompute::none, "recompute_layers", [&] { return fmt::format("recompute_layers is {} with recompute none; say selective or full, or leave it out", p.recompute_layers); });
    const std::int64_t chunks = static_cast<std::int64_t>(p.pp) * p.virtual_stages;
    const std::int64_t fewest = p.stage_layers.empty() ? m.layers / chunks : *std::min_element(p.stage_layers.begin(), p.stage_layers.end());
    rules.require(p.recompute_layers <= fewest, "recompute_layers", [&] { return fmt::format("recompute_layers is {}; the smallest of {} chunks has {} layers", p.recompute_layers, chunks, fewest); });
  }
  if (p.offload.activations) {
    rules.require(p.pp == 1, "offload_with_pipeline", [&] { return fmt::format("activation offload with pipeline parallel {}: Megatron-LM refuses it (cpu_offloading), and copies of several micro-batches in flight are not modelled; use pp = 1", p.pp); });
    rules.require(p.recompute == Recompute::none, "offload_with_recompute", "activation offload with recomputation: Megatron-LM refuses it (cpu_offloading); use recompute none");
  }
}

void check_batch(const Plan& p, Rules& rules) {
  const std::int64_t per_round = p.micro_batch * p.dp;
  rules.require(p.global_batch % per_round == 0, "batch_divides", [&] { return fmt::format("global_batch {} is no multiple of micro_batch {} x dp {} = {}", p.global_batch, p.micro_batch, p.dp, per_round); });
}

void check_sharding(const Plan& p, const cluster::Cluster& c, Rules& rules) {
  if (p.sharding == Sharding::fsdp || p.sharding == Sharding::hybrid) {
    rules.require(p.fsdp.layers_per_unit >= 1, "fsdp_unit", [&] { return fmt::format("fsdp.layers_per_unit is {}; expected at least 1", p.fsdp.layers_per_unit); });
    rules.require(p.fsdp.prefetch >= 0, "fsdp_prefetch", [&] { return fmt::format("fsdp.prefetch is {}; expected 0 or more", p.fsdp.prefetch); });
  }
  if (p.sharding == Sharding::hybrid) {
    const int per_node = std::max(1, c.node.gpus / (p.tp * p.cp));
    const int data = p.dp * p.cp;
    const int shard = p.fsdp.shard_group > 0 ? p.fsdp.shard_group : std::min(per_node * p.cp, data);
    rules.require(shard % p.ep == 0, "hybrid_ep_divides_group", [&] { return fmt::format("expert parallel {} does not divide hybrid shard groups of {} ranks: each group holds all experts once; use a larger fsdp.shard_group", p.ep, shard); });
    rules.require(shard > 1 || data == 1, "hybrid_group", [&] { return fmt::format("hybrid shard groups of 1 rank among {} data-parallel ranks shard nothing; use ddp, or fsdp.shard_group > 1", data); });
    rules.require(data % shard == 0, "hybrid_divides_dp", [&] { return fmt::format("hybrid shard groups of {} do not divide dp {} x cp {} = {}", shard, p.dp, p.cp, data); });
  }
}

}  // namespace

bool split_backward_allows(Sharding sharding, bool reshard_after_forward) {
  const bool sharded = sharding == Sharding::fsdp || sharding == Sharding::hybrid;
  return sharded ? !reshard_after_forward : sharding != Sharding::zero2;
}

std::vector<Violation> check_plan(const ModelShape& model, const Plan& plan, const cluster::Cluster& cluster) {
  Rules sizes;
  check_sizes(plan, sizes);
  if (!sizes.clean()) return sizes.take();  // the other rules divide by these
  Rules rules;
  rules.require(plan.world() == cluster.gpus(), "world_size", [&] { return fmt::format("dp {} x tp {} x pp {} x cp {} = {} ranks on {} GPUs ({} node{} of {}); every GPU takes one rank", plan.dp, plan.tp, plan.pp, plan.cp, plan.world(), cluster.gpus(), cluster.nodes, cluster.nodes == 1 ? "" : "s", cluster.node.gpus); });
  check_tensor(model, plan, rules);
  check_batch(plan, rules);
  check_recompute(model, plan, cluster, rules);
  check_pipeline(model, plan, rules);
  check_sharding(plan, cluster, rules);
  return rules.take();
}

std::vector<Note> plan_notes(const ModelShape& model, const Plan& plan, const cluster::Cluster& cluster) {
  std::vector<Note> notes;
  const auto chunks = chunk_layers(model, plan);
  if (model.layers > 0 && plan.pp > 1) {
    std::vector<int> by_stage(static_cast<std::size_t>(plan.pp), 0);
    for (std::size_t i = 0; i < chunks.size(); ++i) by_stage[i % by_stage.size()] += chunks[i];
    const int most = *std::max_element(by_stage.begin(), by_stage.end());
    const double mean = static_cast<double>(model.layers) / plan.pp;
    if (most > mean) {
      notes.push_back({.rule = "uneven_stages", .message = fmt::format("{} layers over {} stages: the fullest has {} against {:.4g} on average, which adds up to {:.1f} % to the layers' time", model.layers, plan.pp, most, mean, (most / mean - 1.0) * 100.0)});
    }
  }
  if (plan.offload.any()) notes.push_back({.rule = "host_memory", .message = "what is offloaded must fit in host memory, which cluster files do not state: not checked"});
  if (plan.offload.optimizer) notes.push_back({.rule = "host_update", .message = "the host's update is priced at DeepSpeed's CPU-Adam on a DGX-2 (Ren et al. 2021); newer hosts are faster"});
  if (plan.tp > cluster.node.gpus) {
    notes.push_back({.rule = "tp_across_nodes", .message = fmt::format("tensor parallel {} spans {} nodes: its collectives run over the NICs", plan.tp, (plan.tp + cluster.node.gpus - 1) / cluster.node.gpus)});
  }
  return notes;
}

std::vector<int> chunk_layers(const ModelShape& model, const Plan& plan) {
  if (!plan.stage_layers.empty()) return plan.stage_layers;
  const auto chunks = static_cast<std::int64_t>(plan.pp) * plan.virtual_stages;
  std::vector<int> layers;
  for (std::int64_t i = 0; i < chunks; ++i) layers.push_back(static_cast<int>(model.layers / chunks + (i < model.layers % chunks ? 1 : 0)));
  return layers;
}

}  // namespace sgsim::plan

#include "sim/scenario/variants.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/exact_text.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/names.h"
#include "sim/scenario/read.h"

namespace sgsim::scenario {
namespace {

using plan::Recompute;
using plan::Schedule;
using plan::Sharding;

class Collector {
 public:
  explicit Collector(const Scenario& scenario) : s_(scenario) {}

  void sizes() {
    const plan::Plan& p = s_.plan;
    size("tp", p.tp, s_.cluster.node.gpus);
    size("pp", p.pp, s_.cluster.gpus());
    if (p.cp > 1 || s_.model.sequence >= 16384) size("cp", p.cp, s_.cluster.gpus());
    if (s_.model.kind == ModelKind::config) {
      for (const std::int64_t factor : {2, 4}) micro_batch(p.micro_batch * factor);
      if (p.micro_batch % 2 == 0) add(VariantKind::plan, fmt::format("micro-batch {}", p.micro_batch / 2), {{"plan.micro_batch", std::to_string(p.micro_batch / 2)}});
    }
  }

  void recompute() {
    for (const auto& [word, value] : words::kRecompute) {
      if (value == s_.plan.recompute) continue;
      std::vector<Setting> settings = {{"plan.recompute", std::string(word)}};
      if (value == Recompute::none && s_.plan.recompute_layers > 0) settings.push_back({"plan.recompute_layers", "null"});
      add(VariantKind::plan, fmt::format("recompute {}", word), std::move(settings));
    }
  }

  void sharding() {
    const plan::Plan& p = s_.plan;
    if (p.dp == 1) return;
    for (const auto& [word, value] : words::kSharding) {
      if (value != p.sharding) add(VariantKind::plan, fmt::format("sharding {}", word), {{"plan.sharding", std::string(word)}});
    }
    if (p.sharding == Sharding::fsdp || p.sharding == Sharding::hybrid) {
      add(VariantKind::plan, fmt::format("FSDP prefetch {}", p.fsdp.prefetch + 1), {{"plan.fsdp.prefetch", std::to_string(p.fsdp.prefetch + 1)}});
      add(VariantKind::plan, fmt::format("FSDP units of {} layers", 2 * p.fsdp.layers_per_unit), {{"plan.fsdp.layers_per_unit", std::to_string(2 * p.fsdp.layers_per_unit)}});
      const bool flip = !p.fsdp.reshard_after_forward;
      add(VariantKind::plan, flip ? "FSDP reshard after forward" : "FSDP keep parameters after forward", {{"plan.fsdp.reshard_after_forward", flip ? "true" : "false"}});
    } else {
      for (const double factor : {4.0, 0.25}) {
        const Bytes bucket = p.buckets.bucket * factor;
        add(VariantKind::plan, fmt::format("gradient buckets of {}", exact_text(bucket)), {{"plan.buckets.bucket", exact_text(bucket)}});
      }
      if (!p.buckets.overlap) add(VariantKind::plan, "overlap gradient reduction", {{"plan.buckets.overlap", "true"}});
    }
  }

  void pipeline() {
    const plan::Plan& p = s_.plan;
    if (p.pp == 1) return;
    for (const int chunks : {1, 2, 4}) {
      if (chunks == p.virtual_stages) continue;
      const std::string name = chunks == 1 ? "1F1B, not interleaved" : fmt::format("interleaved 1F1B with {} chunks a stage", chunks);
      add(VariantKind::plan, name, {{"plan.schedule", chunks == 1 ? "1f1b" : "interleaved"}, {"plan.virtual_stages", std::to_string(chunks)}});
    }
    if (p.schedule == Schedule::gpipe) add(VariantKind::plan, "1F1B", {{"plan.schedule", "1f1b"}});
  }

  void tensor() {
    if (s_.plan.tp == 1) return;
    const bool flip = !s_.plan.sequence_parallel;
    add(VariantKind::plan, flip ? "sequence parallel on" : "sequence parallel off", {{"plan.sequence_parallel", flip ? "true" : "false"}});
  }

  void execution() {
    for (const auto& [word, value] : words::kExecution) {
      if (value != s_.training.execution) add(VariantKind::execution, fmt::format("execution {}", word), {{"training.execution", std::string(word)}});
    }
    if (!s_.training.optimizer_fused) add(VariantKind::execution, "fused optimizer", {{"training.optimizer_fused", "true"}});
    if (s_.model.kind == ModelKind::config && s_.model.attention == AttentionStyle::unfused) {
      add(VariantKind::execution, "flash attention", {{"model.attention", "flash"}});
    }
    if (s_.training.gradient_dtype == graph::DType::float32 && s_.plan.dp > 1) {
      add(VariantKind::execution, "gradients reduced in bfloat16", {{"training.gradient_dtype", "bfloat16"}});
    }
  }

  void batch() {
    add(VariantKind::batch, fmt::format("global batch {}", 2 * s_.plan.global_batch), {{"plan.global_batch", std::to_string(2 * s_.plan.global_batch)}});
  }

  void hardware() {
    const cluster::Cluster& c = s_.cluster;
    if (c.nodes > 1) {
      add(VariantKind::hardware, fmt::format("NICs twice as fast ({})", exact_text(c.node.nic.bandwidth * 2.0)), {{"cluster.node.nic.bandwidth", exact_text(c.node.nic.bandwidth * 2.0)}});
      if (c.fabric.oversubscription > 1.0) add(VariantKind::hardware, "no oversubscription", {{"cluster.fabric.oversubscription", "1"}});
    }
    if (c.node.gpus > 1 && c.node.intra != cluster::IntraNode::pcie) {
      add(VariantKind::hardware, fmt::format("NVLink twice as fast ({})", exact_text(c.node.nvlink.bandwidth * 2.0)), {{"cluster.node.nvlink.bandwidth", exact_text(c.node.nvlink.bandwidth * 2.0)}});
    }
    if (!c.faults.empty()) add(VariantKind::hardware, "all faults mended", {{"cluster.faults", "[]"}});
  }

  std::vector<Variant> take() { return std::move(variants_); }
  void add(VariantKind kind, std::string name, std::vector<Setting> settings) { variants_.push_back({kind, std::move(name), std::move(settings)}); }

 private:
  /// Where the global batch is no multiple of what a round takes it has to grow too, which alters training.
  void micro_batch(std::int64_t size) {
    const plan::Plan& p = s_.plan;
    const std::int64_t round = size * p.dp;
    std::vector<Setting> settings = {{"plan.micro_batch", std::to_string(size)}};
    if (p.global_batch % round == 0) {
      add(VariantKind::plan, fmt::format("micro-batch {}", size), std::move(settings));
      return;
    }
    const std::int64_t batch = (p.global_batch / round + 1) * round;
    settings.push_back({"plan.global_batch", std::to_string(batch)});
    add(VariantKind::batch, fmt::format("micro-batch {}, global batch {}", size, batch), std::move(settings));
  }

  /// One step up and down, with data parallelism taking what is left. Stated stage layers belong to the old sizes.
  void size(const std::string& key, int value, int most) {
    for (const int other : {2 * value, value / 2}) {
      if (other < 1 || other > most || (other < value && value % 2 != 0)) continue;
      std::vector<Setting> settings = {{"plan." + key, std::to_string(other)}, {"plan.dp", "fill"}};
      const bool off = key == "tp" && other == 1 && s_.plan.sequence_parallel;
      if (off) settings.push_back({"plan.sequence_parallel", "false"});
      if (key == "tp" && value == 1) settings.push_back({"plan.sequence_parallel", "true"});
      if (key == "pp" && other == 1 && s_.plan.schedule == Schedule::interleaved) {
        settings.push_back({"plan.schedule", "1f1b"});
        settings.push_back({"plan.virtual_stages", "1"});
      }
      if (key == "pp" && !s_.plan.stage_layers.empty()) settings.push_back({"plan.stage_layers", "[]"});
      const std::string name = key == "tp" ? "tensor" : key == "pp" ? "pipeline" : "context";
      add(VariantKind::plan, fmt::format("{} parallel {}", name, other), std::move(settings));
    }
  }

  const Scenario& s_;
  std::vector<Variant> variants_;
};

std::vector<Variant> memory_singles(const Scenario& s) {
  Collector c(s);
  const plan::Plan& p = s.plan;
  if (p.sharding == Sharding::ddp && p.dp > 1) c.add(VariantKind::plan, "sharding zero1", {{"plan.sharding", "zero1"}});
  if (p.dp > 1 && p.sharding != Sharding::fsdp) c.add(VariantKind::plan, "sharding fsdp", {{"plan.sharding", "fsdp"}});
  if (p.sharding == Sharding::fsdp && !p.fsdp.reshard_after_forward) c.add(VariantKind::plan, "FSDP reshard after forward", {{"plan.fsdp.reshard_after_forward", "true"}});
  if (p.recompute == Recompute::none) c.add(VariantKind::plan, "recompute selective", {{"plan.recompute", "selective"}});
  if (p.recompute != Recompute::full) c.add(VariantKind::plan, "recompute full", {{"plan.recompute", "full"}});
  if (p.tp > 1 && !p.sequence_parallel) c.add(VariantKind::plan, "sequence parallel on", {{"plan.sequence_parallel", "true"}});
  if (p.micro_batch > 1 && s.model.kind == ModelKind::config) c.add(VariantKind::plan, "micro-batch 1", {{"plan.micro_batch", "1"}});
  for (const int factor : {2, 4, 8}) {
    if (p.tp * factor > s.cluster.node.gpus) break;
    c.add(VariantKind::plan, fmt::format("tensor parallel {}", p.tp * factor), {{"plan.tp", std::to_string(p.tp * factor)}, {"plan.dp", "fill"}, {"plan.sequence_parallel", "true"}});
  }
  for (const int factor : {2, 4, 8}) {
    if (p.pp * factor > s.cluster.gpus()) break;
    c.add(VariantKind::plan, fmt::format("pipeline parallel {}", p.pp * factor), {{"plan.pp", std::to_string(p.pp * factor)}, {"plan.dp", "fill"}});
  }
  return c.take();
}

}  // namespace

std::vector<Variant> variants_of(const Scenario& scenario) {
  Collector c(scenario);
  c.sizes();
  c.recompute();
  c.sharding();
  c.pipeline();
  c.tensor();
  c.execution();
  c.batch();
  c.hardware();
  return c.take();
}

std::optional<Variant> both(const Variant& a, const Variant& b) {
  for (const Setting& one : a.settings) {
    for (const Setting& other : b.settings) {
      if (one.path == other.path && one.value != other.value) return std::nullopt;
    }
  }
  Variant pair = a;
  pair.kind = std::max(a.kind, b.kind);
  pair.name += " and " + b.name;
  for (const Setting& other : b.settings) {
    if (std::find(pair.settings.begin(), pair.settings.end(), other) == pair.settings.end()) pair.settings.push_back(other);
  }
  return pair;
}

std::vector<Variant> memory_variants_of(const Scenario& scenario) {
  std::vector<Variant> variants = memory_singles(scenario);
  const std::size_t singles = variants.size();
  for (std::size_t a = 0; a < singles; ++a) {
    for (std::size_t b = a + 1; b < singles; ++b) {
      if (auto pair = both(variants[a], variants[b])) variants.push_back(std::move(*pair));
    }
  }
  return variants;
}

std::string flags_text(const Variant& variant) {
  std::string text;
  for (const Setting& setting : variant.settings) {
    const bool quote = setting.value.find_first_of(" []*\"") != std::string::npos;
    text += fmt::format("{}--set {}={}{}{}", text.empty() ? "" : " ", setting.path, quote ? "'" : "", setting.value, quote ? "'" : "");
  }
  return text;
}

Scenario with(const Scenario& scenario, const Variant& variant) {
  return scenario_from_text(effective_text(scenario), scenario.file, "/", variant.settings);
}

}  // namespace sgsim::scenario

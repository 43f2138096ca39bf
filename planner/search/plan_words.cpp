#include "planner/search/plan_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/units_text.h"
#include "sim/scenario/exact_text.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/names.h"
#include "sim/scenario/variants.h"

namespace sgsim::search {
namespace {

namespace words = scenario::words;
using plan::Sharding;

std::string_view word(Sharding s) { return scenario::name_of<Sharding>(words::kSharding, s); }
std::string_view word(plan::Schedule s) { return scenario::name_of<plan::Schedule>(words::kSchedule, s); }
std::string_view word(plan::Recompute r) { return scenario::name_of<plan::Recompute>(words::kRecompute, r); }

/// "stages of 4 to 6 layers".
std::string stages_text(const plan::Plan& p) {
  if (p.stage_layers.empty()) return "";
  std::vector<int> stages(static_cast<std::size_t>(p.pp), 0);
  for (std::size_t g = 0; g < p.stage_layers.size(); ++g) stages[g % stages.size()] += p.stage_layers[g];
  const auto [least, most] = std::minmax_element(stages.begin(), stages.end());
  return fmt::format(" (stages of {} to {} layers)", *least, *most);
}

std::string list_text(const std::vector<int>& layers) { return layers.empty() ? "null" : fmt::format("[{}]", fmt::join(layers, ", ")); }

bool sharded(const plan::Plan& p) { return p.sharding == Sharding::fsdp || p.sharding == Sharding::hybrid; }

std::string state_text(const plan::Plan& p) {
  if (p.dp * p.cp == 1) return "";
  std::string text = fmt::format(" {}", word(p.sharding));
  if (sharded(p)) {
    if (p.sharding == Sharding::hybrid) text += fmt::format(" groups of {}", p.fsdp.shard_group);
    std::string options;
    const auto add = [&](std::string option) { options += (options.empty() ? "" : ", ") + std::move(option); };
    if (p.fsdp.layers_per_unit != 1) add(fmt::format("units of {} layers", p.fsdp.layers_per_unit));
    if (p.fsdp.prefetch != 1) add(fmt::format("prefetch {}", p.fsdp.prefetch));
    if (!p.fsdp.reshard_after_forward) add("kept after forward");
    return options.empty() ? text : text + " (" + options + ")";
  }
  return text + (p.buckets.bucket.value() > 0.0 ? fmt::format(" ({} buckets)", to_text(p.buckets.bucket)) : " (one bucket)");
}

}  // namespace

std::string short_text(const Candidate& c) {
  const plan::Plan& p = c.plan;
  std::string text;
  if (p.tp > 1) text += fmt::format("tp {}{}, ", p.tp, p.sequence_parallel ? " sp" : "");
  if (p.cp > 1) text += fmt::format("cp {}, ", p.cp);
  if (p.pp > 1) text += fmt::format("pp {} {}{}{}, ", p.pp, word(p.schedule), p.virtual_stages > 1 ? fmt::format(" x{}", p.virtual_stages) : "", stages_text(p));
  text += fmt::format("dp {}{}", p.dp, state_text(p));
  if (p.ep > 1) text += fmt::format(", ep {}", p.ep);
  text += fmt::format(", micro-batch {} x {}, recompute {}", p.micro_batch, p.micro_batches(), word(p.recompute));
  if (p.recompute_layers > 0) text += fmt::format(" in {} layer{}{}", p.recompute_layers, p.recompute_layers == 1 ? "" : "s", p.virtual_stages > 1 ? " of each chunk" : p.pp > 1 ? " of each stage" : "");
  if (p.offload.any()) text += fmt::format(", offload {}{}{}", p.offload.optimizer ? "optimizer" : "", p.offload.optimizer && p.offload.activations ? " and " : "", p.offload.activations ? "activations" : "");
  return text;
}

std::vector<scenario::Setting> settings_of(const Candidate& c) {
  const plan::Plan& p = c.plan;
  const auto number = [](auto n) { return std::to_string(n); };
  const auto flag = [](bool b) { return std::string(b ? "true" : "false"); };
  std::vector<scenario::Setting> settings = {
      {"cluster.nodes", number(c.nodes)}, {"plan.dp", number(p.dp)}, {"plan.tp", number(p.tp)}, {"plan.pp", number(p.pp)}, {"plan.cp", number(p.cp)}, {"plan.ep", number(p.ep)},
      {"plan.sharding", std::string(word(p.sharding))}, {"plan.sequence_parallel", flag(p.sequence_parallel)}, {"plan.schedule", std::string(word(p.schedule))},
      {"plan.virtual_stages", number(p.virtual_stages)}, {"plan.micro_batch", number(p.micro_batch)}, {"plan.recompute", std::string(word(p.recompute))}, {"plan.stage_layers", list_text(p.stage_layers)},
      {"plan.recompute_layers", p.recompute_layers > 0 ? number(p.recompute_layers) : "null"}, {"plan.offload.optimizer", flag(p.offload.optimizer)}, {"plan.offload.activations", flag(p.offload.activations)}};
  if (sharded(p)) {
    settings.push_back({"plan.fsdp.layers_per_unit", number(p.fsdp.layers_per_unit)});
    settings.push_back({"plan.fsdp.prefetch", number(p.fsdp.prefetch)});
    settings.push_back({"plan.fsdp.reshard_after_forward", flag(p.fsdp.reshard_after_forward)});
    settings.push_back({"plan.fsdp.shard_group", p.fsdp.shard_group > 0 ? number(p.fsdp.shard_group) : "null"});
  } else if (p.dp * p.cp > 1 && p.buckets.bucket.value() > 0.0) {  // one rank has no buckets
    settings.push_back({"plan.buckets.bucket", scenario::exact_text(p.buckets.bucket)});
    settings.push_back({"plan.buckets.overlap", flag(p.buckets.overlap)});
  }
  return settings;
}

std::string flags_text(const Candidate& candidate, const std::vector<scenario::Setting>& asked) {
  const std::vector<scenario::Setting> own = settings_of(candidate);
  std::vector<scenario::Setting> settings;
  for (const scenario::Setting& a : asked) {
    const bool replaced = std::any_of(own.begin(), own.end(), [&](const scenario::Setting& s) { return s.path == a.path; });
    if (!replaced && a.path.rfind("engine", 0) != 0) settings.push_back(a);
  }
  settings.insert(settings.end(), own.begin(), own.end());
  return scenario::flags_text({.kind = scenario::VariantKind::plan, .name = "", .settings = settings});
}

}  // namespace sgsim::search

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/search/plan_words.h"
#include "planner/search/report.h"
#include "sim/lower/binding/layout.h"

namespace sgsim::search {
namespace {

using nlohmann::ordered_json;

ordered_json number_or_null(const std::optional<double>& value) { return value ? ordered_json(*value) : ordered_json(nullptr); }

/// `gpu_memory`: of the machine that the plan is for.
ordered_json found_json(const ReportInput& in, const Found& f, Bytes gpu_memory) {
  const int gpus = f.candidate.nodes * in.scenario.cluster.node.gpus;
  ordered_json settings = ordered_json::object();
  for (const scenario::Setting& s : settings_of(f.candidate)) settings[s.path] = s.value;
  return {{"plan", short_text(f.candidate)},
          {"settings", settings},
          {"gpus", gpus},
          {"step_time_s", f.figures().step_time.value()},
          {"simulated", f.exact.has_value()},
          {"estimated_step_time_s", f.estimate.step_time.value()},
          {"reserved_memory_bytes", f.figures().reserved.value()},
          {"needed_memory_bytes", f.figures().needed.value()},
          {"memory_headroom_bytes", (gpu_memory - f.figures().needed).value()},
          {"cost_per_sample", number_or_null(cost_per_sample(in.options.economics, gpus, f.figures().step_time, f.candidate.plan.global_batch))},
          {"cost_per_million_tokens", in.tokens_a_sample > 0 && in.options.economics.price ? ordered_json(1e6 * *cost_per_sample(in.options.economics, gpus, f.figures().step_time, f.candidate.plan.global_batch) / static_cast<double>(in.tokens_a_sample)) : ordered_json(nullptr)},
          {"useful_share", number_or_null(useful_share(in.options.economics, gpus))},
          {"score", f.score}};
}

/// Where each rank of the best plan sits under the fastest order.
ordered_json ranks_json(const plan::Plan& plan, const std::vector<PlacementTime>& placement, int gpus_a_node) {
  const auto fastest = std::min_element(placement.begin(), placement.end(), [](const PlacementTime& a, const PlacementTime& b) { return a.step_time < b.step_time; });
  const std::vector<GpuId> gpus = placement_of(plan, fastest->order);
  ordered_json ranks = ordered_json::array();
  for (std::uint32_t r = 0; r < gpus.size(); ++r) {
    const lower::Coordinates at = lower::coordinates_of(plan, RankId{r});
    const auto gpu = static_cast<int>(gpus[r].value);
    ranks.push_back({{"rank", r}, {"tp", at.tp}, {"cp", at.cp}, {"dp", at.dp}, {"pp", at.pp}, {"node", gpu / gpus_a_node}, {"gpu", gpu % gpus_a_node}});
  }
  return ranks;
}

}  // namespace

std::string json_report(const ReportInput& in) {
  const SearchResult& r = in.result;
  const Bytes capacity = in.scenario.cluster.node.gpu.memory;
  ordered_json out = {{"schema_version", 1}, {"scenario", in.scenario.file}, {"complete", r.complete}};
  constexpr const char* kObjectives[] = {"time", "cost", "goodput", "memory"};
  out["objective"] = kObjectives[static_cast<std::size_t>(in.options.objective)];
  out["currency"] = in.options.economics.price ? ordered_json(in.options.economics.currency) : ordered_json(nullptr);
  out["asked"] = ordered_json::array();
  for (const scenario::Setting& s : in.asked) out["asked"].push_back({{"path", s.path}, {"value", s.value}});
  out["checker"] = {{"accepted", in.accepted}, {"refused", 0}};  // a refused one is never printed
  out["counts"] = {{"considered", r.considered}, {"legal", r.legal}, {"estimated", r.estimated}, {"fitting", r.fitting}, {"timed", r.timed}, {"simulated", r.simulated}, {"too_long_to_simulate", r.too_long}};
  out["wall"] = {{"enumerate_s", r.enumerate_s}, {"estimate_s", r.estimate_s}, {"exact_s", r.exact_s}, {"threads", in.options.threads}, {"layer_models", r.layer_costs}};
  out["memory_rule"] = {{"capacity_bytes", capacity.value()}, {"margin", in.options.memory_margin}};
  out["largest_estimate_error"] = r.simulated > 0 ? ordered_json(r.largest_estimate_error) : ordered_json(nullptr);
  out["best"] = ordered_json::array();
  for (std::size_t i = 0; i < std::min(in.top, r.ranked.size()); ++i) out["best"].push_back(found_json(in, r.ranked[i], capacity));
  for (const auto& [index, seconds] : in.reference) {
    if (index < out["best"].size() && seconds >= 0.0) out["best"][index]["simgrid_step_time_s"] = seconds;
  }
  const Found* second = runner_up(r);
  out["runner_up"] = second != nullptr ? found_json(in, *second, capacity) : ordered_json(nullptr);
  out["pareto_front"] = ordered_json::array();
  for (const Found& f : r.front) out["pareto_front"].push_back(found_json(in, f, capacity));
  out["what_if"] = ordered_json::array();
  for (const WhatIf& w : in.what_if) {
    out["what_if"].push_back({{"change", w.change},
                              {"not_asked", w.not_asked.empty() ? ordered_json(nullptr) : ordered_json(w.not_asked)},
                              {"complete", w.not_asked.empty() && w.complete},
                              {"best", w.best ? found_json(in, *w.best, w.gpu_memory) : ordered_json(nullptr)},
                              {"step_time_change", w.best ? ordered_json(w.best->figures().step_time / r.ranked.front().figures().step_time - 1.0) : ordered_json(nullptr)},
                              {"same_plan_step_time_s", w.same ? ordered_json(w.same->step_time.value()) : ordered_json(nullptr)},
                              {"why_not_same", w.why_not_same.empty() ? ordered_json(nullptr) : ordered_json(w.why_not_same)}});
  }
  if (!in.placement.empty()) {
    out["placement"] = ordered_json::array();
    const plan::Plan& best = r.ranked.front().candidate.plan;
    for (const PlacementTime& t : in.placement) out["placement"].push_back({{"order", order_text(best, t.order)}, {"gpu_of_rank", gpu_text(best, t.order)}, {"step_time_s", t.step_time.value()}});
    out["ranks"] = ranks_json(best, in.placement, in.scenario.cluster.node.gpus);
  }
  out["fell_out"] = ordered_json::object();
  for (const auto& [rule, rejection] : r.rejections) out["fell_out"][rule] = {{"plans", rejection.plans}, {"example", rejection.example}};
  return out.dump(2) + "\n";
}

}  // namespace sgsim::search

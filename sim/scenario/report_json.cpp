#include <nlohmann/json.hpp>

#include "sim/scenario/interval.h"
#include "sim/scenario/labels.h"
#include "sim/scenario/pretty_json.h"
#include "sim/scenario/report.h"

namespace sgsim::scenario {
namespace {

using json = nlohmann::ordered_json;

json of(const SourceShares& shares) {
  json j = json::object();
  for (std::size_t s = 0; s < kSources; ++s) j[std::string(label(static_cast<cost::Source>(s)))] = shares.share[s];
  return j;
}

json of(const std::vector<NamedTime>& times) {
  json list = json::array();
  for (const NamedTime& t : times) list.push_back({{"name", t.name}, {"time_s", t.time.value()}, {"launches", t.launches}});
  return list;
}

json of(const ClassResult& c) {
  json j = {{"name", c.name},
            {"ranks", c.ranks},
            {"example_rank", c.example.value},
            {"compute_s", c.time.compute.value()},
            {"exposed_comm_s", c.time.exposed_comm.value()},
            {"overlapped_comm_s", c.time.overlapped_comm.value()},
            {"bubble_s", c.time.bubble.value()},
            {"host_bound_s", c.time.host_bound.value()},
            {"end_s", c.time.end.value()},
            {"peak_mem_bytes", c.peak.value()},
            {"graph_pool_bytes", c.graph_pool.value()},
            {"reserved_mem_bytes", c.reserved.value()}};
  for (std::size_t k = 0; k < lower::kMemoryClasses; ++k) j["mem_at_peak_bytes"][std::string(label(static_cast<lower::MemoryClass>(k)))] = c.at_peak[k].value();
  j["live_at_peak"] = json::array();
  for (const auto& [name, bytes] : c.live_at_peak) j["live_at_peak"].push_back({{"name", name}, {"bytes", bytes.value()}});
  return j;
}

/// Columns rather than points: time, then bytes of each kind from that time on.
json memory_over_time(const Result& r) {
  json j = {{"class", r.memory_curve_of}, {"time_s", json::array()}};
  for (std::size_t k = 0; k < lower::kMemoryClasses; ++k) j[std::string(label(static_cast<lower::MemoryClass>(k)))] = json::array();
  for (const auto& [time, by_class] : r.memory_curve) {
    j["time_s"].push_back(time.value());
    for (std::size_t k = 0; k < lower::kMemoryClasses; ++k) j[std::string(label(static_cast<lower::MemoryClass>(k)))].push_back(by_class[k].value());
  }
  return j;
}

json of(const Interval& interval) {
  json j = {{"confidence", 0.9}, {"relative", interval.relative}, {"low_s", interval.low.value()}, {"high_s", interval.high.value()}};
  for (const auto& [name, sigma] : interval.parts) j["standard_errors"][name] = sigma;
  j["assumptions"] = interval_assumptions();
  return j;
}

json of(const Diagnostics& diagnostics) {
  constexpr const char* kSeverities[] = {"info", "warning", "error"};
  json list = json::array();
  for (const auto& [key, d] : diagnostics.entries()) {
    list.push_back({{"key", key}, {"severity", kSeverities[static_cast<std::size_t>(d.severity)]}, {"count", d.count}, {"example", d.example}});
  }
  return list;
}

json of(const std::vector<Remedy>& remedies) {
  json list = json::array();
  for (const Remedy& remedy : remedies) {
    json set = json::array();
    for (const Setting& s : remedy.variant.settings) set.push_back(s.path + "=" + s.value);
    list.push_back({{"name", remedy.variant.name}, {"set", set}, {"reserved_mem_bytes", remedy.reserved.value()}});
  }
  return list;
}

void add_times(json& j, const Result& r) {
  j["step_time_s"] = r.step_time.value();
  j["interval"] = of(r.interval);
  j["tokens_per_s"] = r.tokens_per_second;
  j["samples_per_s"] = r.samples_per_second;
  j["mfu"] = r.mfu;
  j["hfu"] = r.hfu;
  j["mfu_formula"] = "model FLOPs / (step time x GPUs x peak rate) = " + mfu_formula(r);
  j["model_flops"] = r.model_flops.value();
  j["hardware_flops"] = r.hardware_flops.value();
  j["peak_flops_per_s"] = r.peak_rate.value();
  j["compute_s"] = r.compute.value();
  j["exposed_comm_s"] = r.exposed_comm.value();
  j["overlapped_comm_s"] = r.overlapped_comm.value();
  j["bubble_s"] = r.bubble.value();
  j["host_bound_s"] = r.host_bound.value();
  j["other_idle_s"] = r.other_idle.value();
  j["sources"] = {{"compute_s", of(r.compute_sources)}, {"exposed_comm_s", of(r.comm_sources)}, {"host_bound_s", of(r.host_sources)},
                  {"peak_mem_bytes", "computed from shapes and liveness; the runtime's own part is the profile's"}};
}

}  // namespace

std::string json_report(const Scenario& scenario, const Inputs& inputs, const Result& r, Seconds wall,
                        const std::vector<Remedy>& remedies) {
  json j;
  j["schema_version"] = 1;
  j["scenario"] = scenario.file;
  j["model"] = inputs.model;
  j["plan"] = plan_text(scenario.plan);
  add_times(j, r);
  j["fits"] = r.fits;
  j["peak_mem_bytes"] = r.peak_memory.value();
  j["reserved_mem_bytes"] = r.reserved_memory.value();
  j["capacity_bytes"] = r.capacity.value();
  if (!r.memory_curve.empty()) j["memory_curve_bytes"] = memory_over_time(r);
  j["engine"] = r.engine;
  j["engine_settings"] = r.engine_settings;
  j["ranks"] = r.gpus;
  j["rank_classes"] = r.rank_classes;
  j["tasks"] = r.tasks;
  j["wall_s"] = wall.value();
  j["classes"] = json::array();
  for (const ClassResult& c : r.classes) j["classes"].push_back(of(c));
  if (!r.asked.empty()) j["rank"] = of(r.asked[0]);
  j["kernels"] = of(r.kernels);
  j["layers"] = of(r.layers);
  j["communication"] = of(r.communication);
  j["notes"] = json::array();
  for (const plan::Note& note : r.notes) j["notes"].push_back({{"rule", note.rule}, {"message", note.message}});
  if (!r.fits) j["remedies"] = of(remedies);
  j["defaults"] = scenario.defaults;
  j["diagnostics"] = of(r.diagnostics);
  return pretty(j);
}

std::string json_report(const Scenario& scenario, const std::vector<plan::Violation>& violations) {
  json j;
  j["schema_version"] = 1;
  j["scenario"] = scenario.file;
  j["plan"] = plan_text(scenario.plan);
  j["infeasible"] = json::array();
  for (const plan::Violation& v : violations) j["infeasible"].push_back({{"rule", v.rule}, {"message", v.message}});
  return pretty(j);
}

}  // namespace sgsim::scenario

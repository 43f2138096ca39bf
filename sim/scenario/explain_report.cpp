#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/core/units_text.h"
#include "sim/scenario/explain.h"
#include "sim/scenario/pretty_json.h"
#include "sim/scenario/report.h"
#include "sim/scenario/text_table.h"

namespace sgsim::scenario {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t kMostPath = 12, kMostLayers = 10, kMostChanges = 10;
constexpr double kNoticeable = 0.001;  // a smaller gain is below what the model can tell apart

std::string_view word(VariantKind kind) {
  constexpr std::string_view kWords[] = {"plan", "execution", "batch", "hardware"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string path_table(const Explanation& e) {
  std::map<PathKind, Seconds> kinds;
  for (const PathTime& p : e.path) kinds[p.kind] += p.time;
  TextTable table("lrr");
  table.row({"critical path, by what it waits for", "time", "of step"});
  for (const auto& [kind, time] : kinds) table.row({"  " + std::string(label(kind)), to_text(time), percent(time / e.result.step_time)});
  table.row({"on it, largest first"});
  for (std::size_t i = 0; i < std::min(kMostPath, e.path.size()); ++i) {
    const PathTime& p = e.path[i];
    table.row({"  " + p.name, to_text(p.time), percent(p.time / e.result.step_time)});
  }
  return table.text() + "\n";
}

std::string layer_table(const Result& r) {
  TextTable table("lrr");
  table.row({"device time by layer (mean over ranks; equal layers share one name)", "time", "of step"});
  for (std::size_t i = 0; i < std::min(kMostLayers, r.layers.size()); ++i) {
    const std::string name = r.layers[i].name.empty() ? "(outside any module)" : r.layers[i].name;
    table.row({"  " + name, to_text(r.layers[i].time), percent(r.layers[i].time / r.step_time)});
  }
  return table.text() + "\n";
}

std::string signed_bytes(Bytes bytes) { return bytes.value() < 0.0 ? "-" + to_text(-bytes) : "+" + to_text(bytes); }

std::string change_table(const Explanation& e) {
  TextTable table("llrrrl");
  table.row({"changes, by predicted gain in throughput", "", "gain", "step time", "memory", "try it"});
  std::size_t shown = 0;
  for (const Change& c : e.changes) {
    if (c.gain < kNoticeable || shown == kMostChanges) break;
    ++shown;
    table.row({"  " + c.variant.name, std::string(word(c.variant.kind)), fmt::format("{:+.1f} %", 100.0 * c.gain), to_text(c.result.step_time), signed_bytes(c.memory_added), flags_text(c.variant)});
  }
  if (shown == 0) table.row({"  none of the " + std::to_string(e.changes.size()) + " changes tried gains as much as 0.1 %"});
  std::string text = table.text();
  if (e.changes.size() > shown) text += fmt::format("  {} more were simulated and gain less or lose (--json has all)\n", e.changes.size() - shown);
  return text + "\n";
}

std::string dropped_table(const Explanation& e) {
  if (e.dropped.empty()) return {};
  TextTable table("ll");
  table.row({"changes that cannot run", "because"});
  for (const Dropped& d : e.dropped) table.row({"  " + d.variant.name, d.reason});
  return table.text();
}

json settings_of(const Variant& variant) {
  json list = json::array();
  for (const Setting& s : variant.settings) list.push_back(s.path + "=" + s.value);
  return list;
}

}  // namespace

std::string text_report(const Scenario& scenario, const Inputs& inputs, const Explanation& e) {
  const Result& r = e.result;
  std::string text = fmt::format("{} on {} x {}, {}\n  plan: {}\n  step time {} (90 % interval {} to {}), MFU {}, {} of {} memory\n\n", inputs.model, grouped(r.gpus),
                                 scenario.cluster.node.gpu.name, scenario.file, plan_text(scenario.plan), to_text(r.step_time), to_text(r.interval.low),
                                 to_text(r.interval.high), percent(r.mfu), to_text(r.reserved_memory), to_text(r.capacity));
  if (!r.fits) text += fmt::format("  DOES NOT FIT: {} over; gains below are against a step that cannot run\n\n", to_text(r.reserved_memory - r.capacity));
  return text + path_table(e) + layer_table(r) + change_table(e) + dropped_table(e);
}

std::string json_report(const Scenario& scenario, const Explanation& e) {
  json j;
  j["schema_version"] = 1;
  j["scenario"] = scenario.file;
  j["step_time_s"] = e.result.step_time.value();
  j["critical_path"] = json::array();
  for (const PathTime& p : e.path) j["critical_path"].push_back({{"kind", label(p.kind)}, {"name", p.name}, {"time_s", p.time.value()}});
  j["layers"] = json::array();
  for (const NamedTime& t : e.result.layers) j["layers"].push_back({{"name", t.name}, {"time_s", t.time.value()}});
  j["changes"] = json::array();
  for (const Change& c : e.changes) {
    j["changes"].push_back({{"name", c.variant.name}, {"kind", word(c.variant.kind)}, {"set", settings_of(c.variant)}, {"gain", c.gain}, {"step_time_s", c.result.step_time.value()},
                            {"mfu", c.result.mfu}, {"memory_added_bytes", c.memory_added.value()}, {"reserved_mem_bytes", c.result.reserved_memory.value()}});
  }
  j["dropped"] = json::array();
  for (const Dropped& d : e.dropped) j["dropped"].push_back({{"name", d.variant.name}, {"set", settings_of(d.variant)}, {"reason", d.reason}});
  return pretty(j);
}

}  // namespace sgsim::scenario

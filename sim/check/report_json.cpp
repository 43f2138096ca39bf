#include <nlohmann/json.hpp>

#include "sim/check/report.h"
#include "sim/scenario/pretty_json.h"

namespace sgsim::check {
namespace {

using json = nlohmann::ordered_json;

json number(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json errors(const ErrorSummary& e) {
  return {{"count", e.count}, {"mean", e.mean}, {"median", e.median}, {"bias", e.bias}, {"worst", e.worst}, {"worst_id", e.worst_id}};
}

json of(const Summary& s) {
  json j = {{"rows", s.rows}, {"skipped", s.skipped}, {"step_time", errors(s.time)}, {"memory", errors(s.memory)}};
  j["pairs"] = {{"count", s.pairs}, {"right", s.pairs_right}, {"share", s.pairs_share()}};
  j["interval_90"] = {{"count", s.intervals}, {"inside", s.inside}, {"share", s.coverage()}};
  j["out_of_memory"] = {{"measured", s.fit_measured}, {"predicted", s.fit_predicted}, {"both", s.fit_both}};
  j["skip_reasons"] = s.skip_reasons;
  return j;
}

json of(const Row& row) {
  json j = {{"id", row.id}, {"file", row.file}};
  j["predicted_s"] = number(row.predicted_s);
  j["measured_s"] = number(row.measured_s);
  j["error"] = number(row.error());
  j["interval_s"] = row.low_s ? json::array({*row.low_s, *row.high_s}) : json(nullptr);
  j["predicted_mem_bytes"] = row.skipped.empty() ? json(row.memory_kind == MemoryKind::reserved ? row.predicted_reserved : row.predicted_allocated) : json(nullptr);
  j["measured_mem_bytes"] = number(row.measured_memory);
  j["memory_error"] = number(row.memory_error());
  j["memory_kind"] = row.memory_kind == MemoryKind::reserved ? "reserved" : "allocated";
  j["predicted_allocated_bytes"] = row.skipped.empty() ? json(row.predicted_allocated) : json(nullptr);
  j["predicted_reserved_bytes"] = row.skipped.empty() ? json(row.predicted_reserved) : json(nullptr);
  j["measured_fits"] = row.measured_fits ? json(*row.measured_fits) : json(nullptr);
  j["predicted_fits"] = row.predicted_fits ? json(*row.predicted_fits) : json(nullptr);
  j["dominates"] = row.dominates;
  j["plan"] = row.plan;
  j["stack"] = row.stack;
  j["assumed"] = row.assumed;
  j["skipped"] = row.skipped.empty() ? json(nullptr) : json(row.skipped);
  return j;
}

}  // namespace

std::string json_report(const Report& report) {
  json j;
  j["rows"] = json::array();
  for (const Row& row : report.rows) j["rows"].push_back(of(row));
  j["summary"]["all"] = of(summarize_all(report.rows));
  for (const auto& [file, summary] : summaries_by_file(report.rows)) j["summary"]["files"][file] = of(summary);
  for (const auto& [file, rows] : report.left_out) j["summary"]["left_out"][file] = of(summarize_all(rows));
  j["broken"] = json::array();
  for (const Breach& breach : report.breaches) j["broken"].push_back({{"file", breach.file}, {"id", breach.id}, {"what", breach.what}, {"blocks", breach.blocks}});
  return scenario::pretty(j);
}

}  // namespace sgsim::check

#include <nlohmann/json.hpp>

#include "sim/check/kernels.h"
#include "sim/scenario/pretty_json.h"

namespace sgsim::check {
namespace {

using json = nlohmann::ordered_json;

json pair_of(double predicted, double traced) { return {{"predicted", predicted}, {"traced", traced}}; }

void add_times(json& j, const KernelTime& predicted, const KernelTime& traced) {
  j["time_s"] = pair_of(predicted.seconds, traced.seconds);
  j["error"] = predicted.seconds > 0.0 && traced.seconds > 0.0 ? json(predicted.seconds / traced.seconds - 1.0) : json(nullptr);
  j["launches"] = pair_of(predicted.launches, traced.launches);
}

json by_flops(const std::map<std::int64_t, KernelTime>& predicted, const std::map<std::int64_t, KernelTime>& traced) {
  std::map<std::int64_t, std::pair<KernelTime, KernelTime>> joined;
  for (const auto& [flops, time] : predicted) joined[flops].first = time;
  for (const auto& [flops, time] : traced) joined[flops].second = time;
  json list = json::array();
  for (const auto& [flops, both] : joined) {
    json entry = {{"flops", flops}};
    add_times(entry, both.first, both.second);
    list.push_back(std::move(entry));
  }
  return list;
}

json of(const KernelComparison& c) {
  json j = {{"id", c.id}, {"skipped", c.skipped.empty() ? json(nullptr) : json(c.skipped)}};
  if (!c.skipped.empty()) return j;
  j["classes"] = json::array();
  for (std::size_t k = 0; k < kKernelClasses; ++k) {
    json entry = {{"class", name_of(static_cast<KernelClass>(k))}};
    add_times(entry, c.predicted.by_class[k], c.traced.by_class[k]);
    j["classes"].push_back(std::move(entry));
  }
  j["products"] = by_flops(c.predicted.products, c.traced.products);
  j["attention"] = by_flops(c.predicted.attention, c.traced.attention);
  j["step_s"] = pair_of(c.predicted.step, c.traced.step);
  j["busy_s"] = pair_of(c.predicted.busy, c.traced.busy);
  j["overlapped_s"] = pair_of(c.predicted.overlapped, c.traced.overlapped);
  return j;
}

}  // namespace

std::string json_report(const std::vector<KernelComparison>& comparisons) {
  json j = {{"kernels", json::array()}};
  for (const KernelComparison& c : comparisons) j["kernels"].push_back(of(c));
  return scenario::pretty(j);
}

}  // namespace sgsim::check

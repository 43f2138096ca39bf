#include "calibrate/record/compare.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

#include "calibrate/record/fit.h"
#include "calibrate/record/key_work.h"
#include "sim/cost/cost.h"

namespace sgsim::calibrate {
namespace {

std::string category_of(const Key& key) {
  const auto part = [&](const char* name) {
    const auto it = key.labels.find(name);
    return it == key.labels.end() ? std::string() : " " + it->second;
  };
  std::string text = key.group + part("op") + part("kind") + part("dtype") + part("pass") + part("direction") + part("memory") + part("what") + part("compute") + part("side");
  if (key.group == "memory") text = key.group + part("kind");
  if (key.group == "matmul") text += key.size("batch") > 1 ? " batched" : "";
  if (key.group == "attention" && key.is("kernel", "unfused")) text += " unfused";
  if (key.group == "collective" && key.size("bytes") < (1 << 16)) text += " under 64 KB";
  return text + part("set");
}

cluster::GroupShape one_node(const cost::Profile& profile, int ranks) {
  cluster::GroupShape g;
  g.ranks = g.ranks_per_node = ranks;
  g.nvlink_bandwidth = profile.rates.at("nvlink.bandwidth").value;
  g.intra = cluster::IntraNode::nvswitch;
  return g;
}

std::optional<double> time_of(const Side& side, const Key& key, std::optional<double> bytes) {
  if (const auto* profile = std::get_if<cost::Profile>(&side)) return predict(*profile, key, bytes);
  const Samples& samples = std::get<Samples>(side);
  const auto it = samples.measured.find(key);
  if (it == samples.measured.end()) return std::nullopt;
  return it->second.time.median;
}

}  // namespace

std::optional<double> predict(const cost::Profile& profile, const Key& key, std::optional<double> bytes) {
  Diagnostics diagnostics;
  if (const auto work = work_of(key, bytes)) {
    if (const auto* product = std::get_if<graph::Matmul>(&*work); product != nullptr && !profile.gpu.peak.contains(product->dtype)) return std::nullopt;
    return cost::kernel_time(profile, *work, diagnostics).time.value();
  }
  if (key.group == "host_copy") {
    const std::string name = "copy." + key.label("direction") + "." + key.label("memory");
    const auto rate = profile.rates.find(name);
    const auto fixed = profile.times.find(name + ".fixed");
    if (rate == profile.rates.end() || fixed == profile.times.end()) return std::nullopt;
    return (fixed->second.value + Bytes(static_cast<double>(key.size("bytes"))) / rate->second.value).value();
  }
  if (key.group != "collective" || key.size("ranks") < 2 || key.size("channels") != 0 || key.size("groups") != 1 || !key.is("protocol", "default")) return std::nullopt;
  if (!key.is("place", "out") || !key.is("launch", "stream")) return std::nullopt;
  return cost::collective_time(profile, collective_op(key.label("op")), Bytes(static_cast<double>(key.size("bytes"))), one_node(profile, static_cast<int>(key.size("ranks"))), diagnostics).time().value();
}

Side load_side(const std::string& path) {
  if (path.ends_with(".jsonl")) return load_samples(path);
  return cost::load_profile(path);
}

std::vector<Comparison> compare_sides(const Side& a, const Side& b) {
  std::map<Key, std::optional<double>> keys;  // with the bytes moved
  for (const Side* side : {&a, &b}) {
    const auto* samples = std::get_if<Samples>(side);
    if (samples == nullptr) continue;
    for (const auto& [key, m] : samples->measured) keys[key] = key.group == "memory" ? std::optional(bytes_moved(m)) : std::nullopt;
  }
  std::map<std::string, Comparison> by_category;
  for (const auto& [key, bytes] : keys) {
    const auto ta = time_of(a, key, bytes), tb = time_of(b, key, bytes);
    if (!ta || !tb || *tb <= 0.0) continue;
    Comparison& c = by_category[category_of(key)];
    c.category = category_of(key);
    c.points.push_back({.key = key, .a = *ta, .b = *tb});
  }
  std::vector<Comparison> result;
  for (auto& [name, c] : by_category) {
    std::vector<double> errors, signed_errors;
    for (const Compared& point : c.points) {
      signed_errors.push_back(point.error());
      errors.push_back(std::abs(point.error()));
    }
    c.median_error = median(errors);
    c.p90_error = quantile(errors, 0.9);
    c.bias = median(signed_errors);
    std::sort(c.points.begin(), c.points.end(), [](const Compared& x, const Compared& y) { return std::abs(x.error()) > std::abs(y.error()); });
    result.push_back(std::move(c));
  }
  return result;
}

}  // namespace sgsim::calibrate

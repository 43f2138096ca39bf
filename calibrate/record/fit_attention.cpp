#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "calibrate/record/fit.h"
#include "calibrate/record/key_work.h"
#include "calibrate/stats/least_squares.h"
#include "sim/cost/attention.h"
#include "sim/cost/cost.h"
#include "sim/cost/make/fits.h"

namespace sgsim::calibrate {
namespace {

struct TableKey {
  graph::Pass pass;
  bool causal, dense_mask;
  std::int64_t head_dim;
  auto operator<=>(const TableKey&) const = default;
};
TableKey table_of(const graph::Attention& a) { return {a.pass, a.causal, a.dense_mask, a.head_dim}; }

using Measured = cost::make::Traced<graph::Attention>;

std::vector<std::int64_t> axis(const std::vector<Measured>& rows, std::int64_t (*of)(const graph::Attention&)) {
  std::set<std::int64_t> values;
  for (const Measured& r : rows) values.insert(of(r.work));
  return {values.begin(), values.end()};
}

cost::AttentionTable make_table(const TableKey& key, const std::vector<Measured>& rows, const std::string& source) {
  const auto group_of = [](const graph::Attention& a) { return a.heads / a.kv_heads; };
  const auto batch_heads_of = [](const graph::Attention& a) { return a.batch * a.heads; };
  const auto length_of = [](const graph::Attention& a) { return a.q_len; };
  cost::AttentionTable t{.dtype = rows.front().work.dtype, .pass = key.pass, .causal = key.causal, .dense_mask = key.dense_mask, .head_dim = key.head_dim,
                         .group = axis(rows, group_of), .batch_heads = axis(rows, batch_heads_of), .length = axis(rows, length_of), .time_ns = {}, .held_out = {}, .source = source};
  std::map<std::array<std::int64_t, 3>, std::int64_t> times;
  for (const Measured& r : rows) times[{group_of(r.work), batch_heads_of(r.work), length_of(r.work)}] = std::llround(r.us * 1e3);
  for (const std::int64_t g : t.group) {
    for (const std::int64_t bh : t.batch_heads) {
      for (const std::int64_t l : t.length) {
        const auto it = times.find({g, bh, l});
        t.time_ns.push_back(it == times.end() ? 0 : it->second);
      }
    }
  }
  return t;
}

double share(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// x: log fixed (us), log start (us), logit efficiency, log (ragged - 0.9), logit wave weight, log tail, logit of the helpers' share of
/// the HBM bandwidth.
void set_waves(cost::Profile& p, cost::AttentionModel& m, const Vector& x) {
  m.fixed = Seconds(std::exp(x[0]) * 1e-6);
  m.waves = cost::AttentionWaves{.efficiency = share(x[2]), .start = Seconds(std::exp(x[1]) * 1e-6), .wave_weight = share(x[4]), .tail = std::exp(x[5]), .ragged = 0.9 + std::exp(x[3])};
  p.factors["attention.helper_memory_efficiency"].value = share(x[6]);
}

/// Fits one model; the helpers' share is a parameter of each fit, and the caller decides on one for all (prior: how firmly it is held).
Vector fit_waves(cost::Profile& p, cost::AttentionModel& m, const std::vector<Measured>& measured, double helpers) {
  const bool forward = m.pass == graph::Pass::forward;
  const Vector start = {std::log(forward ? 2.5 : 5.0), std::log(forward ? 1.5 : 5.0), 0.2, std::log(0.15), 2.0, std::log(0.5), helpers};
  const auto residuals = [&](const Vector& x, Vector& r) {
    set_waves(p, m, x);
    for (std::size_t i = 0; i < measured.size(); ++i) r[i] = std::log(cost::attention_bound(p, m, measured[i].work).value() * 1e6 / measured[i].us);
  };
  const Vector x = least_squares(residuals, measured.size(), start, {.scale = 0.05, .prior = 0.1});
  set_waves(p, m, x);
  std::vector<double> errors;
  for (const Measured& r : measured) errors.push_back(std::abs(std::log(cost::attention_bound(p, m, r.work).value() * 1e6 / r.us)));
  m.sigma = std::max(0.03, quantile(errors, 0.9) / 1.645);
  return x;
}

void fit_models(cost::Profile& p, const std::map<TableKey, std::vector<Measured>>& rows, const std::string& source) {
  std::map<std::tuple<graph::Pass, bool, std::int64_t>, std::vector<Measured>> by_model;
  for (const auto& [key, measured] : rows) {
    auto& all = by_model[{key.pass, key.dense_mask, key.head_dim}];
    all.insert(all.end(), measured.begin(), measured.end());
  }
  constexpr double kHelpers = 0.0;  // logit of a half, where the fits start
  std::vector<double> helpers;
  for (const auto& [key, measured] : by_model) {
    const auto& [pass, dense, head_dim] = key;
    std::erase_if(p.attention_models, [&](const cost::AttentionModel& m) { return m.pass == std::get<0>(key) && m.dense_mask == std::get<1>(key) && m.head_dim == std::get<2>(key); });
    cost::AttentionModel m{.pass = pass, .dense_mask = dense, .head_dim = head_dim, .efficiency = 0.5, .critical_efficiency = 0.5, .fixed = {}, .sigma = 0.1, .source = source};
    const Vector x = fit_waves(p, m, measured, kHelpers);
    // The old form of the bound has no use for these; its readers see the rate within a block.
    m.efficiency = m.critical_efficiency = m.waves->efficiency;
    if (pass == graph::Pass::backward && !dense) helpers.push_back(share(x.back()));
    p.attention_models.push_back(m);
  }
  p.factors["attention.helper_memory_efficiency"] = {helpers.empty() ? 0.5 : median(helpers), source};
}

}  // namespace

void fit_attentions(cost::Profile& p, const Samples& samples, const std::string& source) {
  std::map<TableKey, std::vector<Measured>> rows, fitted, held_out;
  for (const auto& [key, m] : samples.measured) {
    if (key.group != "attention" || !key.is("kernel", "flash")) continue;
    const auto work = std::get<graph::Attention>(*work_of(key));
    const Measured measured{.work = work, .us = m.time.median * 1e6, .calls = m.time.count};
    if (is_held_out(key)) held_out[table_of(work)].push_back(measured);
    if (key.is("set", "grid")) rows[table_of(work)].push_back(measured);
    if (key.is("set", "grid") || key.is("set", "scatter")) fitted[table_of(work)].push_back(measured);
  }
  if (rows.empty()) return;
  fit_models(p, fitted, source);
  p.attention_tables.clear();
  for (const auto& [key, measured] : rows) p.attention_tables.push_back(make_table(key, measured, source));
  for (cost::AttentionTable& t : p.attention_tables) {
    std::vector<double> errors;
    Diagnostics diagnostics;
    for (const Measured& r : held_out[{t.pass, t.causal, t.dense_mask, t.head_dim}]) {
      errors.push_back(std::abs(cost::kernel_time(p, r.work, diagnostics).time.value() * 1e6 / r.us - 1.0));
    }
    t.held_out = {.rows = static_cast<int>(errors.size()), .median = median(errors), .p90 = quantile(errors, 0.9)};
  }
}

}  // namespace sgsim::calibrate

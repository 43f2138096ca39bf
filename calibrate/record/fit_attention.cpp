#include <algorithm>
#include <map>
#include <set>

#include "calibrate/record/fit.h"
#include "calibrate/record/key_work.h"
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

void fit_models(cost::Profile& p, const std::map<TableKey, std::vector<Measured>>& rows, const std::string& source) {
  std::map<std::pair<graph::Pass, std::pair<bool, std::int64_t>>, std::vector<Measured>> by_model;
  for (const auto& [key, measured] : rows) {
    auto& all = by_model[{key.pass, {key.dense_mask, key.head_dim}}];
    all.insert(all.end(), measured.begin(), measured.end());
  }
  for (const auto& [key, measured] : by_model) {
    const graph::Pass pass = key.first;
    const auto [dense, head_dim] = key.second;
    std::erase_if(p.attention_models, [&](const cost::AttentionModel& m) { return m.pass == pass && m.dense_mask == dense && m.head_dim == head_dim; });
    cost::AttentionModel m{.pass = pass, .dense_mask = dense, .head_dim = head_dim, .efficiency = 0.5, .critical_efficiency = 0.5,
                           .fixed = Seconds(pass == graph::Pass::forward ? 2e-6 : 4e-6), .sigma = 0.1, .source = source};
    cost::make::fit_attention(p, m, measured);
    p.attention_models.push_back(m);
  }
}

}  // namespace

void fit_attentions(cost::Profile& p, const Samples& samples, const std::string& source) {
  std::map<TableKey, std::vector<Measured>> rows, held_out;
  for (const auto& [key, m] : samples.measured) {
    if (key.group != "attention" || !key.is("kernel", "flash")) continue;
    const auto work = std::get<graph::Attention>(*work_of(key));
    if (!is_held_out(key) && !key.is("set", "grid")) continue;
    (is_held_out(key) ? held_out : rows)[table_of(work)].push_back({.work = work, .us = m.time.median * 1e6, .calls = m.time.count});
  }
  if (rows.empty()) return;
  if (!p.factors.contains("attention.helper_memory_efficiency")) p.factors["attention.helper_memory_efficiency"] = {0.55, source};
  fit_models(p, rows, source);
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

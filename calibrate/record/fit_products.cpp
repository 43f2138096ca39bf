#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "calibrate/record/fit.h"
#include "calibrate/record/fit_tiles.h"
#include "calibrate/record/key_work.h"
#include "sim/cost/cost.h"
#include "sim/cost/matmul.h"

namespace sgsim::calibrate {
namespace {

struct Row {
  graph::Matmul work;
  double seconds = 0.0;
};

struct TableKey {
  graph::DType dtype;
  bool a_transposed, b_transposed, batched;
  auto operator<=>(const TableKey&) const = default;
};

std::vector<std::int64_t> axis(const std::vector<Row>& rows, std::int64_t graph::Matmul::*field) {
  std::set<std::int64_t> values;
  for (const Row& r : rows) values.insert(r.work.*field);
  return {values.begin(), values.end()};
}

cost::MatmulTable make_table(const TableKey& key, const std::vector<Row>& rows, const std::string& source) {
  cost::MatmulTable t{.dtype = key.dtype, .a_transposed = key.a_transposed, .b_transposed = key.b_transposed, .batch = axis(rows, &graph::Matmul::batch), .m = axis(rows, &graph::Matmul::m),
                      .n = axis(rows, &graph::Matmul::n), .k = axis(rows, &graph::Matmul::k), .time_ns = {}, .held_out = {}, .source = source};
  std::map<std::array<std::int64_t, 4>, std::int64_t> times;
  for (const Row& r : rows) times[{r.work.batch, r.work.m, r.work.n, r.work.k}] = std::llround(r.seconds * 1e9);
  for (const std::int64_t b : t.batch) {
    for (const std::int64_t m : t.m) {
      for (const std::int64_t n : t.n) {
        for (const std::int64_t k : t.k) {
          const auto it = times.find({b, m, n, k});
          t.time_ns.push_back(it == times.end() ? 0 : it->second);
        }
      }
    }
  }
  return t;
}

/// A model of each measured type; a type without one starts from the first model's constants.
void add_models(cost::Profile& p, const std::set<graph::DType>& dtypes, const std::map<TableKey, std::vector<Row>>& rows, const std::map<graph::DType, std::vector<TiledProduct>>& tiled,
                const std::string& source) {
  for (const graph::DType dtype : dtypes) {
    if (!p.gpu.peak.contains(dtype)) continue;
    auto it = std::find_if(p.matmul_models.begin(), p.matmul_models.end(), [&](const cost::MatmulModel& m) { return m.dtype == dtype; });
    if (it == p.matmul_models.end()) {
      cost::MatmulModel m = p.matmul_models.front();
      m.dtype = dtype;
      p.matmul_models.push_back(m);
      it = std::prev(p.matmul_models.end());
    }
    fit_tiles(p.gpu, *it, tiled.at(dtype));
    std::vector<double> rates, spreads;
    for (const auto& [key, measured] : rows) {
      if (key.dtype != dtype || key.batched) continue;
      for (const Row& r : measured) {
        const double ratio = cost::matmul_bound(p.gpu, *it, r.work).value() / r.seconds;
        if (std::min({r.work.m, r.work.n, r.work.k}) >= 2048) rates.push_back(ratio);
        spreads.push_back(std::abs(std::log(ratio)));
      }
    }
    if (!rates.empty()) it->math_efficiency = std::min(1.0, median(rates));
    it->nn_factor = it->nt_factor = 1.0;  // each layout has its own table
    it->sigma = quantile(spreads, 0.9) / 1.645;
    it->source = source;
  }
}

}  // namespace

void fit_products(cost::Profile& p, const Samples& samples, const std::string& source) {
  std::map<TableKey, std::vector<Row>> rows, held_out;
  std::map<graph::DType, std::vector<TiledProduct>> tiled;
  std::set<graph::DType> dtypes;
  for (const auto& [key, m] : samples.measured) {
    if (key.group != "matmul" || key.is("set", "bias")) continue;
    const auto work = std::get<graph::Matmul>(*work_of(key));
    if (work.batch == 1 && (key.is("set", "grid") || key.is("set", "scatter"))) tiled[work.dtype].push_back({.work = work, .seconds = m.time.median, .tile = tile_of(m.kernels)});
    const TableKey table{work.dtype, work.a_transposed, work.b_transposed, work.batch > 1};
    if (is_held_out(key)) {
      held_out[table].push_back({work, m.time.median});
    } else if (key.is("set", "grid")) {
      rows[table].push_back({work, m.time.median});
      dtypes.insert(work.dtype);
    }
  }
  if (rows.empty()) return;
  add_models(p, dtypes, rows, tiled, source);
  std::erase_if(p.matmul_tables, [&](const cost::MatmulTable& t) { return dtypes.contains(t.dtype); });
  for (const auto& [key, measured] : rows) p.matmul_tables.push_back(make_table(key, measured, source));
  for (cost::MatmulTable& t : p.matmul_tables) {
    if (!dtypes.contains(t.dtype)) continue;
    std::vector<double> errors;
    Diagnostics diagnostics;
    for (const Row& r : held_out[{t.dtype, t.a_transposed, t.b_transposed, t.batch.back() > 1}]) {
      errors.push_back(std::abs(cost::kernel_time(p, r.work, diagnostics).time.value() / r.seconds - 1.0));
    }
    t.held_out = {.rows = static_cast<int>(errors.size()), .median = median(errors), .p90 = quantile(errors, 0.9)};
  }
}

}  // namespace sgsim::calibrate

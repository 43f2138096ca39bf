#include "sim/cost/make/tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/core/diagnostics.h"
#include "sim/cost/cost.h"
#include "sim/cost/make/robust.h"
#include "sim/cost/matmul.h"

namespace sgsim::cost::make {
namespace {

constexpr std::size_t kNeighbours = 40;
constexpr double kFarthest = 4.0;  // bandwidths: beyond, a node counts as not measured

graph::Matmul linear_layer(std::int64_t m, std::int64_t n, std::int64_t k, graph::DType dtype) {
  return {.batch = 1, .m = m, .n = n, .k = k, .a_transposed = false, .b_transposed = true, .dtype = dtype,
          .out_dtype = size_of(dtype) == 1 ? graph::DType::bfloat16 : dtype};
}

std::array<double, 3> logs(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {std::log2(static_cast<double>(m)), std::log2(static_cast<double>(n)), std::log2(static_cast<double>(k))};
}

}  // namespace

MatmulTable product_grid(const Datasheet& gpu, const MatmulModel& model, const std::vector<ProductRow>& rows, const Thinning& thinning) {
  MatmulTable table{.dtype = model.dtype, .a_transposed = false, .b_transposed = true, .batch = {1}, .m = thinning.m, .n = thinning.n, .k = thinning.k, .time_ns = {}, .held_out = {}, .source = {}};
  std::vector<Sample<3>> samples;
  for (const ProductRow& r : rows) {
    const Seconds bound = matmul_bound(gpu, model, linear_layer(r.m, r.n, r.k, model.dtype));
    samples.push_back({.at = logs(r.m, r.n, r.k), .value = std::log(r.us * 1e-6 / bound.value())});
  }
  const std::array<double, 3> bandwidth = {thinning.bandwidth_mn, thinning.bandwidth_mn, thinning.bandwidth_k};
  for (const std::int64_t m : table.m) {
    for (const std::int64_t n : table.n) {
      for (const std::int64_t k : table.k) {
        const LocalFit fit = local_fit(samples, logs(m, n, k), bandwidth, kNeighbours);
        const double seconds = matmul_bound(gpu, model, linear_layer(m, n, k, model.dtype)).value() * std::exp(fit.value);
        table.time_ns.push_back(fit.nearest > kFarthest ? 0 : std::llround(seconds * 1e9));
      }
    }
  }
  return table;
}

std::vector<double> product_errors(const Profile& profile, graph::DType dtype, const std::vector<ProductRow>& rows, std::int64_t least) {
  std::vector<double> errors;
  Diagnostics diagnostics;
  for (const ProductRow& r : rows) {
    if (r.m < least || r.n < least || r.k < least) continue;
    const Estimate e = kernel_time(profile, linear_layer(r.m, r.n, r.k, dtype), diagnostics);
    errors.push_back(std::abs(e.time.value() * 1e6 / r.us - 1.0));
  }
  return errors;
}

bool is_held_out(const ProductRow& row) {
  std::uint64_t h = static_cast<std::uint64_t>(row.m) * 0x9E3779B97F4A7C15ULL ^ static_cast<std::uint64_t>(row.n) * 0xC2B2AE3D27D4EB4FULL ^ static_cast<std::uint64_t>(row.k) * 0x165667B19E3779F9ULL;
  h ^= h >> 29;
  h *= 0xBF58476D1CE4E5B9ULL;
  h ^= h >> 32;
  return h % 5 == 0;
}

MatmulTable carried_table(const MatmulTable& table, const Datasheet& from, const MatmulModel& from_model, const Datasheet& to, const MatmulModel& to_model) {
  MatmulTable result = table;
  std::size_t i = 0;
  for (const std::int64_t m : table.m) {
    for (const std::int64_t n : table.n) {
      for (const std::int64_t k : table.k) {
        const graph::Matmul w = linear_layer(m, n, k, table.dtype);
        result.time_ns[i] = std::llround(static_cast<double>(table.time_ns[i]) * (matmul_bound(to, to_model, w) / matmul_bound(from, from_model, w)));
        ++i;
      }
    }
  }
  return result;
}

AttentionTable attention_grid(const Datasheet& gpu, const std::vector<AttentionRow>& rows, double cache_efficiency) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<double>> by_node;
  std::set<std::int64_t> batch_heads, lengths;
  for (const AttentionRow& r : rows) {
    const double cache = 2.0 * static_cast<double>(r.batch * r.kv_heads * r.length * r.head_dim) * 2.0;  // keys and values, 2 bytes an element
    const double us = r.us - 2.0 * cache / (gpu.hbm_bandwidth.value.value() * cache_efficiency) * 1e6;
    if (us <= 0.0) continue;
    by_node[{r.batch * r.heads, r.length}].push_back(us);
    batch_heads.insert(r.batch * r.heads);
    lengths.insert(r.length);
  }
  AttentionTable table{.dtype = graph::DType::bfloat16, .pass = graph::Pass::forward, .causal = true, .dense_mask = false, .head_dim = rows.front().head_dim,
                       .group = {1}, .batch_heads = {}, .length = {lengths.begin(), lengths.end()}, .time_ns = {}, .held_out = {}, .source = {}};
  for (const std::int64_t b : batch_heads) {  // powers of two carry the dependence
    if ((b & (b - 1)) == 0) table.batch_heads.push_back(b);
  }
  for (const std::int64_t b : table.batch_heads) {
    for (const std::int64_t l : table.length) {
      const auto found = by_node.find({b, l});
      table.time_ns.push_back(found == by_node.end() ? 0 : std::llround(median(found->second) * 1e3));
    }
  }
  return table;
}

}  // namespace sgsim::cost::make

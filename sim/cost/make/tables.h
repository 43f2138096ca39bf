#pragma once

#include <functional>
#include <vector>

#include "sim/cost/make/rows.h"
#include "sim/cost/profile.h"

namespace sgsim::cost::make {

/// How a published table of single measurements becomes a smooth, small grid.
struct Thinning {
  std::vector<std::int64_t> m, n, k;      // nodes of the grid
  double bandwidth_mn = 0.3;              // of the local fit, in octaves of m and n
  double bandwidth_k = 0.7;               // in octaves of k
};

/// The grid of a matrix product table: at each node the robust local fit of log(measured / bound) over the rows near it, so
/// that single noisy rows do not show; nodes far from every row stay unmeasured (0).
[[nodiscard]] MatmulTable product_grid(const Datasheet& gpu, const MatmulModel& model, const std::vector<ProductRow>& rows, const Thinning& thinning);

/// Relative error |predicted / measured - 1| of each row with m, n, k >= least that `profile` has not seen.
[[nodiscard]] std::vector<double> product_errors(const Profile& profile, graph::DType dtype, const std::vector<ProductRow>& rows, std::int64_t least);

/// Whether a row belongs to the fifth that held-out checks leave out: a hash of the shape, the same on every machine.
[[nodiscard]] bool is_held_out(const ProductRow& row);

/// The table of another GPU: measured over bound carries over, the bound is the other GPU's.
[[nodiscard]] MatmulTable carried_table(const MatmulTable& table, const Datasheet& from, const MatmulModel& from_model, const Datasheet& to, const MatmulModel& to_model);

/// The grid of forward attention (batch * heads by length): per node the median over the rows, the writing of the keys and
/// values into a cache that these kernels also do taken off (2 * cache bytes at `cache_efficiency` of the HBM bandwidth).
[[nodiscard]] AttentionTable attention_grid(const Datasheet& gpu, const std::vector<AttentionRow>& rows, double cache_efficiency);

}  // namespace sgsim::cost::make

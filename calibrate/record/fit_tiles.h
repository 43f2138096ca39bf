#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/cost/profile.h"

namespace sgsim::calibrate {

/// A measured product, and the output tile of the kernel that ran, as its name says; {0, 0} where it says nothing.
struct TiledProduct {
  graph::Matmul work;
  double seconds = 0.0;
  std::pair<std::int64_t, std::int64_t> tile{0, 0};
};

/// Rows and columns of our row-major result that one thread block of a library's kernel computes, by the kernel's name:
/// "nvjet_sm90_tst_192x128_64x5_..." and "ampere_bf16_s16816gemm_bf16_128x256_ldg8_..." both count columns of the
/// column-major result first, so 192x128 is 128 rows of 192 columns. {0, 0} for other names and for split sums.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> tile_of(const std::vector<std::string>& kernels);

/// Fits the model's tiles with their efficiencies, k_overhead, memory efficiency, sharpness, fixed cost and the cost of a
/// first, partly filled wave to the measured products: first each tile to the products that it ran, then all of them
/// together to the time of the best tile. Leaves a model alone that has too few products with known tiles.
void fit_tiles(const cost::Datasheet& gpu, cost::MatmulModel& model, const std::vector<TiledProduct>& products);

}  // namespace sgsim::calibrate

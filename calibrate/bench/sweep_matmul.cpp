#include <array>
#include <set>

#include "calibrate/bench/draw.h"
#include "calibrate/bench/sweeps.h"

namespace sgsim::calibrate {
namespace {

// Layout letters: a and b of out = a * b, row-major; t: stored transposed. A linear layer: forward "nt" (x W^T), input
// gradient "nn" (dy W), weight gradient "tn" (dy^T x).
constexpr std::array<const char*, 3> kLayouts = {"nt", "nn", "tn"};

constexpr double kMostFlops = 9e12;        // about 13 ms on an H200 in bfloat16
constexpr std::int64_t kMostBytes = 3ll << 30;

bool fits(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, int element) {
  const double flops = 2.0 * static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return flops <= kMostFlops && batch * (m * k + k * n + m * n) * element <= kMostBytes;
}

Key product(const char* dtype, const std::string& layout, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, const char* set) {
  return {.group = "matmul", .labels = {{"dtype", dtype}, {"layout", layout}, {"set", set}}, .sizes = {{"batch", batch}, {"m", m}, {"n", n}, {"k", k}}};
}

using Axis = std::vector<std::int64_t>;
struct Axes {
  Axis m, n, k;
};

/// Half-octave steps in m and n, where tiles fill few waves of SMs and the time is a staircase; octaves in k, where it is
/// nearly straight. Each layout reaches as far as its tokens (65,536) and vocabularies (131,072) do.
Axes dense_axes(const std::string& layout) {
  Axis tokens = {128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 32768, 65536};
  const Axis features = {256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 32768};
  Axis vocabulary = features, sums = {128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}, long_sums = sums;
  vocabulary.insert(vocabulary.end(), {65536, 131072});
  long_sums.insert(long_sums.end(), {65536, 131072});
  if (layout == "nt") return {tokens, vocabulary, sums};
  if (layout == "nn") return {tokens, features, long_sums};
  long_sums.pop_back();
  return {vocabulary, features, long_sums};
}
const Axes kCoarse = {{128, 512, 1024, 2048, 4096, 8192, 16384}, {256, 1024, 2048, 4096, 8192, 16384}, {256, 1024, 4096, 16384}};

void add_grid(std::vector<Key>& points, const char* dtype, const char* layout, int element, const Axes& axes) {
  for (const std::int64_t m : axes.m) {
    for (const std::int64_t n : axes.n) {
      for (const std::int64_t k : axes.k) {
        if (fits(1, m, n, k, element)) points.push_back(product(dtype, layout, 1, m, n, k, "grid"));
      }
    }
  }
}

/// Batches as unfused attention (batch * heads products of length x length x head size and back) and experts make them.
void add_batches(std::vector<Key>& points) {
  for (const char* layout : kLayouts) {
    for (const std::int64_t batch : {8, 32, 128}) {
      for (const std::int64_t m : {256, 1024, 2048, 4096}) {
        for (const std::int64_t n : {64, 128, 1024, 2048, 4096}) {
          for (const std::int64_t k : {64, 128, 1024, 4096}) {
            if (fits(batch, m, n, k, 2)) points.push_back(product("bfloat16", layout, batch, m, n, k, "grid"));
          }
        }
      }
    }
  }
}

Key random_product(Draw& draw, const char* set) {
  for (;;) {
    const std::int64_t m = draw.log_uniform(128, 32768, 64), n = draw.log_uniform(256, 32768, 64), k = draw.log_uniform(128, 16384, 64);
    const char* layout = draw.one_of(kLayouts);
    if (fits(1, m, n, k, 2)) return product("bfloat16", layout, 1, m, n, k, set);
  }
}

std::set<std::map<std::string, std::int64_t>> shapes_of(const std::vector<Key>& points) {
  std::set<std::map<std::string, std::int64_t>> shapes;
  for (const Key& key : points) shapes.insert(key.sizes);
  return shapes;
}

std::vector<Key> random_products(std::uint64_t seed, int count, const char* set, std::set<std::map<std::string, std::int64_t>> taken) {
  Draw draw(seed);
  std::vector<Key> points;
  while (static_cast<int>(points.size()) < count) {
    Key key = random_product(draw, set);
    if (taken.insert(key.sizes).second) points.push_back(std::move(key));
  }
  return points;
}

std::vector<Key> fixed_products() {
  std::vector<Key> points;
  for (const char* layout : kLayouts) add_grid(points, "bfloat16", layout, 2, dense_axes(layout));
  add_grid(points, "float16", "nt", 2, kCoarse);
  for (const char* layout : kLayouts) add_grid(points, "float32", layout, 4, kCoarse);
  add_grid(points, "float8_e4m3fn", "nt", 1, kCoarse);
  add_batches(points);
  return points;
}

constexpr std::uint64_t kHeldOutSeed = 20260101, kScatterSeed = 7;
constexpr int kHeldOutProducts = 200, kScatterProducts = 1200;

}  // namespace

std::vector<Key> held_out_products() { return random_products(kHeldOutSeed, kHeldOutProducts, "held_out", shapes_of(fixed_products())); }

std::vector<Key> matmul_sweep() {
  std::vector<Key> points = fixed_products();
  auto taken = shapes_of(points);
  taken.merge(shapes_of(held_out_products()));
  // Shapes off the grid: the fit of the analytic bound needs tiles that do not divide.
  const std::vector<Key> scatter = random_products(kScatterSeed, kScatterProducts, "scatter", std::move(taken));
  points.insert(points.end(), scatter.begin(), scatter.end());
  for (const std::int64_t m : {1024, 4096, 8192}) {
    for (const std::int64_t n : {768, 1024, 3072, 4096}) {
      for (const std::int64_t k : {512, 1024, 4096}) {
        Key key = product("bfloat16", "nt", 1, m, n, k, "bias");
        key.labels["epilogue"] = "bias";
        points.push_back(std::move(key));
        // The same operands again and again, so that they are found in the L2 cache: what that is worth.
        points.push_back(product("bfloat16", "nt", 1, m, n, k, "warm"));
      }
    }
  }
  // Half a second without a pause, and with rests: how the time goes with the clock.
  for (const std::int64_t m : {2048, 8192, 16384}) {
    for (const std::int64_t n : {1024, 4096, 8192}) {
      for (const std::int64_t k : {1024, 4096, 8192}) {
        points.push_back(product("bfloat16", "nt", 1, m, n, k, "sustained"));
        points.push_back(product("bfloat16", "nt", 1, m, n, k, "cool"));
      }
    }
  }
  return points;
}

}  // namespace sgsim::calibrate

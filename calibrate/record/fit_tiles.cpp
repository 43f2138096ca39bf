#include "calibrate/record/fit_tiles.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

#include "calibrate/stats/least_squares.h"
#include "sim/cost/matmul.h"

namespace sgsim::calibrate {
namespace {

constexpr std::size_t kConstants = 5;
constexpr std::size_t kLeastUses = 12;       // of a tile, for its efficiency to be fitted
constexpr std::size_t kLeastProducts = 100;

double share(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double logit(double p) { return std::log(p / (1.0 - p)); }

/// x: log fixed (us), log k_overhead, logit memory efficiency, log (sharpness - 1), logit partial wave weight, then the logit
/// of each tile's efficiency. A full last wave costs what it is: kernels run one tile a block, and a tile is not divided.
void set(cost::MatmulModel& model, const Vector& x) {
  model.fixed = Seconds(std::exp(x[0]) * 1e-6);
  model.k_overhead = std::exp(x[1]);
  model.memory_efficiency = share(x[2]);
  model.sharpness = 1.0 + std::exp(x[3]);
  model.wave_weight = 1.0;
  model.partial_wave_weight = share(x[4]);
  for (std::size_t t = 0; t < model.tiles.size(); ++t) model.tiles[t].efficiency = share(x[kConstants + t]);
}

double log_error(const cost::Datasheet& gpu, const cost::MatmulModel& model, const TiledProduct& p) {
  return std::log(cost::matmul_bound(gpu, model, p.work).value() / p.seconds);
}

}  // namespace

std::pair<std::int64_t, std::int64_t> tile_of(const std::vector<std::string>& kernels) {
  static const std::regex size("_([0-9]{1,3})x([0-9]{1,3})_");
  std::pair<std::int64_t, std::int64_t> found{0, 0};
  for (const std::string& name : kernels) {
    if (name.find("splitK") != std::string::npos || name.find("splitk") != std::string::npos) return {0, 0};
    std::smatch match;
    if (found.first == 0 && std::regex_search(name, match, size)) found = {std::stoll(match[2]), std::stoll(match[1])};
  }
  return found;
}

void fit_tiles(const cost::Datasheet& gpu, cost::MatmulModel& model, const std::vector<TiledProduct>& products) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> uses;
  for (const TiledProduct& p : products) {
    if (p.tile.first > 0) ++uses[p.tile];
  }
  std::erase_if(uses, [](const auto& use) { return use.second < kLeastUses; });
  if (uses.empty() || products.size() < kLeastProducts) return;
  model.tiles.clear();
  for (const auto& [tile, count] : uses) model.tiles.push_back({.m = tile.first, .n = tile.second, .efficiency = 0.7});
  Vector x = {std::log(3.0), std::log(150.0), logit(0.8), std::log(4.0), logit(0.7)};
  x.resize(kConstants + model.tiles.size(), logit(0.7));

  std::vector<const TiledProduct*> known;
  std::vector<std::size_t> tile_index;
  for (const TiledProduct& p : products) {
    for (std::size_t t = 0; t < model.tiles.size(); ++t) {
      if (p.tile == std::pair(model.tiles[t].m, model.tiles[t].n)) known.push_back(&p), tile_index.push_back(t);
    }
  }
  const auto own_tiles = [&](const Vector& parameters, Vector& residuals) {
    set(model, parameters);
    cost::MatmulModel one = model;
    for (std::size_t i = 0; i < known.size(); ++i) {
      one.tiles = {model.tiles[tile_index[i]]};
      residuals[i] = log_error(gpu, one, *known[i]);
    }
  };
  x = least_squares(own_tiles, known.size(), x, {.scale = 0.04, .prior = 0.01});
  const auto best_tiles = [&](const Vector& parameters, Vector& residuals) {
    set(model, parameters);
    for (std::size_t i = 0; i < products.size(); ++i) residuals[i] = log_error(gpu, model, products[i]);
  };
  x = least_squares(best_tiles, products.size(), x, {.scale = 0.1, .prior = 0.5, .iterations = 25});
  set(model, x);
}

}  // namespace sgsim::calibrate

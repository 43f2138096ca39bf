#include "planner/split/unit_split.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sgsim::split {
namespace {

using Value = std::pair<double, double>;  // exposed seconds, bytes whole at once
constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

std::optional<UnitSplit> split_units(const std::vector<UnitLayer>& layers, const Link& link, Bytes capacity) {
  const std::size_t n = layers.size();
  if (n == 0) return UnitSplit{};
  std::vector<double> time(n + 1, 0.0), bytes(n + 1, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    time[i + 1] = time[i] + layers[i].time.value();
    bytes[i + 1] = bytes[i] + layers[i].parameters.value();
  }
  const auto gather = [&](std::size_t a, std::size_t b) { return link.time(Bytes(bytes[b] - bytes[a])).value(); };
  // best[a][b]: layers before b are divided and the last unit is [a, b).
  std::vector<std::vector<Value>> best(n, std::vector<Value>(n + 1, {kNever, kNever}));
  std::vector<std::vector<std::size_t>> from(n, std::vector<std::size_t>(n + 1, 0));
  for (std::size_t b = 1; b <= n; ++b) {
    if (bytes[b] <= capacity.value()) best[0][b] = {gather(0, b), bytes[b]};
  }
  for (std::size_t a = 1; a < n; ++a) {
    for (std::size_t b = a + 1; b <= n; ++b) {
      for (std::size_t before = 0; before < a; ++before) {
        const Value& known = best[before][a];
        const double both = bytes[b] - bytes[before];
        if (known.first == kNever || both > capacity.value()) continue;
        const Value value{known.first + std::max(0.0, gather(a, b) - (time[a] - time[before])), std::max(known.second, both)};
        if (value < best[a][b]) {
          best[a][b] = value;
          from[a][b] = before;
        }
      }
    }
  }
  std::size_t last = 0;
  for (std::size_t a = 1; a < n; ++a) {
    if (best[a][n] < best[last][n]) last = a;
  }
  if (best[last][n].first == kNever) return std::nullopt;
  UnitSplit split{.unit_of = std::vector<int>(n, 0), .exposed = Seconds(best[last][n].first), .most_gathered = Bytes(best[last][n].second)};
  std::vector<std::size_t> starts;
  for (std::size_t a = last, b = n;;) {
    starts.push_back(a);
    if (a == 0) break;
    const std::size_t before = from[a][b];
    b = a;
    a = before;
  }
  for (std::size_t i = 0; i < n; ++i) {
    split.unit_of[i] = static_cast<int>(std::count_if(starts.begin(), starts.end(), [i](std::size_t s) { return s <= i; })) - 1;
  }
  return split;
}

}  // namespace sgsim::split

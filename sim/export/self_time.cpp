#include "sim/export/self_time.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace sgsim::exporting {

std::vector<trace::Nanoseconds> self_times(const std::vector<Stretch>& stretches) {
  const auto end = [&](std::size_t i) { return stretches[i].start + std::max<trace::Nanoseconds>(0, stretches[i].duration); };
  std::vector<trace::Nanoseconds> self;
  for (const Stretch& s : stretches) self.push_back(std::max<trace::Nanoseconds>(0, s.duration));
  std::vector<std::size_t> order(stretches.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return stretches[a].start != stretches[b].start ? stretches[a].start < stretches[b].start : stretches[a].duration > stretches[b].duration;
  });
  std::map<std::uint32_t, std::vector<std::size_t>> open;  // by thread, outermost first
  for (const std::size_t i : order) {
    if (stretches[i].start == trace::kNoTime) continue;
    auto& stack = open[stretches[i].thread];
    while (!stack.empty() && end(stack.back()) <= stretches[i].start) stack.pop_back();
    if (!stack.empty()) {
      const trace::Nanoseconds inside = std::min(end(i), end(stack.back())) - stretches[i].start;
      self[stack.back()] = std::max<trace::Nanoseconds>(0, self[stack.back()] - inside);
    }
    stack.push_back(i);
  }
  return self;
}

}  // namespace sgsim::exporting

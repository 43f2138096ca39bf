#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/record/fit.h"
#include "calibrate/record/key_work.h"

namespace sgsim::calibrate {

// One curve a kind. Its operations move the same bytes in nearly the same time; at each nominal size the median over them,
// brought to that size (rows do not divide every size).
void fit_bandwidth_curves(cost::Profile& p, const Samples& samples, const std::string& source) {
  struct Point {
    double bytes, seconds;
  };
  std::map<graph::MemoryKind, std::map<std::int64_t, std::vector<double>>> times;
  constexpr double kNoRamp = 4e6;  // bytes under which time hardly depends on them
  for (const auto& [key, m] : samples.measured) {
    if (key.group != "memory" || is_held_out(key)) continue;
    const std::int64_t nominal = key.size("bytes");
    const double size = static_cast<double>(nominal);
    times[memory_kind(key.label("kind"))][nominal].push_back(m.time.median * std::max(size, kNoRamp) / std::max(bytes_moved(m), kNoRamp));
  }
  for (const auto& [kind, by_size] : times) {
    cost::BandwidthCurve curve{.kind = kind, .bytes = {}, .time_ns = {}, .sigma = 0.0, .source = source};
    std::vector<double> spreads;
    std::int64_t before = 0;
    for (const auto& [bytes, seconds] : by_size) {
      const double middle = median(seconds);
      for (const double s : seconds) spreads.push_back(std::abs(s / middle - 1.0));
      // A curve does not fall; what falls is noise of the launch floor.
      const std::int64_t time = std::max(before, static_cast<std::int64_t>(std::llround(middle * 1e9)));
      curve.bytes.push_back(bytes);
      curve.time_ns.push_back(time);
      before = time;
    }
    curve.sigma = std::max(0.01, quantile(spreads, 0.9) / 1.645);
    std::erase_if(p.bandwidth_curves, [kind = kind](const cost::BandwidthCurve& c) { return c.kind == kind; });
    p.bandwidth_curves.push_back(std::move(curve));
  }
}

void fit_convolutions(cost::Profile& p, const Samples& samples, const std::string& source) {
  bool first = true;
  for (const auto& [key, m] : samples.measured) {
    if (key.group != "convolution") continue;
    if (first) p.convolutions.clear();
    first = false;
    p.convolutions.push_back({.work = std::get<graph::Convolution>(*work_of(key)), .time_ns = std::llround(m.time.median * 1e9), .source = source});
  }
}

}  // namespace sgsim::calibrate

#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/record/fit.h"
#include "calibrate/record/key_work.h"

namespace sgsim::calibrate {

namespace {

/// One operation's measured times in order of bytes read plus written.
using Series = std::map<double, double>;

/// Straight in log-log between points; nothing outside them.
std::optional<double> at(const Series& series, double bytes) {
  const auto above = series.lower_bound(bytes);
  if (above == series.end()) return std::nullopt;
  if (above->first == bytes) return above->second;
  if (above == series.begin()) return std::nullopt;
  const auto below = std::prev(above);
  const double w = std::log(bytes / below->first) / std::log(above->first / below->first);
  return below->second * std::pow(above->second / below->second, w);
}

}  // namespace

// One curve a kind: at half-octave sizes the median over its operations, whose times differ by a few per cent.
void fit_bandwidth_curves(cost::Profile& p, const Samples& samples, const std::string& source) {
  std::map<graph::MemoryKind, std::map<std::pair<std::string, std::int64_t>, Series>> measured;
  for (const auto& [key, m] : samples.measured) {
    if (key.group != "memory" || is_held_out(key) || key.is("set", "sustained")) continue;
    const auto work = std::get<graph::MemoryBound>(*work_of(key, bytes_moved(m)));
    measured[work.kind][{key.label("op"), key.size("columns")}][(work.read + work.written).value()] = m.time.median;
  }
  for (const auto& [kind, operations] : measured) {
    cost::BandwidthCurve curve{.kind = kind, .bytes = {}, .time_ns = {}, .sigma = 0.0, .source = source};
    curve.counts_sum = kind == graph::MemoryKind::softmax || kind == graph::MemoryKind::cross_entropy;
    std::vector<double> spreads;
    std::int64_t before = 0;
    for (int half_octave = 22; half_octave <= 66; ++half_octave) {  // 2 KB to 8 GB
      const double bytes = std::round(std::exp2(0.5 * half_octave));
      std::vector<double> seconds;
      for (const auto& [operation, series] : operations) {
        if (const auto t = at(series, bytes)) seconds.push_back(*t);
      }
      if (seconds.empty()) continue;
      const double middle = median(seconds);
      for (const double s : seconds) spreads.push_back(std::abs(s / middle - 1.0));
      before = std::max(before, static_cast<std::int64_t>(std::llround(middle * 1e9)));  // what falls is noise of the launch floor
      curve.bytes.push_back(std::llround(bytes));
      curve.time_ns.push_back(before);
    }
    if (curve.bytes.empty()) continue;
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

#include "sim/cost/memory_bound.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/core/error.h"
#include "sim/cost/grid.h"
#include "sim/cost/profile_names.h"

namespace sgsim::cost {
namespace {

const BandwidthCurve* curve_of(const Profile& profile, graph::MemoryKind kind) {
  for (const BandwidthCurve& c : profile.bandwidth_curves) {
    if (c.kind == kind) return &c;
  }
  return nullptr;
}

/// Exponentials, one an element, bind these in generated kernels: their curves are over the larger of the bytes read and written,
/// unless the curve says otherwise.
bool is_bound_by_elements(graph::MemoryKind kind) { return kind == graph::MemoryKind::softmax || kind == graph::MemoryKind::cross_entropy; }

double seconds_at(const BandwidthCurve& curve, double bytes) {
  const auto point = [&](std::size_t i) { return static_cast<double>(curve.time_ns[i]) * 1e-9; };
  if (bytes <= static_cast<double>(curve.bytes.front())) return point(0);
  if (bytes >= static_cast<double>(curve.bytes.back())) return point(curve.bytes.size() - 1) * bytes / static_cast<double>(curve.bytes.back());
  std::size_t i = 0;
  while (static_cast<double>(curve.bytes[i + 1]) < bytes) ++i;
  const auto low = static_cast<double>(curve.bytes[i]), high = static_cast<double>(curve.bytes[i + 1]);
  return point(i) * std::pow(point(i + 1) / point(i), std::log(bytes / low) / std::log(high / low));
}

/// What these kernels' arithmetic is bound by: instructions issued, 4 schedulers of 32 lanes a clock and SM on every GPU since Volta
/// (a multiply-add each is 2 flops), which the float32 rate is on an H100 and half of which it is on an A100.
FlopsPerSecond instruction_rate(const Datasheet& gpu) {
  return std::max(gpu.vector_peak.value, FlopsPerSecond(gpu.sms.value * gpu.clock_hz.value * 4.0 * 32.0 * 2.0));
}

}  // namespace

Estimate memory_bound_time(const Profile& profile, const graph::MemoryBound& work, Diagnostics& diagnostics) {
  const BandwidthCurve* curve = curve_of(profile, work.kind);
  if (curve == nullptr) {
    diagnostics.add("cost.memory_bound.no_curve", Severity::warning, std::string(name_of(work.kind)) + " takes the pointwise curve");
    curve = curve_of(profile, graph::MemoryKind::pointwise);
    SGSIM_CHECK(curve != nullptr, "a profile without a pointwise bandwidth curve");
  }
  const Bytes bytes = work.read + work.written;
  const Bytes abscissa = is_bound_by_elements(work.kind) && !curve->counts_sum ? std::max(work.read, work.written) : bytes;
  const double by_bytes = seconds_at(*curve, abscissa.value());
  const double by_flops = work.flops / instruction_rate(profile.gpu) / 1.0_s;
  Estimate e{.time = Seconds(std::max(by_bytes, by_flops)), .flops = work.flops, .bytes = bytes, .bound = Bound::memory, .source = Source::interpolated, .sigma = curve->sigma};
  if (abscissa.value() <= 2.0 * static_cast<double>(curve->bytes.front())) e.bound = Bound::latency;
  if (by_flops > by_bytes) e.bound = Bound::compute;
  return e;
}

}  // namespace sgsim::cost

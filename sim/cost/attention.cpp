#include "sim/cost/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/error.h"
#include "sim/cost/grid.h"

namespace sgsim::cost {
namespace {

double log_distance(std::int64_t a, std::int64_t b) { return std::abs(std::log(static_cast<double>(a) / static_cast<double>(b))); }

const AttentionModel& model_of(const Profile& profile, const graph::Attention& work) {
  const AttentionModel* found = nullptr;
  for (const AttentionModel& m : profile.attention_models) {
    if (m.pass != work.pass || m.dense_mask != work.dense_mask) continue;
    if (found == nullptr || log_distance(m.head_dim, work.head_dim) < log_distance(found->head_dim, work.head_dim)) found = &m;
  }
  if (found == nullptr) {
    throw InputError({.file = profile.name, .where = "$.attention_models", .found = "no model for this pass and mask",
                      .expected = "one for each of forward and backward, with and without a dense mask", .hint = ""});
  }
  return *found;
}

FlopsPerSecond peak_of(const Profile& profile, graph::DType dtype) {
  const auto peak = profile.gpu.peak.find(dtype);
  if (peak != profile.gpu.peak.end()) return peak->second.value;
  throw InputError({.file = profile.name, .where = "$.gpu.peak", .found = "no rate of " + std::string(graph::to_text(dtype)),
                    .expected = "a rate for attention's element type", .hint = ""});
}

Seconds backward_helpers(const Profile& profile, const graph::Attention& work) {
  const double query_elements = static_cast<double>(work.batch) * static_cast<double>(work.heads) * static_cast<double>(work.q_len) * static_cast<double>(work.head_dim);
  const double key_elements = static_cast<double>(work.batch) * static_cast<double>(work.kv_len) * static_cast<double>(work.head_dim);
  double bytes = 10.0 * query_elements;
  if (work.heads != work.kv_heads) bytes += 4.0 * key_elements * static_cast<double>(work.heads + work.kv_heads);
  const double rate = profile.gpu.hbm_bandwidth.value.value() * profile.factors.at("attention.helper_memory_efficiency").value;
  return Seconds(bytes / rate);
}

/// The bound that counts waves; see attention_bound.
Seconds waves_bound(const Profile& profile, const AttentionModel& model, const graph::Attention& work) {
  const AttentionWaves& c = *model.waves;
  const bool forward = work.pass == graph::Pass::forward;
  const auto sms = static_cast<double>(profile.gpu.sms.value), rows = kAttentionRows;
  const double products = forward ? 2.0 : 5.0;
  const double block = products * 2.0 * rows * rows * static_cast<double>(work.head_dim) * sms / (peak_of(profile, work.dtype).value() * c.efficiency);
  const bool divides = work.kv_len % static_cast<std::int64_t>(rows) == 0;
  const double step = divides ? block : block * c.ragged;
  const double q_blocks = std::ceil(static_cast<double>(work.q_len) / rows);
  const double kv_blocks = forward ? std::ceil(static_cast<double>(work.kv_len) / rows) : std::ceil(2.0 * static_cast<double>(work.kv_len) / rows) / 2.0;
  const double sequences = static_cast<double>(work.batch) * static_cast<double>(work.heads);
  const double longest = c.start.value() + step * kv_blocks;
  double seconds = 0.0;
  if (work.causal) {
    const double pairs = std::max(q_blocks * kv_blocks - q_blocks * (q_blocks - 1.0) / 2.0, q_blocks * kv_blocks / 2.0);
    const double spread = sequences * (c.start.value() * q_blocks + step * pairs) / sms;
    seconds = std::max(spread + c.tail * longest, longest);
  } else {
    const double waves = sequences * q_blocks / sms;
    seconds = (waves + c.wave_weight * (std::ceil(waves) - waves)) * longest;
  }
  const double memory = graph::bytes_of(work) / profile.gpu.hbm_bandwidth.value / 1.0_s;
  Seconds time = Seconds(std::max(seconds, memory)) + model.fixed;
  if (!forward) time += backward_helpers(profile, work);
  return time;
}

const AttentionTable* find_table(const Profile& profile, const graph::Attention& work) {
  for (const AttentionTable& t : profile.attention_tables) {
    const bool half = size_of(t.dtype) == 2 && size_of(work.dtype) == 2;  // FP16 and BF16 run at one rate
    if ((t.dtype == work.dtype || half) && t.pass == work.pass && t.causal == work.causal && t.dense_mask == work.dense_mask && t.head_dim == work.head_dim) return &t;
  }
  return nullptr;
}

}  // namespace

Seconds attention_bound(const Profile& profile, const AttentionModel& model, const graph::Attention& work) {
  if (model.waves) return waves_bound(profile, model, work);
  const double peak = peak_of(profile, work.dtype).value();
  const auto kv = static_cast<double>(work.kv_len);
  const double diagonal = work.causal ? 1.0 + kAttentionRows / kv : 1.0;
  const double spread = graph::flops_of(work).value() * diagonal / (peak * model.efficiency);
  const double products = work.pass == graph::Pass::forward ? 2.0 : 5.0;
  const double block = products * 2.0 * kAttentionRows * kv * static_cast<double>(work.head_dim);
  const double longest = block * static_cast<double>(profile.gpu.sms.value) / (peak * model.critical_efficiency);
  const double memory = graph::bytes_of(work) / profile.gpu.hbm_bandwidth.value / 1.0_s;
  Seconds time = Seconds(std::max(spread + longest, memory)) + model.fixed;
  if (work.pass == graph::Pass::backward) time += backward_helpers(profile, work);
  return time;
}

Estimate attention_time(const Profile& profile, const graph::Attention& work, Diagnostics& diagnostics) {
  const AttentionModel& model = model_of(profile, work);
  Estimate e{.time = attention_bound(profile, model, work), .flops = graph::flops_of(work), .bytes = graph::bytes_of(work),
             .bound = Bound::compute, .source = Source::fitted, .sigma = model.sigma};
  const AttentionTable* table = find_table(profile, work);
  if (table == nullptr) return e;
  const std::int64_t group = std::max<std::int64_t>(1, work.heads / work.kv_heads);
  std::array<AxisPosition, 3> position = {locate(table->group, group), locate(table->batch_heads, work.batch * work.heads), locate(table->length, work.kv_len)};
  if (table->group.size() == 1) position[0] = {.on_node = true};  // measured once: no dependence known
  graph::Attention corner = work;
  const auto value = [&](const std::array<std::size_t, 3>& i) {
    const std::int64_t ns = table->time_ns[(i[0] * table->batch_heads.size() + i[1]) * table->length.size() + i[2]];
    if (ns == 0) return std::numeric_limits<double>::quiet_NaN();
    corner.batch = 1;
    corner.heads = table->batch_heads[i[1]];
    corner.kv_heads = std::max<std::int64_t>(1, corner.heads / table->group[i[0]]);
    corner.q_len = corner.kv_len = table->length[i[2]];
    return std::log(static_cast<double>(ns) * 1e-9 / attention_bound(profile, model, corner).value());
  };
  const auto found = interpolate(position, value);
  const bool outside = position[0].outside || position[1].outside || position[2].outside || found.known == 0.0;
  e.time = e.time * std::exp(found.value);
  if (outside) {
    diagnostics.add("cost.attention.outside_measured_range", Severity::warning,
                    "batch * heads " + std::to_string(work.batch * work.heads) + ", length " + std::to_string(work.kv_len));
    e.source = Source::analytic;
    return e;
  }
  const bool on_node = position[0].on_node && position[1].on_node && position[2].on_node && work.q_len == work.kv_len;
  e.source = on_node ? Source::measured : Source::interpolated;
  e.sigma = table->held_out.p90 / 1.645;
  return e;
}

}  // namespace sgsim::cost

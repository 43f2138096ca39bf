#include "sim/cost/matmul.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/error.h"
#include "sim/cost/grid.h"

namespace sgsim::cost {
namespace {

// Same-rate stand-ins on the GPUs of the profiles: datasheets give one number for FP16 and BF16, and one for both FP8.
graph::DType stand_in(graph::DType dtype) {
  switch (dtype) {
    case graph::DType::float16: return graph::DType::bfloat16;
    case graph::DType::bfloat16: return graph::DType::float16;
    case graph::DType::float8_e5m2: return graph::DType::float8_e4m3fn;
    default: return dtype;
  }
}

double arithmetic_seconds(const Datasheet& gpu, const MatmulModel& model, const graph::Matmul& work, double peak) {
  const auto m = static_cast<double>(work.m), n = static_cast<double>(work.n), k = static_cast<double>(work.k), batch = static_cast<double>(work.batch);
  if (model.tiles.empty()) return 2.0 * batch * m * n * (k + model.k_overhead) / peak;
  const auto sms = static_cast<double>(gpu.sms.value);
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : model.tiles) {
    const std::int64_t across = (work.m + tile.m - 1) / tile.m, down = (work.n + tile.n - 1) / tile.n;
    const double waves = batch * static_cast<double>(across) * static_cast<double>(down) / sms;
    const double weight = waves < 1.0 ? model.partial_wave_weight : model.wave_weight;
    const double counted = waves + weight * (std::ceil(waves) - waves);
    const double area = static_cast<double>(tile.m) * static_cast<double>(tile.n);
    best = std::min(best, counted * area / tile.efficiency);
  }
  return best * 2.0 * (k + model.k_overhead) * sms / peak;
}

double joined(double a, double b, double sharpness) {
  const double most = std::max(a, b), least = std::min(a, b);
  if (least < most * 1e-3 || (sharpness >= 8.0 && least < most * 0.2)) return most;  // within 4e-7 of the norm, and quick
  return most * std::pow(1.0 + std::pow(least / most, sharpness), 1.0 / sharpness);
}

const MatmulTable* find_table(const Profile& profile, graph::DType dtype, bool a_transposed, bool b_transposed, bool batched) {
  const MatmulTable* found = nullptr;
  for (const MatmulTable& t : profile.matmul_tables) {
    if (t.dtype != dtype || t.a_transposed != a_transposed || t.b_transposed != b_transposed) continue;
    const bool for_batches = t.batch.back() > 1;
    if (found == nullptr || for_batches == batched) found = &t;
  }
  return found;
}

struct Choice {
  const MatmulTable* table = nullptr;
  double layout_factor = 1.0;
};

/// The table of the layout and type; else of the stand-in type; else the linear layer's with the layout's factor.
Choice choose(const Profile& profile, const MatmulModel& model, const graph::Matmul& work) {
  const bool batched = work.batch > 1;
  for (const graph::DType dtype : {work.dtype, stand_in(work.dtype)}) {
    if (const auto* t = find_table(profile, dtype, work.a_transposed, work.b_transposed, batched)) return {t, 1.0};
  }
  const double factor = work.a_transposed ? model.nt_factor : work.b_transposed ? 1.0 : model.nn_factor;
  for (const graph::DType dtype : {work.dtype, stand_in(work.dtype)}) {
    if (const auto* t = find_table(profile, dtype, false, true, batched)) return {t, factor};
  }
  return {nullptr, factor};
}

struct Ratio {
  double log_ratio = 0.0;
  bool on_node = false, outside = false, empty = false;
};

/// Measured over bound at this shape. A batch that the table does not have is folded into m: the same count of tiles.
Ratio ratio_at(const Profile& profile, const MatmulModel& model, const MatmulTable& table, const graph::Matmul& work) {
  const bool fold = table.batch.size() == 1 && table.batch.front() == 1;
  const std::int64_t rows = fold ? work.m * work.batch : work.m;
  const std::array<AxisPosition, 4> position = {fold ? AxisPosition{.on_node = true} : locate(table.batch, work.batch), locate(table.m, rows),
                                                locate(table.n, work.n), locate(table.k, work.k)};
  graph::Matmul corner = work;
  const auto value = [&](const std::array<std::size_t, 4>& i) {
    const std::size_t at = ((i[0] * table.m.size() + i[1]) * table.n.size() + i[2]) * table.k.size() + i[3];
    if (table.time_ns[at] == 0) return std::numeric_limits<double>::quiet_NaN();
    corner.batch = table.batch[i[0]];
    corner.m = table.m[i[1]];
    corner.n = table.n[i[2]];
    corner.k = table.k[i[3]];
    return std::log(static_cast<double>(table.time_ns[at]) * 1e-9 / matmul_bound(profile.gpu, model, corner).value());
  };
  const auto found = interpolate(position, value);
  Ratio result{.log_ratio = found.value, .on_node = work.batch == 1, .outside = false, .empty = found.known == 0.0};
  for (const AxisPosition& p : position) {
    result.on_node = result.on_node && p.on_node;
    result.outside = result.outside || p.outside;
  }
  if (fold && work.m <= table.m.back() && rows > table.m.back()) {
    result.outside = position[2].outside || position[3].outside || work.m < table.m.front();
  }
  return result;
}

bool aligned(const graph::Matmul& work) {
  const std::int64_t elements = std::max<std::int64_t>(1, 16 / size_of(work.dtype));
  const std::int64_t a_row = work.a_transposed ? work.m : work.k, b_row = work.b_transposed ? work.k : work.n;
  return a_row % elements == 0 && b_row % elements == 0 && work.n % elements == 0;
}

}  // namespace

const MatmulModel& matmul_model(const Profile& profile, graph::DType dtype) {
  for (const graph::DType wanted : {dtype, stand_in(dtype)}) {
    for (const MatmulModel& m : profile.matmul_models) {
      if (m.dtype == wanted) return m;
    }
  }
  throw InputError({.file = profile.name, .where = "$.matmul_models", .found = "no model of " + std::string(graph::to_text(dtype)),
                    .expected = "one of this type", .hint = "this GPU has no matrix units for the type, or the profile was made without it"});
}

MatmulBound matmul_bound_parts(const Datasheet& gpu, const MatmulModel& model, const graph::Matmul& work) {
  const auto peak = gpu.peak.find(model.dtype);
  SGSIM_CHECK(peak != gpu.peak.end(), "a matrix product model without a peak rate");
  const double arithmetic = arithmetic_seconds(gpu, model, work, peak->second.value.value());
  const double memory = graph::bytes_of(work).value() / (gpu.hbm_bandwidth.value.value() * model.memory_efficiency);
  return {.time = Seconds(joined(arithmetic, memory, model.sharpness)) + model.fixed, .arithmetic = Seconds(arithmetic), .memory = Seconds(memory)};
}

Seconds matmul_bound(const Datasheet& gpu, const MatmulModel& model, const graph::Matmul& work) {
  return matmul_bound_parts(gpu, model, work).time;
}

Estimate matmul_time(const Profile& profile, const graph::Matmul& work, Diagnostics& diagnostics) {
  const MatmulModel& model = matmul_model(profile, work.dtype);
  const MatmulBound bound = matmul_bound_parts(profile.gpu, model, work);
  Estimate e{.time = bound.time, .flops = graph::flops_of(work), .bytes = graph::bytes_of(work), .source = Source::analytic, .sigma = model.sigma};
  e.bound = bound.memory > bound.arithmetic ? Bound::memory : Bound::compute;
  if (bound.time - model.fixed < model.fixed) e.bound = Bound::latency;
  const Choice choice = choose(profile, model, work);
  Ratio ratio{.log_ratio = -std::log(model.math_efficiency), .outside = true, .empty = true};
  if (choice.table != nullptr) ratio = ratio_at(profile, model, *choice.table, work);
  if (ratio.empty) ratio.log_ratio = -std::log(model.math_efficiency);
  double factor = std::exp(ratio.log_ratio) * choice.layout_factor;
  if (!aligned(work)) factor *= model.unaligned_factor;
  e.time = bound.time * factor;
  if (choice.table == nullptr) {  // a type that nobody measured: the model alone, by intent
    e.source = Source::fitted;
    return e;
  }
  if (ratio.outside || ratio.empty) {
    diagnostics.add("cost.matmul.outside_measured_range", Severity::warning,
                    "batch " + std::to_string(work.batch) + ", m " + std::to_string(work.m) + ", n " + std::to_string(work.n) + ", k " + std::to_string(work.k));
    return e;
  }
  const bool as_measured = ratio.on_node && choice.layout_factor == 1.0 && aligned(work) && work.dtype == choice.table->dtype;
  e.source = as_measured ? Source::measured : Source::interpolated;
  e.sigma = choice.table->held_out.p90 / 1.645;  // a 90 % interval of a normal distribution is 1.645 sigma wide each way
  return e;
}

}  // namespace sgsim::cost

#include "sim/cost/power.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/core/error.h"
#include "sim/cost/profile.h"

namespace sgsim::cost {
namespace {

constexpr const char* kKindNames[kPowerKinds] = {"matmul", "attention", "memory_bound"};

Seconds energy_of(const PowerModel& model, const graph::Work& work) {
  if (std::holds_alternative<graph::MemoryBound>(work)) return Seconds(model.memory_bound * graph::bytes_of(work).value() / 1e13);
  const double flops = graph::flops_of(work).value() / 1e15;
  const auto* a = std::get_if<graph::Attention>(&work);
  if (a == nullptr) {
    const auto* product = std::get_if<graph::Matmul>(&work);
    const auto typed = product == nullptr ? model.matmul_of_type.end() : model.matmul_of_type.find(product->dtype);
    return Seconds((typed == model.matmul_of_type.end() ? model.matmul : typed->second) * flops);
  }
  const auto pass = static_cast<std::size_t>(a->pass);
  const double scores = static_cast<double>(a->batch * a->heads) * static_cast<double>(a->q_len) * static_cast<double>(a->kv_len) * (a->causal ? 0.5 : 1.0) / 1e12;
  return Seconds(model.attention[pass] * flops + model.scores[pass] * scores);
}

}  // namespace

std::optional<PowerModel> power_model(const Profile& profile) {
  if (!profile.factors.contains("power.base")) return std::nullopt;
  const auto factor = [&](const std::string& name) {
    const auto found = profile.factors.find("power." + name);
    if (found == profile.factors.end()) throw InputError({.file = profile.name, .where = "$.factors", .found = "power.base, but no power." + name, .expected = "all factors of the power model, or none", .hint = "docs/formats/profile.md lists them"});
    return found->second.value;
  };
  PowerModel m{.base = factor("base"), .matmul = factor("energy.matmul"), .attention = {factor("energy.attention_forward"), factor("energy.attention_backward")},
               .scores = {factor("energy.scores_forward"), factor("energy.scores_backward")}, .memory_bound = factor("energy.memory_bound"), .communication = factor("communication"),
               .energy_exponent = {}, .time_exponent = {}};
  for (const graph::DType type : {graph::DType::float16, graph::DType::float32, graph::DType::float8_e4m3fn, graph::DType::float8_e5m2}) {
    const auto found = profile.factors.find("power.energy.matmul." + std::string(graph::to_text(type)));
    if (found != profile.factors.end()) m.matmul_of_type[type] = found->second.value;
  }
  for (std::size_t k = 0; k < kPowerKinds; ++k) {
    m.energy_exponent[k] = factor(std::string("energy_exponent.") + kKindNames[k]);
    m.time_exponent[k] = factor(std::string("time_exponent.") + kKindNames[k]);
  }
  return m;
}

PowerKind power_kind(const graph::Work& work) {
  if (std::holds_alternative<graph::MemoryBound>(work)) return PowerKind::memory_bound;
  return std::holds_alternative<graph::Attention>(work) ? PowerKind::attention : PowerKind::matmul;
}

void PowerLoad::add(const PowerModel& model, const graph::Work& work, Seconds at_full_clock) {
  const auto k = static_cast<std::size_t>(power_kind(work));
  time[k] += at_full_clock;
  energy[k] += energy_of(model, work);
}

double power_share(const PowerModel& model, const PowerLoad& load, double f) {
  Seconds energy = model.communication * load.communication, busy, longer;
  for (std::size_t k = 0; k < kPowerKinds; ++k) {
    energy += load.energy[k] * std::pow(f, model.energy_exponent[k]);
    busy += load.time[k];
    longer += load.time[k] * std::pow(f, -model.time_exponent[k]);
  }
  const Seconds length = longer + std::max(Seconds(), load.step - busy);
  return model.base + (length.value() > 0.0 ? energy / length : 0.0);
}

double clock_share(const PowerModel& model, const PowerLoad& load) {
  if (power_share(model, load, 1.0) <= 1.0) return 1.0;
  constexpr double kLeast = 0.2;  // far below any clock that a power limit alone leads to
  double low = kLeast, high = 1.0;
  for (int i = 0; i < 50; ++i) {
    const double middle = 0.5 * (low + high);
    (power_share(model, load, middle) > 1.0 ? high : low) = middle;
  }
  return low;
}

double slowdown(const PowerModel& model, const graph::Work& work, double clock) { return std::pow(clock, -model.time_exponent[static_cast<std::size_t>(power_kind(work))]); }

}  // namespace sgsim::cost

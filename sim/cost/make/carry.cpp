#include "sim/cost/make/parts.h"

#include <string>
#include <utility>

#include "sim/cost/make/fits.h"
#include "sim/cost/make/tables.h"

namespace sgsim::cost::make {
namespace {

constexpr const char* kPrefix = "h200-";

/// Copies provenance of the measured GPU under names of its own, and says what was done with it.
class Sources {
 public:
  Sources(Profile& to, const Profile& from, std::string how) : to_(to), from_(from), how_(std::move(how)) {}

  std::string carried(const std::string& source) {
    const std::string name = kPrefix + source;
    if (!to_.sources.contains(name)) {
      Provenance p = from_.sources.at(source);
      if (p.kind == ProvenanceKind::measured) p.kind = ProvenanceKind::fitted;
      p.note += (p.note.empty() ? "" : "; ") + how_;
      to_.sources[name] = p;
    }
    return name;
  }

 private:
  Profile& to_;
  const Profile& from_;
  std::string how_;
};

const MatmulModel& model_of(const Profile& p, graph::DType dtype) {
  for (const MatmulModel& m : p.matmul_models) {
    if (m.dtype == dtype) return m;
  }
  return p.matmul_models.front();
}

void carry_products(Profile& p, const Profile& measured, Sources& sources) {
  p.matmul_models = measured.matmul_models;
  for (MatmulModel& m : p.matmul_models) m.source = sources.carried(m.source);
  for (const MatmulTable& table : measured.matmul_tables) {
    const MatmulModel& model = model_of(measured, table.dtype);
    MatmulTable t = carried_table(table, measured.gpu, model, p.gpu, model);
    t.source = sources.carried(table.source);
    p.matmul_tables.push_back(std::move(t));
  }
}

void carry_attention(Profile& p, const Profile& measured, Sources& sources) {
  p.attention_models = measured.attention_models;
  p.attention_tables = measured.attention_tables;
  for (AttentionModel& m : p.attention_models) m.source = sources.carried(m.source);
  for (AttentionTable& t : p.attention_tables) t.source = sources.carried(t.source);
}

void carry_curves(Profile& p, const Profile& measured, Sources& sources) {
  const double slower = measured.gpu.hbm_bandwidth.value / p.gpu.hbm_bandwidth.value;
  for (const BandwidthCurve& curve : measured.bandwidth_curves) {
    BandwidthCurve c = curve.kind == graph::MemoryKind::cross_entropy ? curve : scaled_curve(curve, slower);
    c.sigma = curve.sigma + 0.05;  // as other carried curves
    c.source = sources.carried(curve.source);
    p.bandwidth_curves.push_back(std::move(c));
  }
}

/// What belongs to SMs and power, not to links: "power.*" in shares of this part's own limit.
void carry_factors(Profile& p, const Profile& measured, double limit_share, Sources& sources) {
  for (const auto& [name, factor] : measured.factors) {
    const bool drawn = name.starts_with("power.energy.") || name == "power.base" || name == "power.communication";
    const bool kept = name.starts_with("power.") || name.starts_with("attention.") || name.starts_with("interference.intra_node.") || name.starts_with("sustained.");
    if (kept) p.factors[name] = {drawn ? factor.value / limit_share : factor.value, sources.carried(factor.source)};
  }
  for (const auto& [name, time] : measured.times) p.times[name] = {time.value, sources.carried(time.source)};
  for (const auto& [name, rate] : measured.rates) {
    if (name.starts_with("copy.")) p.rates[name] = {rate.value, sources.carried(rate.source)};
  }
}

}  // namespace

void carry_from_measured(Profile& p, const Profile& measured, double watts, double measured_watts) {
  Sources sources(p, measured, watts == measured_watts ? "carried from the H200: same SMs, clock and power limit; bytes by the ratio of HBM bandwidths"
                                                       : "carried from the H200: same SMs and clock, a power limit of " + std::to_string(static_cast<int>(watts)) + " W; bytes by the ratio of HBM bandwidths");
  carry_products(p, measured, sources);
  carry_attention(p, measured, sources);
  carry_curves(p, measured, sources);
  carry_factors(p, measured, watts / measured_watts, sources);
}

}  // namespace sgsim::cost::make

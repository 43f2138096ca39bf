#include "sim/cost/make/fits.h"

#include <algorithm>
#include <cmath>

#include "sim/core/diagnostics.h"
#include "sim/cost/attention.h"
#include "sim/cost/collective.h"
#include "sim/cost/cost.h"
#include "sim/cost/make/robust.h"

namespace sgsim::cost::make {
namespace {

cluster::GroupShape one_node(const Profile& profile, int ranks) {
  cluster::GroupShape g;
  g.ranks = g.ranks_per_node = ranks;
  g.nvlink_bandwidth = profile.rates.at("nvlink.bandwidth").value;
  g.intra = cluster::IntraNode::nvswitch;
  return g;
}

ProtocolCost& cost_of(Profile& profile, Algorithm algorithm, Protocol protocol) {
  for (ProtocolCost& c : profile.protocols) {
    if (c.algorithm == algorithm && c.protocol == protocol && c.link == LinkClass::nvlink) return c;
  }
  profile.protocols.push_back({.algorithm = algorithm, .protocol = protocol, .link = LinkClass::nvlink, .base = {}, .hop = {}, .efficiency = 1.0, .source = {}});
  return profile.protocols.back();
}

double share(double x) { return 1.0 / (1.0 + std::exp(-x)); }  // keeps a fitted efficiency in (0, 1)

/// x: per protocol log base us, log hop us, logit efficiency; last: log local bandwidth in 100 GB/s.
void set_ring(Profile& profile, const std::vector<double>& x) {
  std::size_t i = 0;
  for (const Protocol p : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    ProtocolCost& c = cost_of(profile, Algorithm::ring, p);
    c.base = Seconds(std::exp(x[i]) * 1e-6);
    c.hop = Seconds(std::exp(x[i + 1]) * 1e-6);
    c.efficiency = share(x[i + 2]);
    i += 3;
  }
  profile.rates["collective.local"].value = BytesPerSecond(std::exp(x[i]) * 1e11);
}

void set_pairwise(Profile& profile, const std::vector<double>& x) {
  std::size_t i = 0;
  for (const Protocol p : {Protocol::ll, Protocol::simple}) {
    ProtocolCost& c = cost_of(profile, Algorithm::pairwise, p);
    c.base = Seconds(std::exp(x[i]) * 1e-6);
    c.hop = Seconds(std::exp(x[i + 1]) * 1e-6);
    c.efficiency = share(x[i + 2]);
    i += 3;
  }
}

double clipped_error(const Profile& profile, const std::vector<CollectiveRow>& rows) {
  double sum = 0.0;
  for (const CollectiveRow& r : rows) {
    const Seconds t = choose_collective(profile, r.op, Bytes(static_cast<double>(r.bytes)), one_node(profile, r.ranks)).time();
    sum += std::min(0.3, std::abs(std::log(t.value() * 1e6 / r.us)));  // a row where NCCL's own choice jumps must not bend the fit
  }
  return sum / static_cast<double>(rows.size());
}

constexpr int kEvaluations = 2500;

}  // namespace

void fit_attention(const Profile& profile, AttentionModel& model, const std::vector<Traced<graph::Attention>>& measured) {
  std::vector<Traced<graph::Attention>> own;
  for (const auto& m : measured) {
    if (m.work.pass == model.pass && m.work.dense_mask == model.dense_mask && m.work.head_dim == model.head_dim) own.push_back(m);
  }
  const auto errors = [&](const std::vector<double>& x) {
    model.efficiency = share(x[0]);
    model.critical_efficiency = std::exp(x[1]);
    std::vector<double> e;
    for (const auto& m : own) e.push_back(std::abs(std::log(attention_bound(profile, model, m.work).value() * 1e6 / m.us)));
    return e;
  };
  const auto cost = [&](const std::vector<double>& x) {
    double sum = 0.0;
    for (const double e : errors(x)) sum += e;
    return sum / static_cast<double>(own.size()) + 0.005 * std::abs(x[1] - x[0]);
  };
  const std::vector<double> best = minimize(cost, {0.0, 0.0}, {0.3, 0.3}, 600);
  model.sigma = std::max(0.03, quantile(errors(best), 0.9) / 1.645);
}

BandwidthCurve fit_curve(graph::MemoryKind kind, const std::vector<TracedBytes>& points, double floor_us, BytesPerSecond plateau) {
  constexpr double kWidth = 1.0;  // octaves
  const auto reference = [&](double bytes) { return floor_us + bytes / plateau.value() * 1e6; };
  BandwidthCurve curve{.kind = kind, .bytes = {}, .time_ns = {}, .sigma = 0.0, .source = {}};
  double before = 0.0;
  for (int power = 12; power <= 32; power += 2) {
    const double bytes = std::exp2(power);
    double offset = 0.0;
    for (int round = 0; round < 5; ++round) {  // iterated weights: near a weighted median
      double sum = 0.0, weight = 0.05;         // a little of the reference itself, alone where nothing was measured
      for (const TracedBytes& p : points) {
        if (p.bytes < 64.0) continue;
        const double gap = std::log2(p.bytes / bytes) / kWidth;
        const double value = std::log(p.us / reference(p.bytes));
        const double w = std::exp(-0.5 * gap * gap) / std::max(0.05, std::abs(value - offset));
        sum += w * value;
        weight += w;
      }
      offset = sum / weight;
    }
    before = std::max(before, reference(bytes) * std::exp(offset));
    curve.bytes.push_back(std::int64_t{1} << power);
    curve.time_ns.push_back(std::llround(before * 1e3));
  }
  return curve;
}

BandwidthCurve scaled_curve(const BandwidthCurve& curve, double slower) {
  BandwidthCurve result = curve;
  for (std::int64_t& ns : result.time_ns) ns = curve.time_ns.front() + std::llround(static_cast<double>(ns - curve.time_ns.front()) * slower);
  return result;
}

FitError fit_collectives(Profile& profile, const std::vector<CollectiveRow>& rows, bool multicast) {
  std::vector<CollectiveRow> ring, pairwise;
  for (const CollectiveRow& r : rows) {
    if (r.op == graph::CollectiveOp::all_to_all) pairwise.push_back(r);
    else if (!(multicast && r.op == graph::CollectiveOp::all_reduce && r.ranks >= 5 && r.bytes >= (1 << 20))) ring.push_back(r);
  }
  const std::vector<ProtocolCost> others = profile.protocols;
  profile.protocols.clear();  // nothing but the ring may win while it is fitted
  const auto ring_cost = [&](const std::vector<double>& x) { set_ring(profile, x); return clipped_error(profile, ring); };
  // Start: latencies and bandwidth shares of NCCL's tuning.cc (base 6.6 / 14 / 8.4 us, NVLink hop 0.6 / 1.9 / 3.4 us).
  std::vector<double> x = {std::log(6.6), std::log(0.8), -1.0, std::log(10.0), std::log(1.5), 0.4, std::log(20.0), std::log(3.4), 1.2, std::log(7.0)};
  const std::vector<double> steps = {0.3, 0.3, 0.5, 0.3, 0.3, 0.5, 0.3, 0.3, 0.3, 0.5};
  for (int round = 0; round < 3; ++round) x = minimize(ring_cost, x, steps, kEvaluations);
  set_ring(profile, x);
  const auto pair_cost = [&](const std::vector<double>& y) { set_pairwise(profile, y); return clipped_error(profile, pairwise); };
  std::vector<double> y = {std::log(8.0), std::log(0.3), -2.0, std::log(15.0), std::log(0.3), 0.8};
  for (int round = 0; round < 3; ++round) y = minimize(pair_cost, y, {0.3, 0.5, 0.5, 0.3, 0.5, 0.3}, kEvaluations);
  set_pairwise(profile, y);
  profile.protocols.insert(profile.protocols.end(), others.begin(), others.end());
  const std::vector<double> e = collective_errors(profile, rows);
  return {.median = median(e), .p90 = quantile(e, 0.9), .rows = static_cast<int>(e.size())};
}

std::vector<double> collective_errors(const Profile& profile, const std::vector<CollectiveRow>& rows) {
  std::vector<double> errors;
  for (const CollectiveRow& r : rows) {
    const Seconds t = choose_collective(profile, r.op, Bytes(static_cast<double>(r.bytes)), one_node(profile, r.ranks)).time();
    errors.push_back(std::abs(t.value() * 1e6 / r.us - 1.0));
  }
  return errors;
}

LayoutFactors layout_factors(const Profile& profile, const std::vector<Traced<graph::Matmul>>& measured) {
  std::vector<double> linear, nn, nt, all;
  Diagnostics diagnostics;
  for (const auto& m : measured) {
    const graph::Matmul& w = m.work;
    if (w.dtype != graph::DType::bfloat16 || w.m < 256 || w.n < 256 || w.k < 256 || w.m % 8 != 0 || w.n % 8 != 0 || w.k % 8 != 0) continue;
    graph::Matmul as_linear = w;
    as_linear.a_transposed = false;
    as_linear.b_transposed = true;
    const double ratio = m.us * 1e-6 / kernel_time(profile, as_linear, diagnostics).time.value();
    (w.a_transposed ? nt : w.b_transposed ? linear : nn).push_back(ratio);
    all.push_back(std::abs(ratio - 1.0));
  }
  LayoutFactors f{.linear = median(linear), .nn = 1.0, .nt = 1.0, .spread = quantile(all, 0.9), .shapes = static_cast<int>(all.size())};
  f.nn = median(nn) / f.linear;
  f.nt = median(nt) / f.linear;
  return f;
}

}  // namespace sgsim::cost::make

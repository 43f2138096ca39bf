#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "sim/core/units_text.h"
#include "sim/cost/collective.h"
#include "sim/cost/cost.h"
#include "sim/cost/profile_names.h"

namespace sgsim::cost {
namespace {

/// NVLink of the measured node, raw: the sweeps' shape is the group's own with this many ranks.
double log_ratio(const Profile& profile, const CollectiveSweep& sweep, std::size_t i, cluster::GroupShape group) {
  group.ranks = group.ranks_per_node = sweep.ranks;
  group.nvlink_latency_added = {};
  group.nvlink_bandwidth = profile.rates.at("nvlink.bandwidth").value;
  const Seconds model = choose_collective(profile, sweep.op, Bytes(static_cast<double>(sweep.bytes[i])), group).time();
  return std::log(static_cast<double>(sweep.time_ns[i]) * 1e-9 / model.value());
}

struct Correction {
  double log_ratio = 0.0;
  bool exact_ranks = false, inside = false;
};

/// Measured over modelled time at this size, straight in log(bytes), the edges' beyond them.
Correction along(const Profile& profile, const CollectiveSweep& sweep, double bytes, const cluster::GroupShape& group) {
  const auto size = [&](std::size_t i) { return static_cast<double>(sweep.bytes[i]); };
  if (bytes <= size(0)) return {.log_ratio = log_ratio(profile, sweep, 0, group), .inside = bytes == size(0)};
  const std::size_t last = sweep.bytes.size() - 1;
  if (bytes >= size(last)) return {.log_ratio = log_ratio(profile, sweep, last, group), .inside = bytes == size(last)};
  std::size_t i = 0;
  while (size(i + 1) < bytes) ++i;
  const double w = std::log(bytes / size(i)) / std::log(size(i + 1) / size(i));
  return {.log_ratio = (1.0 - w) * log_ratio(profile, sweep, i, group) + w * log_ratio(profile, sweep, i + 1, group), .inside = true};
}

/// From the sweeps of the operation with the next fewer and the next more ranks; nothing outside them or over other links.
std::optional<Correction> correction(const Profile& profile, graph::CollectiveOp op, double bytes, const cluster::GroupShape& group) {
  if (group.nodes != 1 || group.intra == cluster::IntraNode::pcie) return std::nullopt;
  const CollectiveSweep* below = nullptr;
  const CollectiveSweep* above = nullptr;
  for (const CollectiveSweep& s : profile.sweeps) {
    if (s.op != op) continue;
    if (s.ranks <= group.ranks && (below == nullptr || s.ranks > below->ranks)) below = &s;
    if (s.ranks >= group.ranks && (above == nullptr || s.ranks < above->ranks)) above = &s;
  }
  if (below == nullptr || above == nullptr) return std::nullopt;
  Correction low = along(profile, *below, bytes, group);
  if (below == above) {
    low.exact_ranks = true;
    return low;
  }
  const Correction high = along(profile, *above, bytes, group);
  const double w = std::log(static_cast<double>(group.ranks) / below->ranks) / std::log(static_cast<double>(above->ranks) / below->ranks);
  return Correction{.log_ratio = (1.0 - w) * low.log_ratio + w * high.log_ratio, .exact_ranks = false, .inside = low.inside && high.inside};
}

/// What the cluster's own NVLink latency adds to an operation: hops that no sweep has measured, so that no ratio scales them.
Seconds added_latency(const Profile& profile, graph::CollectiveOp op, Bytes bytes, cluster::GroupShape group, const CollectiveOption& chosen) {
  if (group.nvlink_latency_added == Seconds{}) return {};
  group.nvlink_latency_added = {};
  for (const CollectiveOption& plain : collective_options(profile, op, bytes, group)) {
    if (plain.algorithm == chosen.algorithm && plain.protocol == chosen.protocol) return chosen.latency - plain.latency;
  }
  return {};
}

/// Thread blocks that NCCL's kernel holds: 24 for large operations in the traces of two H200s (shared/truth/h200), one for a
/// few bytes. For reports; the slowing that they cause is measured as a whole (Interference).
int channels_of(const CollectiveOption& o) { return o.protocol == Protocol::simple ? 24 : 8; }

}  // namespace

TransferEstimate collective_time(const Profile& profile, graph::CollectiveOp op, Bytes bytes, const cluster::GroupShape& group, Diagnostics& diagnostics) {
  if (group.ranks < 2) return {.latency = {}, .wire_bytes = {}, .bandwidth = {}, .algorithm = "none", .protocol = "none", .source = Source::measured};
  const CollectiveOption best = choose_collective(profile, op, bytes, group);
  TransferEstimate e{.latency = best.latency, .wire_bytes = best.wire_bytes, .bandwidth = best.bandwidth, .algorithm = std::string(name_of(best.algorithm)),
                     .protocol = std::string(name_of(best.protocol)), .channels = channels_of(best), .inter_node = best.inter_node,
                     .source = Source::fitted, .sigma = profile.factors.at(best.inter_node ? "collective.sigma_network" : "collective.sigma").value};
  if (const auto c = correction(profile, op, bytes.value(), group)) {
    const double factor = std::exp(c->log_ratio);
    const Seconds added = added_latency(profile, op, bytes, group, best);
    e.latency = (e.latency - added) * factor + added;
    e.bandwidth /= factor;
    e.source = c->exact_ranks && c->inside ? Source::measured : Source::interpolated;
    e.sigma = c->exact_ranks && c->inside ? 0.03 : 0.08;
    if (!c->inside) diagnostics.add("cost.collective.outside_measured_range", Severity::info, std::string(name_of(op)) + " of " + sgsim::to_text(bytes));
  }
  return e;
}

}  // namespace sgsim::cost

#include "planner/split/pipeline_split.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "planner/split/minimum_cut.h"
#include "sim/core/error.h"

namespace sgsim::split {
namespace {

constexpr std::size_t kChain = 256;  // cuts tried on a graph with too many prefixes

/// A prefix with what the dynamic programme asks of it.
struct Candidate {
  Prefix set;
  double time = 0.0, memory = 0.0;
  Bytes crossing;
};

class Programme {
 public:
  Programme(const WorkGraph& graph, const SplitRequest& request, const std::vector<Prefix>& prefixes) : graph_(graph), request_(request) {
    for (const Prefix& set : prefixes) {
      Candidate c{.set = set, .crossing = crossing(graph, set)};
      for (std::size_t i = 0; i < set.size(); ++i) {
        if (!set[i]) continue;
        c.time += graph.nodes[i].time.value();
        c.memory += graph.nodes[i].memory.value();
      }
      candidates_.push_back(std::move(c));
    }
  }

  std::optional<Split> run() {
    const std::size_t n = candidates_.size();
    const auto stages = static_cast<std::size_t>(request_.stages);
    std::vector<std::vector<double>> best(stages + 1, std::vector<double>(n, kNever));
    std::vector<std::vector<std::size_t>> from(stages + 1, std::vector<std::size_t>(n, 0));
    best[0][0] = 0.0;
    for (std::size_t k = 1; k <= stages; ++k) {
      for (std::size_t i = 1; i < n; ++i) {
        if ((k == stages) != (i + 1 == n)) continue;  // the last stage ends with everything, and only it
        for (std::size_t j = 0; j < i; ++j) {
          if (best[k - 1][j] >= best[k][i]) continue;
          const double worst = std::max(best[k - 1][j], stage_time(j, i, k - 1).value());
          if (worst >= best[k][i] || candidates_[i].memory - candidates_[j].memory > request_.capacity.value() || !within(j, i)) continue;
          best[k][i] = worst;
          from[k][i] = j;
        }
      }
    }
    if (best[stages][n - 1] == kNever) return std::nullopt;
    std::vector<std::size_t> ends(stages + 1, n - 1);
    for (std::size_t k = stages; k > 0; --k) ends[k - 1] = from[k][ends[k]];
    return result(ends);
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool within(std::size_t j, std::size_t i) const {
    const Prefix &small = candidates_[j].set, &large = candidates_[i].set;
    if (small == large) return false;
    for (std::size_t x = 0; x < small.size(); ++x) {
      if (small[x] && !large[x]) return false;
    }
    return true;
  }
  /// There and back: activations, and gradients of the same size.
  [[nodiscard]] Seconds transfer(std::size_t prefix, std::size_t link) const { return request_.links[link].time(candidates_[prefix].crossing) * 2.0; }
  [[nodiscard]] Seconds computation(std::size_t j, std::size_t i) const { return Seconds(candidates_[i].time - candidates_[j].time); }
  [[nodiscard]] Seconds stage_time(std::size_t j, std::size_t i, std::size_t stage) const {
    Seconds sent;
    if (stage > 0) sent += transfer(j, stage - 1);
    if (stage + 1 < static_cast<std::size_t>(request_.stages)) sent += transfer(i, stage);
    return request_.overlap ? std::max(computation(j, i), sent) : computation(j, i) + sent;
  }

  [[nodiscard]] Split result(const std::vector<std::size_t>& ends) const {
    Split split;
    split.stage_of.assign(graph_.nodes.size(), 0);
    for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
      split.stage_time.push_back(stage_time(ends[k], ends[k + 1], k));
      split.stage_memory.push_back(Bytes(candidates_[ends[k + 1]].memory - candidates_[ends[k]].memory));
      split.bottleneck = std::max(split.bottleneck, split.stage_time.back());
      for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
        if (candidates_[ends[k + 1]].set[i] && !candidates_[ends[k]].set[i]) split.stage_of[i] = static_cast<int>(k);
      }
    }
    for (std::size_t k = 1; k + 1 < ends.size(); ++k) {
      split.cuts.push_back(report(ends[k], k - 1, std::max(computation(ends[k - 1], ends[k]), computation(ends[k], ends[k + 1]))));
    }
    return split;
  }

  [[nodiscard]] CutReport report(std::size_t prefix, std::size_t link, Seconds computation) const {
    CutReport cut{.bytes = candidates_[prefix].crossing, .communication = transfer(prefix, link), .computation = computation, .slowest = {}, .fastest = {}};
    const double sum = (cut.communication + cut.computation).value(), share = request_.overlap_share;
    if (sum > 0.0) cut.share = std::max(cut.communication, cut.computation).value() / sum;
    cut.overlaps = cut.share <= share;
    // Balanced while communication lies between (1 - share) / share and share / (1 - share) of the computation.
    const double latency = 2.0 * request_.links[link].latency.value(), bytes = 2.0 * cut.bytes.value();
    const auto bandwidth = [&](double time) { return BytesPerSecond(time > latency ? bytes / (time - latency) : std::numeric_limits<double>::infinity()); };
    cut.slowest = bandwidth(computation.value() * share / (1.0 - share));
    cut.fastest = bandwidth(computation.value() * (1.0 - share) / share);
    return cut;
  }

  const WorkGraph& graph_;
  const SplitRequest& request_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::optional<std::vector<Prefix>> all_prefixes(const WorkGraph& graph, std::size_t most) {
  const std::size_t n = graph.nodes.size();
  std::vector<std::vector<std::uint32_t>> predecessors(n);
  for (const WorkEdge& e : graph.edges) predecessors[e.to].push_back(e.from);
  std::set<Prefix> level = {Prefix(n, false)};
  std::vector<Prefix> all(level.begin(), level.end());
  for (std::size_t size = 1; size <= n; ++size) {
    std::set<Prefix> next;
    for (const Prefix& set : level) {
      for (std::size_t i = 0; i < n; ++i) {
        if (set[i] || !std::all_of(predecessors[i].begin(), predecessors[i].end(), [&](std::uint32_t p) { return set[p]; })) continue;
        Prefix larger = set;
        larger[i] = true;
        next.insert(std::move(larger));
        if (all.size() + next.size() > most) return std::nullopt;
      }
    }
    all.insert(all.end(), next.begin(), next.end());
    level = std::move(next);
  }
  return all;
}

std::vector<Prefix> chain_of_cuts(const WorkGraph& graph, std::size_t count) {
  const std::size_t n = graph.nodes.size();
  double total = 0.0;
  for (const WorkNode& node : graph.nodes) total += node.time.value();
  std::vector<Prefix> chain = {Prefix(n, false)};
  const double width = total / static_cast<double>(count);
  for (std::size_t c = 1; c < count; ++c) {
    // What lies more than one width before the target belongs to the cut, what lies more than one behind it does not. Both sets grow and
    // shrink with the target, so that smallest minimum cuts are nested.
    std::vector<std::uint32_t> first, second;
    double sum = 0.0;
    for (std::uint32_t i = 0; i < n; ++i) {
      const double begin = sum;
      sum += graph.nodes[i].time.value();
      if (sum <= width * (static_cast<double>(c) - 1.0)) first.push_back(i);
      if (begin >= width * (static_cast<double>(c) + 1.0)) second.push_back(i);
    }
    if (first.empty() || second.empty()) continue;
    const auto cut = minimum_cut(graph, first, second);
    SGSIM_CHECK(cut.has_value(), "a topological order has prefixes");
    if (*cut != chain.back()) chain.push_back(*cut);
  }
  chain.emplace_back(n, true);
  return chain;
}

std::optional<Split> split_pipeline(const WorkGraph& graph, const SplitRequest& request) {
  SGSIM_CHECK(request.stages >= 1 && request.links.size() + 1 == static_cast<std::size_t>(request.stages), "a link between each two stages");
  for (const WorkEdge& e : graph.edges) SGSIM_CHECK(e.from < e.to && e.to < graph.nodes.size(), "nodes stand in topological order");
  const auto prefixes = all_prefixes(graph, request.most_prefixes);
  auto split = Programme(graph, request, prefixes ? *prefixes : chain_of_cuts(graph, kChain)).run();
  if (split) split->exact = prefixes.has_value();
  return split;
}

}  // namespace sgsim::split

#include "sim/compile/fuse/fuse.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace sgsim::compile::fuse {

namespace {

// torch/_inductor/config.py: max_fusion_size, max_fusion_buffer_group_pairwise_attempts, score_fusion_memory_threshold;
// scheduler.py: are_long_distant_nodes.
constexpr std::size_t kLargestGroup = 64, kNeighbours = 64;
constexpr double kLeastSharedBytes = 10.0;
constexpr std::uint32_t kFarApart = 64;
constexpr int kRounds = 10;

/// A set of nests that has become one kernel, while fusion runs.
struct Node {
  std::vector<std::uint32_t> nests;       // in order
  std::vector<Dependency> reads, writes;  // of all nests, each dependency once; reads of own writes included
  std::int64_t kept = 1, reduced = 1;
  std::uint32_t first = 0, last = 0;      // lowest and highest nest
  bool reduces = false, fixed = false, alive = true;
};

struct Candidate {
  std::uint32_t a = 0, b = 0;
  bool same_kind = false;
  double bytes = 0.0;
  std::int64_t proximity = 0;
};

class Fuser {
 public:
  explicit Fuser(const LoopProgram& program) : program_(program), node_of_(program.nests.size()), maker_(program.buffers.size(), kNone) {}

  std::vector<Group> run(bool enabled) {
    make_nodes();
    for (int round = 0; enabled && round < kRounds; ++round) {
      if (!fuse_once()) break;
    }
    return ordered();
  }

 private:
  void make_nodes() {
    nodes_.resize(program_.nests.size());
    for (std::uint32_t i = 0; i < program_.nests.size(); ++i) {
      const LoopNest& nest = program_.nests[i];
      Node& node = nodes_[i];
      node.nests = {i};
      for (const Dependency& d : nest.reads) add_once(node.reads, d);
      for (const Dependency& d : nest.writes) add_once(node.writes, d);
      node.kept = nest.kept;
      node.reduced = nest.reduced;
      node.reduces = nest.kind == LoopKind::reduction;
      node.fixed = nest.kind == LoopKind::fixed;
      node.first = node.last = i;
      node_of_[i] = i;
      for (const Dependency& d : nest.writes) maker_[d.buffer] = i;
    }
  }

  static bool same(const Dependency& a, const Dependency& b) { return a.buffer == b.buffer && a.signature == b.signature; }
  static void add_once(std::vector<Dependency>& list, const Dependency& d) {
    if (std::none_of(list.begin(), list.end(), [&](const Dependency& o) { return same(o, d); })) list.push_back(d);
  }

  /// One round of scheduler.fuse_nodes_once.
  bool fuse_once() {
    std::vector<Candidate> candidates = find_candidates();
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& x, const Candidate& y) {
      if (x.same_kind != y.same_kind) return x.same_kind;
      if (x.bytes != y.bytes) return x.bytes > y.bytes;
      return x.proximity > y.proximity;
    });
    bool changed = false;
    for (const Candidate& c : candidates) {
      const std::uint32_t a = node_of_[c.a], b = node_of_[c.b];
      if (a == b) continue;
      const auto [first, second] = std::minmax(a, b, [&](std::uint32_t x, std::uint32_t y) { return nodes_[x].first < nodes_[y].first; });
      if (!can_fuse(first, second) || makes_cycle(first, second)) continue;
      join(first, second);
      changed = true;
    }
    return changed;
  }

  std::vector<Candidate> find_candidates() {
    std::vector<std::vector<std::uint32_t>> users(program_.buffers.size());
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].alive || nodes_[i].fixed) continue;
      auto use = [&](const Dependency& d) {
        if (users[d.buffer].empty() || users[d.buffer].back() != i) users[d.buffer].push_back(i);
      };
      for (const Dependency& d : nodes_[i].writes) use(d);
      for (const Dependency& d : nodes_[i].reads) use(d);
    }
    std::vector<Candidate> candidates;
    std::unordered_set<std::uint64_t> seen;
    for (const auto& group : users) {
      for (std::size_t x = 0; x < group.size(); ++x) {
        for (std::size_t y = x + 1; y < group.size() && y <= x + kNeighbours; ++y) {
          const std::uint32_t a = group[x], b = group[y];
          if (!seen.insert((std::uint64_t{a} << 32) | b).second || !can_fuse(a, b)) continue;
          candidates.push_back({a, b, nodes_[a].reduces == nodes_[b].reduces, shared_bytes(nodes_[a], nodes_[b]), -distance(nodes_[a], nodes_[b])});
        }
      }
    }
    return candidates;
  }

  static std::int64_t distance(const Node& a, const Node& b) {
    return std::max(std::abs(std::int64_t{a.first} - std::int64_t{b.last}), std::abs(std::int64_t{b.first} - std::int64_t{a.last}));
  }

  /// Bytes that both move in the same way.
  [[nodiscard]] double shared_bytes(const Node& a, const Node& b) const {
    double bytes = 0.0;
    auto count = [&](const Dependency& d) {
      auto has = [&](const std::vector<Dependency>& list) {
        return std::any_of(list.begin(), list.end(), [&](const Dependency& o) { return same(o, d); });
      };
      if (has(b.reads) || has(b.writes)) bytes += d.elements * program_.buffers[d.buffer].element_size;
    };
    for (const Dependency& d : a.reads) count(d);
    for (const Dependency& d : a.writes) {
      if (std::none_of(a.reads.begin(), a.reads.end(), [&](const Dependency& o) { return same(o, d); })) count(d);
    }
    return bytes;
  }

  /// True when `b` reads something that `a` makes, directly or through others.
  [[nodiscard]] bool depends(std::uint32_t b, std::uint32_t a) const {
    const Node& target = nodes_[a];
    for (const Dependency& d : nodes_[b].reads) {
      const std::uint32_t maker = maker_of(d.buffer);
      if (maker == a) return true;
    }
    return reaches(b, a, target.first, false);
  }

  [[nodiscard]] std::uint32_t maker_of(std::uint32_t buffer) const { return maker_[buffer] == kNone ? kNone : node_of_[maker_[buffer]]; }

  /// Does a path of producers lead from `from` to `to`? `skip_direct`: only paths with another node between.
  [[nodiscard]] bool reaches(std::uint32_t from, std::uint32_t to, std::uint32_t lowest, bool skip_direct) const {
    stack_.clear();
    ++stamp_;
    visited_.resize(nodes_.size(), 0);
    auto push_producers = [&](std::uint32_t n) {
      for (const Dependency& d : nodes_[n].reads) {
        const std::uint32_t maker = maker_of(d.buffer);
        if (maker == kNone || maker == from || visited_[maker] == stamp_) continue;
        if (skip_direct && n == from && maker == to) continue;
        if (nodes_[maker].last < lowest) continue;
        visited_[maker] = stamp_;
        stack_.push_back(maker);
      }
    };
    push_producers(from);
    while (!stack_.empty()) {
      const std::uint32_t n = stack_.back();
      stack_.pop_back();
      if (n == to) return true;
      push_producers(n);
    }
    return false;
  }

  [[nodiscard]] bool makes_cycle(std::uint32_t a, std::uint32_t b) const {
    const std::uint32_t lowest = std::min(nodes_[a].first, nodes_[b].first);
    return reaches(b, a, lowest, true) || reaches(a, b, lowest, true);
  }

  [[nodiscard]] bool can_fuse(std::uint32_t ia, std::uint32_t ib) const {
    const Node& a = nodes_[ia];
    const Node& b = nodes_[ib];
    const LoopNest& one = program_.nests[a.first];
    const LoopNest& other = program_.nests[b.first];
    if (a.fixed || b.fixed || one.backward != other.backward || one.piece != other.piece) return false;
    if (a.nests.size() + b.nests.size() > kLargestGroup || !loops_fit(a, b)) return false;
    const double bytes = shared_bytes(a, b);
    const bool after = depends(ib, ia), before = !after && depends(ia, ib);
    if (after) return bytes > 0.0 && reads_match(a, ia, b, ib);
    if (before) return bytes > 0.0 && reads_match(b, ib, a, ia);
    return bytes >= kLeastSharedBytes && distance(a, b) <= kFarApart;
  }

  /// codegen/simd.py, can_fuse: equal loops, or a pointwise nest over the rows or over all elements of a reduction.
  static bool loops_fit(const Node& a, const Node& b) {
    if (a.reduces == b.reduces) return a.kept == b.kept && a.reduced == b.reduced;
    const Node& reduction = a.reduces ? a : b;
    const Node& pointwise = a.reduces ? b : a;
    return pointwise.kept == reduction.kept || pointwise.kept == reduction.kept * reduction.reduced;
  }

  /// Every read of the producer's results by the consumer is of the element just written, and nothing else stands between.
  [[nodiscard]] bool reads_match(const Node& producer, std::uint32_t producer_id, const Node& consumer, std::uint32_t consumer_id) const {
    for (const Dependency& read : consumer.reads) {
      const std::uint32_t maker = maker_of(read.buffer);
      if (maker != producer_id) continue;
      if (std::none_of(producer.writes.begin(), producer.writes.end(), [&](const Dependency& w) { return same(w, read); })) return false;
    }
    return !reaches(consumer_id, producer_id, producer.first, true);
  }

  void join(std::uint32_t ia, std::uint32_t ib) {
    Node& a = nodes_[ia];
    Node& b = nodes_[ib];
    for (const std::uint32_t nest : b.nests) {
      a.nests.push_back(nest);
      node_of_[nest] = ia;
    }
    std::sort(a.nests.begin(), a.nests.end());
    for (const Dependency& d : b.reads) add_once(a.reads, d);
    for (const Dependency& d : b.writes) add_once(a.writes, d);
    if (b.reduces && !a.reduces) {
      a.kept = b.kept;
      a.reduced = b.reduced;
      a.reduces = true;
    }
    a.first = std::min(a.first, b.first);
    a.last = std::max(a.last, b.last);
    b.alive = false;
  }

  /// Depth first: what a kernel reads is made just before it, else the order of the nests.
  std::vector<Group> ordered() {
    std::vector<Group> groups;
    std::vector<char> done(nodes_.size(), 0);
    std::vector<std::uint32_t> stack;
    for (std::uint32_t i = 0; i < program_.nests.size(); ++i) {
      stack.push_back(node_of_[i]);
      while (!stack.empty()) {
        const std::uint32_t n = stack.back();
        if (done[n]) {
          stack.pop_back();
          continue;
        }
        bool ready = true;
        for (const Dependency& d : nodes_[n].reads) {
          const std::uint32_t maker = maker_of(d.buffer);
          if (maker == kNone || maker == n || done[maker]) continue;
          stack.push_back(maker);
          ready = false;
        }
        if (!ready) continue;
        done[n] = 1;
        stack.pop_back();
        groups.push_back({nodes_[n].nests});
      }
    }
    return groups;
  }

  const LoopProgram& program_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> node_of_;  // by nest
  std::vector<std::uint32_t> maker_;    // nest that writes each buffer
  mutable std::vector<std::uint32_t> stack_, visited_;
  mutable std::uint32_t stamp_ = 0;
};

}  // namespace

std::vector<Group> fuse(const LoopProgram& program, bool enabled) { return Fuser(program).run(enabled); }

}  // namespace sgsim::compile::fuse

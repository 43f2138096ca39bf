#include "sim/compile/fuse/fuse.h"

#include <algorithm>

#include "sim/compile/fuse/fuser.h"

namespace sgsim::compile::fuse {

namespace {

// torch/_inductor/config.py: max_fusion_size, max_fusion_buffer_group_pairwise_attempts, score_fusion_memory_threshold;
// scheduler.py: are_long_distant_nodes.
constexpr std::size_t kLargestGroup = 64, kNeighbours = 64;
constexpr double kLeastSharedBytes = 10.0;
constexpr std::int64_t kFarApart = 64;
constexpr int kRounds = 10;

bool same(const Dependency& a, const Dependency& b) { return a.buffer == b.buffer && a.signature == b.signature; }

bool has(const std::vector<Dependency>& list, const Dependency& d) {
  return std::any_of(list.begin(), list.end(), [&](const Dependency& o) { return same(o, d); });
}

void add_once(std::vector<Dependency>& list, const Dependency& d) {
  if (!has(list, d)) list.push_back(d);
}

std::int64_t distance(const FusionNode& a, const FusionNode& b) {
  return std::max(std::abs(std::int64_t{a.first} - std::int64_t{b.last}), std::abs(std::int64_t{b.first} - std::int64_t{a.last}));
}

/// codegen/simd.py, can_fuse: equal loops, or a pointwise nest over the rows or over all elements of a reduction.
bool loops_fit(const FusionNode& a, const FusionNode& b) {
  if (a.reduces == b.reduces) return a.kept == b.kept && a.reduced == b.reduced;
  const FusionNode& reduction = a.reduces ? a : b;
  const FusionNode& pointwise = a.reduces ? b : a;
  return pointwise.kept == reduction.kept || pointwise.kept == reduction.kept * reduction.reduced;
}

}  // namespace

Fuser::Fuser(LoopProgram& program)
    : program_(program), nodes_(program.nests.size()), node_of_(program.nests.size()), maker_(program.buffers.size(), kNone),
      visited_(program.nests.size(), 0) {
  for (std::uint32_t i = 0; i < program_.nests.size(); ++i) {
    const LoopNest& nest = program_.nests[i];
    FusionNode& node = nodes_[i];
    node.nests = {i};
    for (const Dependency& d : nest.reads) add_once(node.reads, d);
    for (const Dependency& d : nest.writes) add_once(node.writes, d);
    node.kept = nest.kept;
    node.reduced = nest.reduced;
    node.reduces = nest.kind == LoopKind::reduction;
    node.fixed = nest.kind == LoopKind::fixed;
    node.piece = nest.piece;
    node.backward = nest.backward;
    node.first = node.last = i;
    node_of_[i] = i;
    for (const Dependency& d : nest.writes) maker_[d.buffer] = i;
  }
}

std::vector<Group> Fuser::run(bool enabled) {
  if (enabled) {
    for (int round = 0; round < kRounds && fuse_once(true);) ++round;
    join_mixed_orders();
    for (int round = 0; round < kRounds && fuse_once(false);) ++round;
  }
  return ordered();
}

/// One round of scheduler.fuse_nodes_once: the pair that saves most first.
bool Fuser::fuse_once(bool reductions_only) {
  std::vector<Candidate> candidates = find_candidates(reductions_only);
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& x, const Candidate& y) {
    if (x.same_kind != y.same_kind) return x.same_kind;
    if (x.bytes != y.bytes) return x.bytes > y.bytes;
    return x.proximity > y.proximity;
  });
  bool changed = false;
  for (const Candidate& c : candidates) {
    std::uint32_t a = node_of_[nodes_[c.a].nests[0]], b = node_of_[nodes_[c.b].nests[0]];
    if (a == b) continue;
    if (nodes_[b].first < nodes_[a].first) std::swap(a, b);
    if (!may_fuse(nodes_[a], nodes_[b]) || !paths_allow(a, b)) continue;
    join(a, b);
    changed = true;
  }
  return changed;
}

std::vector<Fuser::Candidate> Fuser::find_candidates(bool reductions_only) const {
  std::vector<std::vector<std::uint32_t>> users(program_.buffers.size());
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const FusionNode& node = nodes_[i];
    if (!node.alive || node.fixed || (reductions_only && !node.reduces)) continue;
    auto use = [&](const Dependency& d) {
      if (users[d.buffer].empty() || users[d.buffer].back() != i) users[d.buffer].push_back(i);
    };
    for (const Dependency& d : node.writes) use(d);
    for (const Dependency& d : node.reads) use(d);
  }
  std::vector<std::uint64_t> pairs;
  for (const auto& group : users) {
    for (std::size_t x = 0; x < group.size(); ++x) {
      for (std::size_t y = x + 1; y < group.size() && y <= x + kNeighbours; ++y) {
        const FusionNode& a = nodes_[group[x]];
        const FusionNode& b = nodes_[group[y]];
        if (a.backward == b.backward && a.piece == b.piece && loops_fit(a, b)) pairs.push_back((std::uint64_t{group[x]} << 32) | group[y]);
      }
    }
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  std::vector<Candidate> candidates;
  for (const std::uint64_t pair : pairs) {
    const auto x = static_cast<std::uint32_t>(pair >> 32), y = static_cast<std::uint32_t>(pair);
    const FusionNode& a = nodes_[x];
    const FusionNode& b = nodes_[y];
    if (may_fuse(a, b)) candidates.push_back({x, y, a.reduces == b.reduces, shared_bytes(a, b), -distance(a, b)});
  }
  return candidates;
}

/// Bytes that both move in the same way.
double Fuser::shared_bytes(const FusionNode& a, const FusionNode& b) const {
  double bytes = 0.0;
  auto count = [&](const Dependency& d) {
    if (has(b.reads, d) || has(b.writes, d)) bytes += d.elements * program_.buffers[d.buffer].element_size;
  };
  for (const Dependency& d : a.reads) count(d);
  for (const Dependency& d : a.writes) {
    if (!has(a.reads, d)) count(d);
  }
  return bytes;
}

bool Fuser::makes_for(const FusionNode& maker, const FusionNode& reader) const {
  return std::any_of(reader.reads.begin(), reader.reads.end(), [&](const Dependency& r) {
    return std::any_of(maker.writes.begin(), maker.writes.end(), [&](const Dependency& w) { return w.buffer == r.buffer; });
  });
}

/// Whether two nodes fit each other; what stands between them is looked at by `paths_allow`.
bool Fuser::may_fuse(const FusionNode& a, const FusionNode& b) const {
  if (a.fixed || b.fixed || a.backward != b.backward || a.piece != b.piece) return false;
  if (a.nests.size() + b.nests.size() > kLargestGroup || !loops_fit(a, b)) return false;
  if ((a.mixed || b.mixed) && (makes_for(a, b) || makes_for(b, a) || a.reduces == b.reduces)) return false;
  if (makes_for(a, b)) return reads_match(a, b) && shared_bytes(a, b) > 0.0;
  if (makes_for(b, a)) return reads_match(b, a) && shared_bytes(a, b) > 0.0;
  return distance(a, b) <= kFarApart && shared_bytes(a, b) >= kLeastSharedBytes;
}

/// Every read of the producer's results by the consumer is of the element just written.
bool Fuser::reads_match(const FusionNode& producer, const FusionNode& consumer) const {
  return std::all_of(consumer.reads.begin(), consumer.reads.end(), [&](const Dependency& read) {
    const bool made = std::any_of(producer.writes.begin(), producer.writes.end(), [&](const Dependency& w) { return w.buffer == read.buffer; });
    return !made || has(producer.writes, read);
  });
}

/// No third kernel must run after one and before the other.
bool Fuser::paths_allow(std::uint32_t a, std::uint32_t b) const {
  const std::uint32_t lowest = std::min(nodes_[a].first, nodes_[b].first);
  return !reaches(b, a, lowest, true) && !reaches(a, b, lowest, true);
}

/// Does a path of producers lead from `from` to `to`? `skip_direct`: only paths with another node between.
bool Fuser::reaches(std::uint32_t from, std::uint32_t to, std::uint32_t lowest, bool skip_direct) const {
  stack_.clear();
  ++stamp_;
  auto push_producers = [&](std::uint32_t n) {
    for (const Dependency& d : nodes_[n].reads) {
      const std::uint32_t maker = maker_of(d.buffer);
      if (maker == kNone || maker == from || visited_[maker] == stamp_) continue;
      if ((skip_direct && n == from && maker == to) || nodes_[maker].last < lowest) continue;
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

void Fuser::join(std::uint32_t ia, std::uint32_t ib) {
  FusionNode& a = nodes_[ia];
  FusionNode& b = nodes_[ib];
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
  a.mixed = a.mixed || b.mixed;
  a.first = std::min(a.first, b.first);
  a.last = std::max(a.last, b.last);
  b.alive = false;
}

/// Depth first: what a kernel reads is made just before it, else the order of the nests.
std::vector<Group> Fuser::ordered() const {
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
      groups.push_back({.nests = nodes_[n].nests, .mixed = nodes_[n].mixed});
    }
  }
  return groups;
}

std::vector<Group> fuse(LoopProgram& program, bool enabled) { return Fuser(program).run(enabled); }

}  // namespace sgsim::compile::fuse

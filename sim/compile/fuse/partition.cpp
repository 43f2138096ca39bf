#include "sim/compile/fuse/partition.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <set>
#include <utility>

#include "sim/compile/fuse/max_flow.h"

namespace sgsim::compile::fuse {

using graph::NodeKind;
using graph::Phase;

Users users_of(const Program& program) {
  Users users;
  users.first.assign(program.values.size() + 1, 0);
  for (const std::uint32_t v : program.operands) ++users.first[v + 1];
  for (std::size_t v = 0; v < program.values.size(); ++v) users.first[v + 1] += users.first[v];
  users.ops.resize(program.operands.size());
  std::vector<std::uint32_t> next(users.first.begin(), users.first.end() - 1);
  for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
    for (const std::uint32_t v : program.inputs(program.ops[i])) users.ops[next[v]++] = i;
  }
  return users;
}

namespace {

class Partitioner {
 public:
  Partitioner(const Program& program, const Users& users, bool recompute)
      : program_(program), users_(users), recompute_(recompute) {}

  Partition run() {
    find_roles();
    result_.saved.assign(program_.values.size(), 0);
    if (recompute_) {
      measure_distances();
      find_bans();
      cut();
    } else {
      save_all();
    }
    find_backward();
    find_forward();
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t kFar = 1'000'000'000;

  [[nodiscard]] const Op& op(std::uint32_t i) const { return program_.ops[i]; }
  [[nodiscard]] bool is_source(std::uint32_t v) const { return program_.values[v].op == kNone; }

  /// Backward: depends on a tangent, or is a transfer of the backward pass (keys and values that a ring of context parallelism
  /// sends round again: no partitioner moves it ahead). Required forward: the forward results need it. The rest could run in either pass.
  void find_roles() {
    const std::size_t n = program_.ops.size();
    gradient_.assign(n, 0);
    required_.assign(n, 0);
    const bool has_tangent = std::any_of(program_.ops.begin(), program_.ops.end(), [](const Op& o) { return o.tangent; });
    for (std::uint32_t i = 0; i < n; ++i) {
      const bool stays = !has_tangent || op(i).kind == OpKind::communication;
      gradient_[i] = op(i).tangent || (stays && op(i).phase != Phase::forward);
      for (const std::uint32_t v : program_.inputs(op(i))) {
        if (!is_source(v) && gradient_[program_.values[v].op]) gradient_[i] = 1;
      }
    }
    output_.assign(program_.values.size(), 0);
    for (std::uint32_t v = 0; v < program_.values.size(); ++v) {
      const Value& value = program_.values[v];
      if (is_source(v)) continue;
      const auto uses = users_.of(v);
      output_[v] = value.must_write || std::any_of(uses.begin(), uses.end(), [&](std::uint32_t u) {
                     return op(u).piece != op(value.op).piece && !gradient_[u];
                   });
    }
    for (std::size_t i = n; i-- > 0;) {
      const Op& o = program_.ops[i];
      if (gradient_[i]) continue;
      bool needed = required_[i] || (o.kind == OpKind::communication && o.phase == Phase::forward);
      for (std::uint32_t r = 0; r < o.outputs; ++r) needed = needed || (output_[o.first_output + r] && o.phase == Phase::forward);
      if (!needed) continue;
      required_[i] = 1;
      for (const std::uint32_t v : program_.inputs(o)) {
        if (!is_source(v)) required_[program_.values[v].op] = 1;
      }
    }
  }

  /// Operators between a value and the nearest one that depends on gradients.
  void measure_distances() {
    distance_.assign(program_.values.size(), kFar);
    for (std::uint32_t v = static_cast<std::uint32_t>(program_.values.size()); v-- > 0;) {
      if (!is_source(v) && !required_[program_.values[v].op]) {
        distance_[v] = 0;
        continue;
      }
      for (const std::uint32_t u : users_.of(v)) {
        const std::uint32_t beyond = !required_[u] ? 0 : nearest_result(op(u));
        distance_[v] = std::min(distance_[v], beyond + 1);
      }
    }
  }

  [[nodiscard]] std::uint32_t nearest_result(const Op& o) const {
    std::uint32_t nearest = kFar;
    for (std::uint32_t r = 0; r < o.outputs; ++r) nearest = std::min(nearest, distance_[o.first_output + r]);
    return nearest;
  }

  /// Operators that Inductor can put into one kernel with a neighbour.
  [[nodiscard]] bool fuses(std::uint32_t i) const { return op(i).recomputable || op(i).random; }
  [[nodiscard]] bool fuses(std::uint32_t maker, std::uint32_t user) const {
    if (op(user).kind == OpKind::rearrange && op(user).recomputable) return true;  // everything fuses into a cat
    return fuses(maker) && fuses(user);
  }
  /// A result of a library kernel with several results counts as fusible (it is a getitem node in PyTorch).
  [[nodiscard]] bool value_fuses(std::uint32_t v, std::uint32_t user) const {
    if (is_source(v)) return false;
    const Op& maker = op(program_.values[v].op);
    return maker.kind == OpKind::external && maker.outputs > 1 ? fuses(user) : fuses(program_.values[v].op, user);
  }

  [[nodiscard]] bool is_materialised(std::uint32_t v) const {
    if (is_source(v) || output_[v]) return true;
    const auto uses = users_.of(v);
    return !std::all_of(uses.begin(), uses.end(), [&](std::uint32_t u) { return value_fuses(v, u); });
  }

  /// A backward operator that cannot take the value into its kernel reads it, directly or through views.
  [[nodiscard]] bool is_materialised_backward(std::uint32_t v) const {
    if (!is_source(v) && op(program_.values[v].op).kind == OpKind::view) return false;
    std::vector<std::uint32_t> pending{v};
    while (!pending.empty()) {
      const std::uint32_t current = pending.back();
      pending.pop_back();
      for (const std::uint32_t u : users_.of(current)) {
        if (!required_[u] && !value_fuses(current, u)) return true;
        if (op(u).kind == OpKind::view) {
          for (std::uint32_t r = 0; r < op(u).outputs; ++r) pending.push_back(op(u).first_output + r);
        }
      }
    }
    return false;
  }

  [[nodiscard]] bool may_not_recompute(std::uint32_t i) const {
    const Op& o = op(i);
    if (!o.recomputable) return true;
    double read = 0.0, written = 0.0;
    for (const std::uint32_t v : program_.inputs(o)) read += program_.values[v].bytes();
    for (std::uint32_t r = 0; r < o.outputs; ++r) {
      const std::uint32_t v = o.first_output + r;
      written += program_.values[v].bytes();
      if (is_materialised_backward(v)) return true;
      const auto uses = users_.of(v);  // handed to a later compiled piece: that piece saves it
      if (std::any_of(uses.begin(), uses.end(), [&](std::uint32_t u) { return op(u).piece != o.piece; })) return true;
    }
    return o.kind == OpKind::reduction && written * 4.0 < read;  // cheap to keep, and normalisations are not run again
  }

  void find_bans() {
    banned_.assign(program_.ops.size(), 0);
    for (std::uint32_t i = 0; i < program_.ops.size(); ++i) banned_[i] = required_[i] && may_not_recompute(i);
    for (std::uint32_t v = 0; v < program_.values.size(); ++v) ban_far_uses(v);
    ban_long_chains();
  }

  /// A value is used again after something that cannot be fused with its first uses (a residual connection): the late user is
  /// not recomputed, so that chains of residual additions are not.
  void ban_far_uses(std::uint32_t v) {
    if (!is_source(v) && !required_[program_.values[v].op]) return;
    std::vector<std::uint32_t> uses;
    for (const std::uint32_t u : users_.of(v)) {
      if (required_[u]) uses.push_back(u);
    }
    if (uses.size() < 2) return;  // one use cannot be far from the first
    const std::uint32_t last = *std::max_element(uses.begin(), uses.end());
    const std::uint32_t barrier = first_unfusible(uses, last);
    for (const std::uint32_t u : uses) {
      if (u > barrier && value_fuses(v, u)) banned_[u] = 1;
    }
  }

  [[nodiscard]] std::uint32_t first_unfusible(const std::vector<std::uint32_t>& starts, std::uint32_t last) const {
    using Entry = std::pair<std::uint32_t, bool>;  // op, fuses with what led to it
    std::set<Entry> pending;
    for (const std::uint32_t s : starts) pending.insert({s, true});
    while (!pending.empty()) {
      const auto [i, fusible] = *pending.begin();
      pending.erase(pending.begin());
      if (!fusible) return i;
      for (std::uint32_t r = 0; r < op(i).outputs; ++r) {
        for (const std::uint32_t u : users_.of(op(i).first_output + r)) {
          if (required_[u] && u <= last) pending.insert({u, value_fuses(op(i).first_output + r, u)});
        }
      }
    }
    return last;
  }

  /// A chain of fusible operators longer than a hundred positions is broken.
  void ban_long_chains() {
    constexpr std::uint32_t kLongest = 100;
    std::vector<char> visited(program_.ops.size(), 0);
    for (std::uint32_t start = 0; start < program_.ops.size(); ++start) {
      if (!required_[start] || visited[start]) continue;
      std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> pending;
      pending.push(start);
      while (!pending.empty()) {
        const std::uint32_t i = pending.top();
        pending.pop();
        if (visited[i]) continue;
        visited[i] = 1;
        if (i > start + kLongest && pending.empty()) {
          banned_[i] = 1;
          break;
        }
        for (std::uint32_t r = 0; r < op(i).outputs; ++r) {
          for (const std::uint32_t u : users_.of(op(i).first_output + r)) {
            if (required_[u] && !banned_[u] && value_fuses(op(i).first_output + r, u)) pending.push(u);
          }
        }
      }
    }
  }

  [[nodiscard]] std::int64_t weight(std::uint32_t v) const {
    const Value& value = program_.values[v];
    if (is_source(v) && value.source != NodeKind::input) return 0;  // parameters and buffers stay in memory anyway
    const double bias = std::pow(1.1, std::clamp<std::uint32_t>(distance_[v], 1, 100));
    return static_cast<std::int64_t>(value.bytes() * bias) * (is_materialised(v) ? 1 : 2);
  }

  void cut() {
    const auto n = static_cast<std::uint32_t>(program_.values.size());
    const std::uint32_t source = 2 * n, sink = 2 * n + 1;
    FlowNetwork network(2 * n + 2);
    for (std::uint32_t v = 0; v < n; ++v) {
      const bool from_source = is_source(v);
      if (!from_source && gradient_[program_.values[v].op]) continue;
      if (from_source || banned_[program_.values[v].op]) network.add_edge(source, 2 * v, FlowNetwork::kUnlimited);
      network.add_edge(2 * v, 2 * v + 1, weight(v));
      bool needed = false;
      for (const std::uint32_t u : users_.of(v)) {
        if (gradient_[u]) {
          needed = true;
          continue;
        }
        for (std::uint32_t r = 0; r < op(u).outputs; ++r) network.add_edge(2 * v + 1, 2 * (op(u).first_output + r), FlowNetwork::kUnlimited);
      }
      if (needed) network.add_edge(2 * v + 1, sink, FlowNetwork::kUnlimited);
    }
    network.maximise(source, sink);
    const std::vector<char> behind = network.sink_side(sink);
    for (std::uint32_t v = 0; v < n; ++v) result_.saved[v] = !behind[2 * v] && behind[2 * v + 1];
  }

  void save_all() {
    for (std::uint32_t v = 0; v < program_.values.size(); ++v) {
      if (!is_source(v) && op(program_.values[v].op).phase != Phase::forward) continue;
      const auto uses = users_.of(v);
      result_.saved[v] = std::any_of(uses.begin(), uses.end(), [&](std::uint32_t u) { return op(u).phase != Phase::forward; });
    }
  }

  /// Backward operators that results need, and what they recompute.
  void find_backward() {
    result_.backward.assign(program_.ops.size(), 0);
    for (std::size_t i = program_.ops.size(); i-- > 0;) {
      const Op& o = program_.ops[i];
      bool needed = result_.backward[i];
      if (o.phase != Phase::forward && !needed) {
        needed = o.kind == OpKind::communication;
        for (std::uint32_t r = 0; r < o.outputs; ++r) needed = needed || program_.values[o.first_output + r].must_write;
      }
      if (!needed) continue;
      result_.backward[i] = 1;
      for (const std::uint32_t v : program_.inputs(o)) {
        if (!is_source(v) && !result_.saved[v]) result_.backward[program_.values[v].op] = 1;
      }
    }
  }

  void find_forward() {
    result_.forward.assign(program_.ops.size(), 0);
    for (std::size_t i = program_.ops.size(); i-- > 0;) {
      const Op& o = program_.ops[i];
      if (gradient_[i]) continue;
      bool needed = result_.forward[i] || (o.kind == OpKind::communication && o.phase == Phase::forward);
      for (std::uint32_t r = 0; r < o.outputs; ++r) {
        const std::uint32_t v = o.first_output + r;
        needed = needed || result_.saved[v] || (output_[v] && o.phase == Phase::forward);
      }
      if (!needed) continue;
      result_.forward[i] = 1;
      for (const std::uint32_t v : program_.inputs(o)) {
        if (!is_source(v)) result_.forward[program_.values[v].op] = 1;
      }
    }
  }

  const Program& program_;
  const Users& users_;
  bool recompute_;
  Partition result_;
  std::vector<char> gradient_;           // by op: depends on a tangent
  std::vector<char> required_;           // by op: the forward results need it
  std::vector<char> output_;             // by value: leaves its compiled piece, or the graph
  std::vector<char> banned_;             // by op: may not be run again
  std::vector<std::uint32_t> distance_;  // by value
};

}  // namespace

Partition partition(const Program& program, const Users& users, bool recompute) { return Partitioner(program, users, recompute).run(); }

}  // namespace sgsim::compile::fuse

#include "sim/replay/untimed_order.h"

#include <fmt/format.h>

#include "sim/core/error.h"

namespace sgsim::replay {
namespace {

enum class Mark : std::uint8_t { none, open, done };

}  // namespace

UntimedOrder order_of(const trace::RankTrace& rank) {
  UntimedOrder result;
  result.ops = static_cast<std::uint32_t>(rank.device_ops.size());
  result.calls = result.ops + static_cast<std::uint32_t>(rank.ops.size());
  const std::size_t count = result.calls + rank.calls.size();
  const auto number = [&](const trace::Node& node) { return node.index + (node.table == trace::NodeTable::device_ops ? 0 : node.table == trace::NodeTable::ops ? result.ops : result.calls); };
  result.before.resize(count);
  std::vector<bool> counts(count, false);
  for (const trace::Edge& edge : rank.edges) {
    result.before[number(edge.to)].push_back(number(edge.from));
    counts[number(edge.from)] = counts[number(edge.to)] = true;
  }
  for (std::uint32_t n = 0; n < count; ++n) {
    const trace::Node node = result.node(n);
    counts[n] = counts[n] || node.table == trace::NodeTable::device_ops || (node.table == trace::NodeTable::ops ? rank.ops[node.index].duration : rank.calls[node.index].duration) > 0;
  }
  // Depth first, without recursion: a node after all that it waits for.
  std::vector<Mark> marks(count, Mark::none);
  std::vector<std::pair<std::uint32_t, std::size_t>> path;  // a node, and how many of those before it were looked at
  for (std::uint32_t n = 0; n < count; ++n) {
    if (!counts[n] || marks[n] != Mark::none) continue;
    path.emplace_back(n, 0);
    marks[n] = Mark::open;
    while (!path.empty()) {
      const std::uint32_t at = path.back().first;
      if (path.back().second == result.before[at].size()) {
        marks[at] = Mark::done;
        result.order.push_back(at);
        path.pop_back();
        continue;
      }
      const std::uint32_t next = result.before[at][path.back().second++];
      if (marks[next] == Mark::open) throw InputError({.file = rank.file, .where = "", .found = fmt::format("dependencies in a circle of {} or fewer nodes", path.size()), .expected = "dependencies without cycles", .hint = ""});
      if (marks[next] == Mark::none) {
        path.emplace_back(next, 0);
        marks[next] = Mark::open;
      }
    }
  }
  return result;
}

}  // namespace sgsim::replay

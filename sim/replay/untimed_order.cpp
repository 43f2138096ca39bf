#include "sim/replay/untimed_order.h"

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/core/order.h"

namespace sgsim::replay {
namespace {

enum class Mark : std::uint8_t { none, open, done };

/// With a shortest circle.
[[noreturn]] void refuse(const trace::ImportedRun& run, const trace::RankTrace& rank, const UntimedOrder& order) {
  Pairs pairs;
  for (std::uint32_t n = 0; n < order.before.size(); ++n) {
    for (const std::uint32_t from : order.before[n]) pairs.emplace_back(from, n);
  }
  const Order found = sgsim::order_of(static_cast<std::uint32_t>(order.before.size()), pairs);
  std::vector<std::string> names;
  for (const std::uint32_t n : found.cycle) {
    const trace::Node node = order.node(n);
    const bool of_device = node.table == trace::NodeTable::device_ops, of_op = node.table == trace::NodeTable::ops;
    names.push_back("\"" + run.strings.at(of_device ? rank.device_ops[node.index].name : of_op ? rank.ops[node.index].name : rank.calls[node.index].name) + "\"");
  }
  throw InputError({.file = rank.file, .where = "", .found = fmt::format("dependencies in a circle of {} operations: {}", names.size(), cycle_text(names)), .expected = "dependencies without cycles",
                    .hint = "take one of these dependencies out"});
}

}  // namespace

UntimedOrder order_of(const trace::ImportedRun& run, const trace::RankTrace& rank) {
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
      if (marks[next] == Mark::open) refuse(run, rank, result);
      if (marks[next] == Mark::none) {
        path.emplace_back(next, 0);
        marks[next] = Mark::open;
      }
    }
  }
  return result;
}

}  // namespace sgsim::replay

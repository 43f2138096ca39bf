#include "sim/core/order.h"

#include <queue>

namespace sgsim {
namespace {

/// Successors of each thing, in one array.
struct Successors {
  std::vector<std::size_t> first;
  std::vector<std::uint32_t> to;
};

Successors successors_of(std::uint32_t count, const Pairs& pairs, bool reversed) {
  Successors result;
  result.first.assign(std::size_t{count} + 1, 0);
  for (const auto& [from, to] : pairs) ++result.first[(reversed ? to : from) + std::size_t{1}];
  for (std::size_t i = 0; i < count; ++i) result.first[i + 1] += result.first[i];
  result.to.resize(pairs.size());
  std::vector<std::size_t> at(result.first.begin(), result.first.end() - 1);
  for (const auto& [from, to] : pairs) result.to[at[reversed ? to : from]++] = reversed ? from : to;
  return result;
}

/// Takes away, again and again, what nothing points at; gives what went, in order.
std::vector<std::uint32_t> peel(const Successors& successors, std::vector<std::uint32_t>& waiting_for, std::vector<bool>& gone) {
  std::vector<std::uint32_t> order;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < waiting_for.size(); ++i) {
    if (!gone[i] && waiting_for[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    const std::uint32_t i = ready.top();
    ready.pop();
    gone[i] = true;
    order.push_back(i);
    for (std::size_t k = successors.first[i]; k < successors.first[i + std::size_t{1}]; ++k) {
      const std::uint32_t next = successors.to[k];
      if (!gone[next] && --waiting_for[next] == 0) ready.push(next);
    }
  }
  return order;
}

/// Shortest way from `start` back to itself over what is not gone, shorter than `limit` steps; empty when there is none.
std::vector<std::uint32_t> way_back(const Successors& successors, const std::vector<bool>& gone, std::uint32_t start, std::size_t limit,
                                    std::vector<std::uint32_t>& from, std::vector<std::uint32_t>& touched) {
  constexpr std::uint32_t kUnseen = 0xffffffffU;
  for (const std::uint32_t t : touched) from[t] = kUnseen;
  touched.clear();
  std::vector<std::uint32_t> level{start};
  for (std::size_t steps = 1; !level.empty() && steps < limit; ++steps) {
    std::vector<std::uint32_t> next;
    for (const std::uint32_t i : level) {
      for (std::size_t k = successors.first[i]; k < successors.first[i + std::size_t{1}]; ++k) {
        const std::uint32_t to = successors.to[k];
        if (gone[to] || from[to] != kUnseen) continue;
        from[to] = i;
        touched.push_back(to);
        if (to == start) {
          std::vector<std::uint32_t> cycle;
          for (std::uint32_t at = i; at != start; at = from[at]) cycle.push_back(at);
          cycle.push_back(start);
          return {cycle.rbegin(), cycle.rend()};
        }
        next.push_back(to);
      }
    }
    level = std::move(next);
  }
  return {};
}

}  // namespace

Order order_of(std::uint32_t count, const Pairs& pairs) {
  const Successors forward = successors_of(count, pairs, false);
  std::vector<std::uint32_t> waiting_for(count, 0);
  for (const auto& [from, to] : pairs) ++waiting_for[to];
  std::vector<bool> gone(count, false);
  Order result;
  result.order = peel(forward, waiting_for, gone);
  if (result.order.size() == count) return result;
  // What is left holds cycles and what hangs between and behind them; from behind the same, then every start is tried.
  const Successors backward = successors_of(count, pairs, true);
  std::vector<std::uint32_t> needed_by(count, 0);
  for (const auto& [from, to] : pairs) needed_by[from] += gone[to] ? 0U : 1U;
  (void)peel(backward, needed_by, gone);
  constexpr std::size_t kMostStarts = 2000;  // in graphs with more things in cycles the shortest of these is named
  std::vector<std::uint32_t> from(count, 0xffffffffU), touched;
  std::size_t starts = 0;
  for (std::uint32_t i = 0; i < count && starts < kMostStarts; ++i) {
    if (gone[i]) continue;
    ++starts;
    auto cycle = way_back(forward, gone, i, result.cycle.empty() ? std::size_t{count} + 1 : result.cycle.size(), from, touched);
    if (!cycle.empty()) result.cycle = std::move(cycle);
    if (result.cycle.size() == 1) break;
  }
  return result;
}

std::string cycle_text(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names.size() > kShown && i == kShown / 2) {
      text += " ... -> ";
      i = names.size() - kShown / 2;
    }
    text += names[i] + " -> ";
  }
  return names.empty() ? text : text + names.front();
}

}  // namespace sgsim

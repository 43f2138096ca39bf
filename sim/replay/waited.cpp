#include "sim/replay/waited.h"

#include <algorithm>

#include "sim/trace/recover.h"

namespace sgsim::replay {

Waited::Waited(const trace::RankTrace& rank, const trace::Dependencies& d) {
  std::vector<std::pair<Nanoseconds, Nanoseconds>> all;
  for (const trace::HostWait& w : d.waits) {
    const trace::HostCall& call = rank.calls[w.call];
    Nanoseconds wake = call.start;
    for (const std::uint32_t op : w.device_ops) wake = std::max(wake, trace::end_of(rank.device_ops[op]));
    wake = std::min(wake, trace::end_of(call));
    if (wake > call.start) all.emplace_back(call.start, wake);
  }
  std::sort(all.begin(), all.end());
  for (const auto& [from, to] : all) {
    if (stretches_.empty() || from > stretches_.back().second) stretches_.emplace_back(from, to);
    else stretches_.back().second = std::max(stretches_.back().second, to);
  }
}

Nanoseconds Waited::within(Nanoseconds from, Nanoseconds to) const {
  Nanoseconds sum = 0;
  auto it = std::partition_point(stretches_.begin(), stretches_.end(), [&](const auto& s) { return s.second <= from; });
  for (; it != stretches_.end() && it->first < to; ++it) sum += std::min(to, it->second) - std::max(from, it->first);
  return sum;
}

}  // namespace sgsim::replay

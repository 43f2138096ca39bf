#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/lower/workload.h"

namespace sgsim::lower::reference {

struct Times {
  Seconds start, end;
};
/// Start and end of every task of every rank, straight from the meaning that workload.h gives; nothing on a deadlock.
/// For small cases: it sweeps over all tasks until nothing changes.
inline std::optional<std::vector<std::vector<Times>>> simulate(const Workload& w) {
  struct Rank {
    std::vector<std::optional<Times>> done;
    std::vector<std::optional<Seconds>> issued;  // host time when it begins to issue the task
  };
  std::vector<Rank> ranks(w.ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto n = w.programs[w.ranks[r].program.value].tasks.size();
    ranks[r].done.resize(n);
    ranks[r].issued.resize(n);
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::size_t, std::pair<Seconds, Seconds>>> arrivals;  // (group, k) -> rank -> arrival, device
  bool changed = true;
  while (changed) {
    changed = false;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const Program& p = w.programs[w.ranks[r].program.value];
      std::vector<std::vector<std::size_t>> on_stream(p.streams.size());
      std::map<std::uint32_t, std::uint32_t> uses;
      std::optional<Seconds> host = Seconds();
      for (std::size_t t = 0; t < p.tasks.size(); ++t) {
        const Task& task = p.tasks[t];
        std::optional<Seconds> ready = Seconds();
        const auto need = [&](std::size_t other) {
          if (!ranks[r].done[other]) ready.reset();
          else if (ready) ready = std::max(*ready, ranks[r].done[other]->end);
        };
        if (!on_stream[task.stream].empty()) need(on_stream[task.stream].back());
        for (std::uint32_t d = 0; d < task.dependency_count; ++d) {
          const Dependency& dep = p.dependencies[task.first_dependency + d];
          need(on_stream[dep.stream][dep.position - 1]);
        }
        on_stream[task.stream].push_back(t);
        const bool comm = task.kind == TaskKind::collective || task.kind == TaskKind::send || task.kind == TaskKind::receive;
        const std::uint32_t group = comm ? w.ranks[r].groups[p.comms[task.comm].slot].value : 0;
        const std::uint32_t k = comm ? uses[group]++ : 0;
        if (!ranks[r].done[t] && ready && host) {
          if (task.kind == TaskKind::host_sync) {
            const Seconds end = std::max(*ready, *host) + task.host;
            ranks[r].done[t] = Times{std::max(*ready, *host), end};
            changed = true;
          } else if (!comm) {
            const Seconds device = task.device / w.ranks[r].speed;
            const Seconds end = std::max(*ready + device, *host + task.issue_to_end - task.device + device);
            ranks[r].done[t] = Times{end - device, end};
            changed = true;
          } else {
            auto& here = arrivals[{group, k}];
            if (here.emplace(r, std::pair(std::max(*ready, *host + task.issue_to_end - task.device), task.device)).second) changed = true;
            if (here.size() == w.groups[group].members.size()) {
              Seconds start, device;
              for (const auto& [who, arrival] : here) {
                start = std::max(start, arrival.first);
                device = std::max(device, arrival.second);
              }
              ranks[r].done[t] = Times{start, start + device};
              changed = true;
            }
          }
        }
        if (task.kind == TaskKind::host_sync) {
          host = ranks[r].done[t] ? std::optional(ranks[r].done[t]->end) : std::nullopt;
        } else if (host) {
          host = *host + task.host;
        }
      }
    }
  }
  std::vector<std::vector<Times>> out;
  for (const Rank& rank : ranks) {
    out.emplace_back();
    for (const auto& d : rank.done) {
      if (!d) return std::nullopt;
      out.back().push_back(*d);
    }
  }
  return out;
}

inline Seconds makespan(const std::vector<std::vector<Times>>& times) {
  Seconds last;
  for (const auto& rank : times) {
    for (const Times& t : rank) last = std::max(last, t.end);
  }
  return last;
}

}  // namespace sgsim::lower::reference

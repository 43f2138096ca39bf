#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/simulate.h"

namespace sgsim::scenario {

enum class PathKind : std::uint8_t { compute, slowed, communication, host };

/// A stretch of the critical path on one rank. Stretches follow each other without gaps from 0 to the step's end.
struct PathStep {
  PathKind kind = PathKind::compute;
  std::uint32_t rank = 0, task = 0;   // simulated rank, task of its program (host: the task that waited for the host)
  Seconds from, to;
  bool operator==(const PathStep&) const = default;
};

struct PathTime {
  PathKind kind = PathKind::compute;
  std::string name;                   // kernel, communication, or what the host does
  Seconds time;
  bool operator==(const PathTime&) const = default;
};

/// Walks back from the last task's end through what each task waited for: the previous task of its stream, a
/// dependency, the host (from its last synchronisation on), or the last member to arrive. Needs every span recorded.
/// A computation that ran longer than alone is split into its own time and `slowed` (by communication beside it).
[[nodiscard]] std::vector<PathStep> critical_path(const Simulation& simulation);

/// The path by kind and name, largest first; computation by kernel. Sums to the step time.
[[nodiscard]] std::vector<PathTime> by_name(const Simulation& simulation, const std::vector<PathStep>& path);

[[nodiscard]] std::string_view label(PathKind kind);

}  // namespace sgsim::scenario

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/scenario/simulate.h"

namespace sgsim::scenario {

/// Memory of a recorded rank over the step: what is allocated from each time on, by kind. A point a task that changes
/// it, in time order (streams overlap, so that program order is not: a point counts from its task's end on).
struct MemoryAt {
  Seconds time;
  std::array<Bytes, lower::kMemoryClasses> by_class{};
  std::uint32_t task = 0;   // of the rank's program, after which it is so
};
[[nodiscard]] std::vector<MemoryAt> memory_curve(const Simulation& simulation, const lower::Memory& memory, std::uint32_t rank);

/// At most `most` points: of each stretch of the step the fullest one is kept.
[[nodiscard]] std::vector<MemoryAt> thinned(const std::vector<MemoryAt>& curve, std::size_t most);

}  // namespace sgsim::scenario

#pragma once

#include <cstdint>
#include <vector>

#include "sim/lower/workload.h"

namespace sgsim::engine {

/// A program as a graph: who waits for how many, and who comes after whom.
struct Script {
  struct Node {
    lower::TaskKind kind = lower::TaskKind::compute;
    std::uint16_t stream = 0;
    std::uint32_t predecessors = 0;     // stream order, dependencies, the last host_sync
    std::uint32_t first_successor = 0, last_successor = 0;  // range of successors
    std::uint32_t sync = 0;             // host_syncs before it
    std::uint32_t use = 0;              // of its slot
    double host_before = 0.0;           // s of host work since the last host_sync
  };
  const lower::Program* program = nullptr;
  std::vector<Node> nodes;
  std::vector<std::uint32_t> successors;
  std::uint32_t syncs = 0;
};

[[nodiscard]] Script make_script(const lower::Program& program);

}  // namespace sgsim::engine

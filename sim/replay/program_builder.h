#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sim/replay/replay.h"

namespace sgsim::replay {

/// What a rank's program takes from elsewhere than its trace.
struct ProgramInput {
  std::map<std::uint32_t, Nanoseconds> transfers;      // by collective of the rank: transfer time of those that wait for members
  std::map<std::uint32_t, std::uint16_t> slots;        // by collective of the rank, of those
  std::vector<double> factor;                          // on the duration of every other operation, by device operation; empty: none
};

/// The program of one rank, and the task of each of its device operations. Uses `origin` and `report` of `built`.
[[nodiscard]] std::pair<lower::Program, std::vector<std::uint32_t>> build_program(const trace::ImportedRun& run, std::uint32_t rank, const trace::Dependencies& dependencies,
                                                                                  const ProgramInput& input, Built& built);

}  // namespace sgsim::replay

#pragma once

#include <map>
#include <vector>

#include "sim/replay/replay.h"

namespace sgsim::replay {

/// What a rank's program takes from elsewhere than its trace.
struct ProgramInput {
  std::map<std::uint32_t, Nanoseconds> transfers;      // by collective of the rank: transfer time of those that wait for members
  std::map<std::uint32_t, std::uint16_t> slots;        // by collective of the rank, of those
  std::vector<double> factor;                          // on the duration of every other operation, by device operation; empty: none
  double host = 1.0;                                   // on the host's own times; 0: it never holds the device back
};

struct BuiltProgram {
  lower::Program program;
  std::vector<std::uint32_t> task_of;                  // by device operation
  ProgramNotes notes;
};

/// The program of one rank. Uses `origin` and `report` of `built`.
[[nodiscard]] BuiltProgram build_program(const trace::ImportedRun& run, std::uint32_t rank, const trace::Dependencies& dependencies, const ProgramInput& input, Built& built);

}  // namespace sgsim::replay

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/trace/imported_run.h"

namespace sgsim::trace {

/// One key on both sides: device time and operations of one step of one rank (means over steps and ranks).
struct DiffRow {
  std::string key;
  double operations_a = 0.0, operations_b = 0.0;
  double seconds_a = 0.0, seconds_b = 0.0;
  [[nodiscard]] double change() const { return seconds_b - seconds_a; }
};

/// Two runs against each other; rows by greatest change of time first.
struct Diff {
  double step_a = 0.0, step_b = 0.0;              // seconds from the first device operation to the end of the last, a step
  std::uint32_t steps_a = 1, steps_b = 1, ranks_a = 1, ranks_b = 1;
  std::uint64_t empty_a = 0, empty_b = 0;         // marked steps without device operations, left out, over the ranks
  bool waiting_apart_a = true, waiting_apart_b = true;  // false: communication holds the waiting for other ranks
  std::vector<DiffRow> by_kind, by_stream, by_layer, by_name, by_rank;
};

/// Steps as marked; where they are not, by the optimizer's annotations; else the file is one step. What is outside of all steps, and steps without device operations (as in a replay), are left out.
/// Waiting for other members of a collective is a kind of its own where ranks are matched, or the file tells it apart.
/// Streams are compared by their place in the order of busy time: their ids differ from run to run.
[[nodiscard]] Diff diff_runs(const ImportedRun& a, const ImportedRun& b);

/// `most`: rows of a table.
[[nodiscard]] std::string diff_text(const Diff& diff, std::size_t most);

}  // namespace sgsim::trace

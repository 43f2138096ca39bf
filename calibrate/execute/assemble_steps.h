#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/device/activity.h"
#include "calibrate/record/measured_file.h"
#include "calibrate/record/program_file.h"

namespace sgsim::calibrate {

/// One call that a rank's host made: which task it belongs to, and which kernel (kNoWork: a communication).
struct Launched {
  static constexpr std::uint32_t kNoWork = 0xffffffffu;
  std::uint32_t task = 0, work = kNoWork;
};

/// Marks of traced launches: rank and place in its list of launches.
[[nodiscard]] constexpr std::uint64_t launch_mark(std::uint32_t rank, std::uint64_t index) { return (std::uint64_t{1} << 62) | (std::uint64_t{rank} << 40) | (index + 1); }

/// What ran on one rank in one step: records with the launch that each belongs to.
struct PlacedRecord {
  Activity activity;
  std::size_t launch = 0;  // index in the rank's launches
};

struct PlacedStep {
  std::vector<std::vector<PlacedRecord>> ranks;
  std::uint64_t dropped = 0, unplaced = 0;
};

/// Records of one step that was launched call by call, each call under its launch_mark. Sorted by start.
[[nodiscard]] PlacedStep place_by_marks(const ActivityBatch& batch, const std::vector<std::vector<Launched>>& launches);

/// Records of one step that was launched as a CUDA graph of each rank (rank r on device r): nodes are numbered as they were captured, so that
/// they stand in the order of `example`, a step of the same programs placed by marks. Where the names do not agree in that order,
/// equal names are matched in the order of their starts.
[[nodiscard]] PlacedStep place_by_example(const ActivityBatch& batch, const PlacedStep& example);

/// Puts the tasks of all steps together: each task's times are medians over the steps; a step begins with its first record.
/// Fills ranks, works, steps.traced_s, steps.traced, waits_*, records_*.
void measure_tasks(const ExecutableProgram& program, const std::vector<std::vector<Launched>>& launches, const std::vector<PlacedStep>& steps, MeasuredProgram& into);

}  // namespace sgsim::calibrate

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/critical_path.h"
#include "sim/scenario/simulate.h"
#include "sim/trace/imported_run.h"

namespace sgsim::gui {

/// What a task is drawn as. The last four are states of a rank's summary row, not of tasks.
enum class Category : std::uint8_t { forward, backward, optimizer, nvlink, network, wait, copy, host, computing, exposed, bubble, starved };
inline constexpr std::size_t kCategories = 12;
[[nodiscard]] std::string_view label(Category category);

/// One task on a row. Times in seconds from the step's start; `arrival` < `start` where it waits for other ranks.
struct Slice {
  double arrival = 0.0, start = 0.0, end = 0.0;
  std::uint32_t task = 0;      // index in the rank's program; kNoTask: part of a summary row
  std::uint32_t name = 0;      // TimelineData::names
  Category category = Category::forward;
};
inline constexpr std::uint32_t kNoTask = 0xffffffffu;

/// One stream of one rank, in time order and without overlaps.
struct Row {
  std::string name;
  bool summary = false;        // computation / exposed communication / bubble / starved by the host
  std::vector<Slice> slices;
};

/// A rank (or the class that it stands for) or a measured trace's rank: a heading and its rows.
struct Lane {
  std::string title, subtitle;
  std::uint32_t rank = 0;      // simulated rank; measured: index of the trace's rank
  bool measured = false;
  std::vector<Row> rows;
};

/// Place of a slice.
struct SliceRef {
  std::uint32_t lane = 0, row = 0, slice = 0;
  auto operator<=>(const SliceRef&) const = default;
};

struct TimelineData {
  double end = 0.0;            // of the last task, seconds
  std::uint64_t tasks = 0;     // slices that are tasks
  std::vector<std::string> names;
  std::vector<std::string> layers;    // module paths, in order of first use
  std::vector<Lane> lanes;

  [[nodiscard]] const Slice& at(SliceRef ref) const { return lanes[ref.lane].rows[ref.row].slices[ref.slice]; }
};

/// The recorded tasks of a run: a lane a recorded rank, its summary first, then its streams that have tasks.
[[nodiscard]] TimelineData timeline_of(const scenario::Run& run);

/// Adds the device streams of a measured run under the predicted ones, moved so that its first step begins at 0.
void add_measured(TimelineData& data, const trace::ImportedRun& run);

/// Slices whose name contains `text` (case is ignored), in lane, row and time order; at most `most`.
[[nodiscard]] std::vector<SliceRef> find_slices(const TimelineData& data, std::string_view text, std::size_t most);

/// The first task in time that runs kernels of the layer.
[[nodiscard]] std::optional<SliceRef> find_layer(const TimelineData& data, const scenario::Run& run, std::string_view layer);

/// What a task waited for and what waits for it, inside its rank.
struct Neighbours {
  std::vector<SliceRef> before, after;
};
[[nodiscard]] Neighbours neighbours_of(const TimelineData& data, const scenario::Run& run, SliceRef task);

/// The slice of a simulated rank's task, if it was recorded.
[[nodiscard]] std::optional<SliceRef> slice_of(const TimelineData& data, std::uint32_t rank, std::uint32_t task);

/// Facts of one task, (what, value), for the panel beside the timeline.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> facts_of(const TimelineData& data, const scenario::Run* run, SliceRef task);

}  // namespace sgsim::gui

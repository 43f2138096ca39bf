#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/core/error.h"

namespace sgsim::calibrate {

enum class ActivityKind : std::uint8_t { kernel, copy, fill };

/// One thing that a GPU did, as CUPTI records it. Times are on CUPTI's clock, in nanoseconds.
struct Activity {
  ActivityKind kind = ActivityKind::kernel;
  std::string name;                 // mangled kernel name; "copy", "fill" otherwise
  std::int64_t start_ns = 0, end_ns = 0;
  int device = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;    // of the API call that launched it; 0 when CUPTI gave none
  std::uint64_t graph_node = 0;     // 0 outside a CUDA graph
  std::int64_t bytes = 0;           // copies and fills
  std::array<int, 3> grid{1, 1, 1};
  bool operator==(const Activity&) const = default;
};

/// Says that the API call `correlation` was made while mark `mark` was set.
struct Mark {
  std::uint32_t correlation = 0;
  std::uint64_t mark = 0;
  bool operator==(const Mark&) const = default;
};

/// What a source delivered since the last time; in no order.
struct ActivityBatch {
  std::vector<Activity> activities;
  std::vector<Mark> marks;
  std::uint64_t dropped = 0;  // records that CUPTI says it lost
};

/// Another tool holds the source of activity records: it also falsifies what is measured without them.
class ActivitiesHeld : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

/// Where activity records come from: CUPTI, or a fake in tests.
class ActivitySource {
 public:
  virtual ~ActivitySource() = default;
  /// Launches of this thread until `clear_mark` carry `mark` (>= 1).
  virtual void set_mark(std::uint64_t mark) = 0;
  virtual void clear_mark() = 0;
  /// Records of everything that has finished. The caller has synchronised the devices.
  virtual ActivityBatch collect() = 0;
  /// Recording costs the host time on every launch; measurements of the host turn it off.
  virtual void pause() = 0;
  virtual void resume() = 0;
};

/// One repetition of a measured operation, put together from its records.
struct Run {
  std::uint64_t mark = 0;
  std::vector<Activity> activities;  // in order of start, then device
};

/// Every way in which records were less than expected, counted.
struct AssemblyLosses {
  std::uint64_t dropped = 0;         // lost by CUPTI
  std::uint64_t unmarked = 0;        // a record without correlation, or one that no mark claims
  std::uint64_t incomplete_runs = 0; // runs with fewer records than most have; left out
  bool by_order = false;             // no record carried a mark: runs were told apart by order
  bool operator==(const AssemblyLosses&) const = default;
};

struct Assembly {
  std::vector<Run> runs;  // complete ones, by mark
  AssemblyLosses losses;
};

/// Sorts records into the runs marked `first` .. `first + count - 1`. Records may come in any order and from several
/// streams and devices. A run is complete when it has as many records as the most frequent count among runs. When no
/// mark arrived at all and the records divide evenly, they are divided in order of start on each device instead.
[[nodiscard]] Assembly assemble(const ActivityBatch& batch, std::uint64_t first, int count);

/// Seconds that some device was busy with the run: the sum of its records' durations on the device where that is largest.
[[nodiscard]] double busy_seconds(const Run& run);
/// From the first start to the last end.
[[nodiscard]] double span_seconds(const Run& run);
/// Duration of the record that is shortest over devices (each device's records summed): for a collective the member that
/// started last, so its transfer without the wait for others.
[[nodiscard]] double last_member_seconds(const Run& run);

}  // namespace sgsim::calibrate

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "calibrate/record/key.h"
#include "calibrate/device/activity.h"

namespace sgsim::calibrate {

/// Thrown by a case that this machine or library cannot run; the point is then WAIVED, not failed.
struct Waived {
  std::string reason;
};

/// How far a result was from its reference: |result - reference| / |reference| over the checked elements (2-norms).
struct Check {
  double error = 0.0;
  double tolerance = 0.0;
  [[nodiscard]] bool passed() const { return error <= tolerance; }  // false for NaN
};

/// What a run's time is, given its records.
enum class Reduction : std::uint8_t {
  busy,         // sum of its kernels' durations: what a stream pays, gaps left out
  span,         // first start to last end
  last_member,  // a collective: the member that began last
};

/// Timed by activity records: `enqueue(r)` launches repetition r (r < 0: warm-up) and returns without waiting.
struct DeviceTimed {
  std::function<void(int)> enqueue;
  Reduction reduction = Reduction::busy;
};
/// Measures itself (host costs, several streams): samples in seconds.
struct SelfTimed {
  std::function<std::vector<double>()> measure;
  bool records_off = false;  // true: activity records would falsify it
};

/// A point made ready on the device.
struct Task {
  std::variant<DeviceTimed, SelfTimed> timing;
  std::function<void()> synchronize = {};
  std::function<Check()> check = {};          // empty: nothing to check (a cost of the host)
  int warmups = 2;
  double sustain_seconds = 0.0;               // > 0: repeat for this long; the second half counts
  double rest_seconds = 0.0;                  // > 0: idle this long before each repetition, so that the GPU stays cool
  std::function<void()> probe = {};           // launches the clock probe (runner.h) behind a repetition; empty: none
  std::function<std::map<std::string, std::string>()> notes = {};  // read after the measurement; may be empty
  std::shared_ptr<void> holds = {};           // what the functions refer to
};

/// Makes a point ready. Throws Waived, or EnvironmentError when the machine fails.
using Prepare = std::function<Task(const Key&)>;

}  // namespace sgsim::calibrate

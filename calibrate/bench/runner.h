#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "calibrate/record/key.h"
#include "calibrate/bench/task.h"
#include "calibrate/device/activity.h"
#include "calibrate/device/machine.h"
#include "calibrate/record/samples_file.h"

namespace sgsim::calibrate {

/// How much effort a point gets.
struct Effort {
  int least_runs = 5, most_runs = 40;
  double target_seconds = 0.004;    // device time of all repetitions of a point, between the two limits
  // A GPU that works without a pause reaches its power limit, and its clock then depends on what ran before. So the
  // repetitions come in bursts with rests between them.
  double burst_seconds = 0.0015;
  double rest_ratio = 1.0;          // rest after a burst, as a multiple of it; 0: none
  double most_minutes = 0.0;        // of the whole run; 0: no limit
  double lost_share = 0.2;          // a point with more than this share of lost repetitions is measured once more
};

/// What a run did.
struct RunReport {
  int measured = 0, waived = 0, failed = 0, kept = 0;  // kept: had been measured before
  int left = 0;                                        // no time for them
  AssemblyLosses losses;
  std::vector<std::string> findings;
};

/// Wall-clock seconds since any fixed moment; a fake in tests.
using Clock = std::function<double()>;
/// Told after every point: points done, points to do, seconds used, seconds still expected, and what was done last.
struct Progress {
  int done = 0, total = 0;
  double used_s = 0.0, left_s = 0.0;
  std::string last;
};
using Report = std::function<void(const Progress&)>;

/// A kernel that one thread spins in for a known number of cycles: its duration tells the SM clock at that moment, which a
/// power limit moves by tens of per cent within milliseconds.
struct ClockProbe {
  double cycles = 0.0;           // 0: no probe
  double overhead_seconds = 0.0; // of its duration beyond the cycles: start and end of a kernel
  [[nodiscard]] double clock_hz(double duration_seconds) const { return cycles / std::max(1e-9, duration_seconds - overhead_seconds); }
};

inline constexpr ClockProbe kNoProbe = {};

struct RunSeams {
  ActivitySource& activities;
  MachineSource& machine;
  SamplesWriter& writer;
  Clock clock;
  Report report;
  const ClockProbe& probe = kNoProbe;  // may be filled in while points are measured
};

/// Repetitions that reach `effort.target_seconds` at `expected_seconds` each, within the limits.
[[nodiscard]] int runs_for(double expected_seconds, const Effort& effort);

/// Measures the points that `known` does not have yet, in order, each by the group's `prepare`; keeps each at once.
/// A point whose result is wrong is reported as failed and its time is not kept. A waived or failed point does not end
/// the run; an EnvironmentError of the machine (out of memory, a lost device) ends it when three points in a row fail so.
[[nodiscard]] RunReport run_points(const std::vector<Key>& points, const std::map<std::string, Prepare>& prepare, const Samples& known,
                                   const Effort& effort, RunSeams seams);

}  // namespace sgsim::calibrate

#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrate/record/key.h"
#include "calibrate/stats/summary.h"

namespace sgsim::calibrate {

/// One measured point. Times in seconds.
struct Measurement {
  Key key;
  Summary time = {};
  int warmups = 0;
  double check_error = 0.0, check_tolerance = 0.0;  // both 0: nothing to check
  double drift = 0.0;                               // over the samples, relative; 0 when too few
  int lost_runs = 0;                                // repetitions whose records were incomplete
  int sm_clock_mhz = 0;                             // during it, by probe, else right after it, by NVML; 0 unknown
  double cycles = 0.0, cycles_spread = 0.0;         // of the SM clock, median over repetitions; 0 without a probe
  std::vector<std::string> kernels = {};            // names of one repetition's kernels, in order of start
  std::map<std::string, std::string> notes = {};    // "nccl_algorithm" -> "RING"
  bool operator==(const Measurement&) const = default;
};

enum class Missing : std::uint8_t { waived, failed };
/// A point that has no measurement, and why.
struct NotMeasured {
  Key key;
  Missing why = Missing::waived;
  std::string reason;
  bool operator==(const NotMeasured&) const = default;
};

}  // namespace sgsim::calibrate

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/scenario/sweep/point.h"

namespace sgsim::scenario {

struct SweepOptions {
  std::string store;             // SQLite file, made if need be
  std::string csv;               // written whole when the sweep is done
  std::string program_version;   // part of each point's key: another build computes anew
  unsigned workers = 1;
  bool retry_failed = false;     // points whose process died are tried again
};

/// A point with figures, for the summary.
struct BestPoint {
  std::uint64_t number = 0;
  std::string settings;                    // "plan.tp=4 plan.pp=2"
  double step_time_s = 0.0, samples_per_s = 0.0, mfu = 0.0, reserved_mem_bytes = 0.0;
};

struct SweepProgress {
  std::uint64_t points = 0;
  std::uint64_t done = 0;        // in the store, this run's and earlier ones'
  std::uint64_t reused = 0;      // of these, from earlier runs or equal points
  std::array<std::uint64_t, 5> by_status{};  // by PointStatus
  std::vector<BestPoint> best;   // at the end: those that fit, by samples a second, at most kMostBest
};
inline constexpr std::size_t kMostBest = 5;

/// Simulates every point that the store does not hold, on worker processes; `tell` hears of each result and at least twice
/// a second. Resumes where an earlier, killed run stopped. Throws EnvironmentError for the store, never for a point.
SweepProgress run_sweep(const Sweep& sweep, const RunEngine& engine, const SweepOptions& options, const std::function<void(const SweepProgress&)>& tell);

}  // namespace sgsim::scenario

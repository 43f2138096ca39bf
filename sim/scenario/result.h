#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/core/ids.h"
#include "sim/core/quantity.h"
#include "sim/cost/estimate.h"
#include "sim/lower/lower.h"
#include "sim/plan/plan.h"
#include "sim/timeline/timeline.h"

namespace sgsim::scenario {

inline constexpr std::size_t kSources = 5;  // cost::Source

/// Which share of a time rests on which kind of knowledge, indexed by cost::Source; sums to 1, or all zero for no time.
struct SourceShares {
  std::array<double, kSources> share{};
  bool operator==(const SourceShares&) const = default;
};

/// Time by name, over one step, mean over all ranks.
struct NamedTime {
  std::string name;
  Seconds time;
  std::uint64_t launches = 0;  // a step and rank, mean, rounded
  bool operator==(const NamedTime&) const = default;
};

/// A figure's expected error: half-width of a 90 % interval as a fraction, and what it is made of.
struct Interval {
  double relative = 0.0;       // low = value / (1 + relative), high = value * (1 + relative)
  Seconds low, high;
  std::vector<std::pair<std::string, double>> parts;  // one standard error from each part, as a fraction of the value
};

/// Ranks that did the same, counted.
struct ClassResult {
  std::string name;                    // the program's
  std::uint32_t ranks = 0;
  RankId example;                      // a real rank
  timeline::Accounting time;
  Bytes peak, reserved;                // allocated; with rounding and the runtime's own
  Bytes graph_pool;                    // CUDA graphs' private pool, in reserved and not in peak, as PyTorch's allocator counts
  std::array<Bytes, lower::kMemoryClasses> at_peak{};  // by lower::MemoryClass
  std::vector<std::pair<std::string, Bytes>> live_at_peak;
};

/// One predicted step. Times are means over all ranks (they add up to the step time); memory is the fullest rank's.
struct Result {
  Seconds step_time;
  Interval interval;
  double tokens_per_second = 0.0;      // 0 where a sample has no tokens
  double samples_per_second = 0.0;
  double mfu = 0.0, hfu = 0.0;
  Flops model_flops, hardware_flops;   // of one step of the whole job
  std::string attention_flops;         // how model_flops counts attention, in words
  FlopsPerSecond peak_rate;            // one GPU, of the compute type
  Seconds compute, exposed_comm, overlapped_comm, bubble, host_bound, other_idle;
  SourceShares compute_sources, comm_sources, host_sources;
  std::vector<NamedTime> kernels;      // device time by kernel name, largest first
  std::vector<NamedTime> layers;       // device time by module, largest first
  std::vector<NamedTime> communication;  // transfer time by name, largest first
  Bytes peak_memory, reserved_memory, capacity;
  bool fits = true;
  std::vector<ClassResult> asked;      // of the one rank that was asked for, `example` being that rank
  std::string memory_curve_of;         // program whose memory over time was recorded; empty: none was
  std::vector<std::pair<Seconds, std::array<Bytes, lower::kMemoryClasses>>> memory_curve;  // from each time on
  int gpus = 0;
  std::uint32_t rank_classes = 0;      // ranks that were simulated
  std::uint64_t tasks = 0;
  std::string engine;
  std::vector<std::string> engine_settings;
  std::vector<ClassResult> classes;    // most loaded memory first within equal names; by program order
  std::vector<plan::Note> notes;
  Diagnostics diagnostics;
};

}  // namespace sgsim::scenario

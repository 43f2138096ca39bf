#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/search/candidate.h"

namespace sgsim::search {

enum class Objective : std::uint8_t { time, cost, goodput, memory };

/// What a job costs and how often it fails; stated by the user, nothing is assumed.
struct Economics {
  std::optional<double> price;          // of one GPU and hour, in `currency`
  std::optional<Seconds> gpu_mtbf;      // mean time between failures of one GPU with its share of the node
  std::optional<Seconds> checkpoint;    // training stands still while one is taken
  std::optional<Seconds> restart;       // from a failure to training again, lost work excluded
  std::string currency = {};            // of the price
  bool operator==(const Economics&) const = default;
};

/// Currency for one sample: price x GPUs x step time / global batch. Nothing without a price.
[[nodiscard]] std::optional<double> cost_per_sample(const Economics& economics, int gpus, Seconds step_time, std::int64_t global_batch);

/// Share of the time in which a job on `gpus` GPUs makes progress: checkpoints at the interval sqrt(2 checkpoint M) with M = gpu_mtbf / gpus
/// (Young, CACM 1974), half an interval lost and a restart paid at each failure. In [0, 1]; 0 where the next failure comes
/// before a restart and a checkpoint are done. Nothing where one of the three is not stated.
[[nodiscard]] std::optional<double> useful_share(const Economics& economics, int gpus);

/// What the objective minimises: seconds, currency a sample, seconds a useful sample, bytes. CHECKs that what it needs was stated.
[[nodiscard]] double score(Objective objective, const Economics& economics, int gpus, std::int64_t global_batch, const Figures& figures);

}  // namespace sgsim::search

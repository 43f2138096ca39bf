#pragma once

#include <cstdint>
#include <string>

#include "sim/cluster/cluster.h"
#include "sim/cost/profile.h"
#include "sim/replay/replay.h"

namespace sgsim::replay {

/// Sizes of a job: data and tensor parallel. Rank r is tensor rank r % tp of data rank r / tp.
struct Sizes {
  int dp = 1, tp = 1;
  [[nodiscard]] int ranks() const { return dp * tp; }
};

/// A machine: its cluster, large enough for the job, and the profile of its GPUs.
struct Machine {
  const cluster::Cluster& cluster;
  const cost::Profile& profile;
};

/// The captured job and machine, and the wanted ones.
struct Rescale {
  Sizes captured, wanted;
  Machine from, to;
};

/// The program of the run's first rank on every rank of the wanted job: ready to fold.
struct Rescaled {
  lower::Workload workload;
  Diagnostics report;   // "import.rescale.<what>": every assumption, counted
};

/// A collective's transfer time is the captured one (least over the imported ranks) times what the cost model gives for the wanted over the
/// captured group, size and machine. Kernels: with another tensor size, matrix products, attention and the optimizer take the share
/// of the sizes; with another GPU, matrix products, attention and convolutions go by peak rate, everything else by memory bandwidth. The batch of a
/// rank stays as it was. The host's times stay.
/// Throws InputError where a group's role does not follow from its size (dp and tp equal), or a size of 1 was captured and a larger one is
/// wanted: the program then lacks the collectives that it would need.
[[nodiscard]] Rescaled rescale(const trace::ImportedRun& run, const trace::Matching& matching, const trace::Dependencies& dependencies, const Rescale& request);

}  // namespace sgsim::replay

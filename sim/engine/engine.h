#pragma once

#include <cstdint>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/lower/workload.h"
#include "sim/timeline/timeline.h"

namespace sgsim::engine {

/// Ranks that no difference can tell apart, folded to one representative of each class. Exact or not folded.
struct Folded {
  lower::Workload workload;                 // groups hold representatives only
  std::vector<std::uint32_t> multiplicity;  // by folded rank
  std::vector<RankId> representative;       // real rank of each folded rank
  std::vector<std::uint32_t> class_of;      // by real rank
};
[[nodiscard]] Folded fold(const lower::Workload& workload);
[[nodiscard]] Folded fold(lower::Workload&& workload);  // moves the programs
/// Every rank its own class (`--full`).
[[nodiscard]] Folded unfolded(lower::Workload workload);

/// What to record beside the totals.
struct Options {
  std::vector<std::uint32_t> spans_of;  // folded rank indices whose tasks are recorded; empty: none
  bool all_spans = false;
};

/// Simulates one step. `fast`: event-driven list scheduling with closed-form transfers.
[[nodiscard]] timeline::Timeline run_fast(const Folded& folded, const Options& options);
/// Reference: inter-node transfers are flows over the cluster's links with max-min sharing (SimGrid). The workload must
/// be unfolded when links are shared. Call once a process where exactness matters (design.md, section 5).
[[nodiscard]] timeline::Timeline run_simgrid(const Folded& folded, const cluster::Cluster& cluster, const Options& options);

}  // namespace sgsim::engine

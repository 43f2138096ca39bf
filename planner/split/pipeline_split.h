#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/split/work_graph.h"

namespace sgsim::split {

/// What stages are made for.
struct SplitRequest {
  int stages = 2;
  Bytes capacity;                    // of one stage
  std::vector<Link> links;           // between stage i and i + 1 (stages - 1 entries)
  bool overlap = false;              // a stage's transfers run beside its computation (its time is their maximum), else after it
  double overlap_share = 0.7;        // a cut overlaps well while max(communication, computation) <= this share of their sum
  std::size_t most_prefixes = 4096;  // beyond: candidates are the chain of minimum cuts, and the split says so
};

struct CutReport {
  Bytes bytes;
  Seconds communication, computation;  // of the cut, there and back; of the slower of the two stages beside it
  double share = 1.0;                  // max / sum; 0.5: perfectly balanced
  bool overlaps = false;               // share <= overlap_share
  /// Bandwidths between which it would.
  BytesPerSecond slowest, fastest;
};

struct Split {
  std::vector<int> stage_of;         // by node
  std::vector<Seconds> stage_time;   // computation and what it sends and receives
  std::vector<Bytes> stage_memory;
  std::vector<CutReport> cuts;
  Seconds bottleneck;                // the longest stage time: what a full pipeline takes a micro-batch
  bool exact = true;                 // every prefix was a candidate
};

/// Stages of least bottleneck under the memory limit, by dynamic programming over the prefixes of the graph (Tarnawski et al. 2020, "Efficient
/// Algorithms for Device Placement of DNN Graph Operators", section 4). Values that skip a stage pass through it. Nothing: no split fits.
[[nodiscard]] std::optional<Split> split_pipeline(const WorkGraph& graph, const SplitRequest& request);

/// All prefixes in order of size, empty and full included; nothing when there are more than `most`.
[[nodiscard]] std::optional<std::vector<Prefix>> all_prefixes(const WorkGraph& graph, std::size_t most);

/// Nested prefixes of few crossing bytes, one for each of `count` shares of the total time.
[[nodiscard]] std::vector<Prefix> chain_of_cuts(const WorkGraph& graph, std::size_t count);

}  // namespace sgsim::split

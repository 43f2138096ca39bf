#pragma once

#include <vector>

#include "sim/lower/data_parallel/data_parallel.h"
#include "sim/lower/data_parallel/offload.h"
#include "sim/lower/program/launches.h"
#include "sim/lower/program/piece.h"
#include "sim/lower/program/piece_writer.h"
#include "sim/lower/schedule/partition.h"

namespace sgsim::lower {

/// What a stage's program is made from.
struct StageInput {
  const SegmentedModel& model;
  const std::vector<SegmentLaunches>& segments;
  const std::vector<std::vector<Chunk>>& stages;
  const plan::Plan& plan;
  const Training& training;
  const TaskCosts& costs;
  int shard_group = 1;           // hybrid shard, resolved
  bool merge_lockstep = false;   // merge tensor-parallel collectives into the runs between them
  HostLink host_link = {};       // for what is offloaded
};

struct Stage {
  Skeleton skeleton;
  std::vector<Persistent> persistent;
  double parameters = 0.0;       // elements of this stage on one rank before data-parallel sharding
};

/// One pipeline stage's whole step: begin, the passes in schedule order with sends and receives between stages, finish.
/// Activations go from chunk to chunk by rendezvous send and receive on streams of their own, one a direction.
[[nodiscard]] Stage build_stage(const StageInput& input, int stage);

}  // namespace sgsim::lower

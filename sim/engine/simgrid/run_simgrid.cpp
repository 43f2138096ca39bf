#include "sim/engine/check/check.h"
#include "sim/engine/engine.h"
#include "sim/engine/simgrid/isolate.h"
#include "sim/engine/simgrid/replay.h"

namespace sgsim::engine {

timeline::Timeline run_simgrid(const Folded& folded, const cluster::Cluster& cluster, const Options& options) {
  check_workload(folded.workload);
  timeline::Timeline result = run_in_child([&] { return Replay(folded, cluster, options).run(); });
  result.engine = "simgrid";
  result.multiplicity = folded.multiplicity;
  result.representative = folded.representative;
  return result;
}

}  // namespace sgsim::engine

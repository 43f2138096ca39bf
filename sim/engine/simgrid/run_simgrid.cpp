#include "sim/core/error.h"
#include "sim/engine/check/check.h"
#include "sim/engine/engine.h"
#include "sim/engine/simgrid/isolate.h"
#include "sim/engine/simgrid/replay.h"

namespace sgsim::engine {

timeline::Timeline run_simgrid(const Folded& folded, const cluster::Cluster& cluster, const Options& options) {
  check_workload(folded.workload);
  for (const lower::Program& program : folded.workload.programs) {
    if (program.parts.empty()) continue;
    throw InputError({.file = "workload", .where = "program \"" + program.name + "\"", .found = "collectives merged into runs of kernels", .expected = "each collective a task of its own",
                      .hint = "lower without merge_lockstep for the simgrid engine"});
  }
  timeline::Timeline result = run_in_child([&] { return Replay(folded, cluster, options).run(); });
  result.engine = "simgrid";
  result.multiplicity = folded.multiplicity;
  result.representative = folded.representative;
  return result;
}

}  // namespace sgsim::engine

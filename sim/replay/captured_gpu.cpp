#include "sim/replay/captured_gpu.h"

#include "sim/cluster/builders.h"
#include "sim/cluster/gpu_name.h"
#include "sim/core/error.h"

namespace sgsim::replay {
std::string machines_with(std::string_view gpu) {
  std::string names;
  for (const std::string& name : cluster::builtin_cluster_names()) {
    if (cluster::may_be_one_gpu(gpu, cluster::builtin_cluster(name, 1)->node.gpu.name)) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

void check_captured_gpu(const trace::ImportedRun& run, const cluster::Cluster& machine, Diagnostics& report) {
  const std::string& expected = machine.node.gpu.name;
  for (const trace::RankTrace& rank : run.ranks) {
    if (rank.gpu.empty() || rank.gpu == "unknown") {
      report.add("import.rescale.captured_gpu_not_in_file", Severity::warning, rank.file + ": taken for " + expected);
      continue;
    }
    if (cluster::may_be_one_gpu(rank.gpu, expected)) continue;
    const std::string names = machines_with(rank.gpu);
    throw InputError({.file = rank.file, .where = "deviceProperties", .found = "GPU \"" + rank.gpu + "\"", .expected = "the GPU of the captured machine " + machine.name + ", " + expected,
                      .hint = names.empty() ? "no builtin machine has this GPU: a trace of it can be replayed as captured, not rescaled" : "machines with this GPU: " + names});
  }
}

}  // namespace sgsim::replay

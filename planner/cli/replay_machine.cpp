#include "planner/cli/replay_machine.h"

#include <fmt/format.h>

#include <filesystem>

#include "sim/cluster/builders.h"
#include "sim/core/error.h"
#include "sim/cost/profile.h"
#include "sim/scenario/read.h"

namespace sgsim::cli {
namespace {

cluster::Cluster cluster_of(const std::string& name, int ranks, const std::string& flag) {
  if (const auto one = cluster::builtin_cluster(name, 1)) return *cluster::builtin_cluster(name, (ranks + one->node.gpus - 1) / one->node.gpus);
  if (!std::filesystem::is_regular_file(name)) {
    std::string names;
    for (const std::string& n : cluster::builtin_cluster_names()) names += (names.empty() ? "" : ", ") + n;
    throw InputError({.file = "sgsim replay", .where = flag, .found = "\"" + name + "\"", .expected = "one of: " + names + "; or a cluster file", .hint = "docs/formats/scenario.md says what a cluster file holds"});
  }
  cluster::Cluster cluster = scenario::read_cluster(name);
  if (cluster.gpus() < ranks) {
    throw InputError({.file = name, .where = "$.nodes", .found = fmt::format("{} GPUs", cluster.gpus()), .expected = fmt::format("{} GPUs at least, one a rank ({})", ranks, flag), .hint = "say more nodes in the file"});
  }
  if (cluster.node.gpu.profile.empty()) {
    throw InputError({.file = name, .where = "$.node.gpu.profile", .found = "nothing", .expected = "the name of a profile that ships, such as \"a100-80gb\"", .hint = "its rates are those of the machine's kernels and collectives"});
  }
  cluster.name += " (" + name + ")";  // files may call different machines alike
  return cluster;
}

}  // namespace

OwnMachine machine_of(const std::string& name, int ranks, const std::string& flag) {
  OwnMachine machine{cluster_of(name, ranks, flag), {}};
  machine.profile = cost::load_profile(scenario::data_folder() + "/profiles/" + machine.cluster.node.gpu.profile + ".json");
  return machine;
}

}  // namespace sgsim::cli

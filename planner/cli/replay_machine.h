#pragma once

#include <string>

#include "sim/cluster/cluster.h"
#include "sim/cost/profile.h"

namespace sgsim::cli {

struct OwnMachine {
  cluster::Cluster cluster;
  cost::Profile profile;
};

/// A builtin cluster with as many nodes as the ranks need, or the cluster of a cluster file (docs/formats/scenario.md), as large as the file says, with the
/// profile that its GPU names. Throws InputError where `name` is neither, or the file's cluster has fewer GPUs than `ranks`. `flag`: which asked for it.
[[nodiscard]] OwnMachine machine_of(const std::string& name, int ranks, const std::string& flag);

}  // namespace sgsim::cli

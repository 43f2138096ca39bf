#include <filesystem>
#include <iostream>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/core/json_value.h"
#include "sim/core/text_file.h"
#include "sim/cost/collective.h"
#include "sim/cost/cost.h"
#include "sim/cost/make/datasheets.h"
#include "sim/cost/make/fits.h"
#include "sim/cost/make/robust.h"
#include "tests/support/catch.h"

namespace sgsim::cost::make {
namespace {

using graph::CollectiveOp;

const std::string kTruth = std::string(SGSIM_SOURCE_DIR) + "/../shared/truth";

bool have_truth() {
  if (std::filesystem::exists(kTruth + "/published")) return true;
  std::cout << "skipped: the validation data set is not beside the project\n";
  return false;
}

Profile shipped(const std::string& name) { return load_profile(std::string(SGSIM_SOURCE_DIR) + "/scenarios/profiles/" + name + ".json"); }

TEST_CASE("collectives of one node by the model alone") {
  if (!have_truth()) return;
  for (const char* name : {"a100-80gb", "h100", "h200"}) {
    const auto errors = collective_errors(shipped(name), read_collectives(kTruth + "/kernels/" + std::string(gpu_facts(name).collectives)));
    std::cout << fmt::format("{}: {} rows on 2, 4 and 8 GPUs, no sweeps: median {:.1f} %, p90 {:.1f} %\n", name, errors.size(), 100 * median(errors), 100 * quantile(errors, 0.9));
    CHECK(median(errors) <= 0.08);
  }
}

struct Fabric {
  const char* part;     // of the row's source
  int nodes;
  double nics, nic_GBps;
  const char* profile;
  double allowed;       // median error
};
// NIC rates: Oracle BM.GPU4.8 and B4.8 and Meta's cluster 1,600 Gbit/s a node; the 256 GPUs 4 x HDR; H100: 8 x NDR (assumed
// where the report does not say). AWS's EFA is not in the fit of the network constants: its small messages take twice as long.
constexpr Fabric kHealthy[] = {{"oci-hpc-oke/README", 2, 8, 25, "a100-40gb", 0.15},     {"slurm-operator", 2, 8, 25, "a100-40gb", 0.15}, {"gcm", 2, 8, 25, "a100-80gb", 0.15},
                               {"nccl/issues/652", 32, 4, 25, "a100-80gb", 0.15},       {"69388150450", 2, 8, 50, "h100", 0.15},         {"69388150450", 4, 8, 50, "h100", 0.15},
                               {"69388150450", 8, 8, 50, "h100", 0.15},                 {"Troubleshooting", 2, 8, 50, "h100", 0.15},     {"coreweave", 8, 8, 50, "h100", 0.15}};

TEST_CASE("all-reduce across nodes of healthy fabrics") {
  if (!have_truth()) return;
  const std::string path = kTruth + "/published/collectives.json.gz";
  const nlohmann::json rows = parse_json(read_text_file(path), path);
  std::vector<double> all;
  for (const Fabric& f : kHealthy) {
    const Profile profile = shipped(f.profile);
    cluster::GroupShape g;
    g.ranks = 8 * f.nodes;
    g.nodes = f.nodes;
    g.ranks_per_node = 8;
    g.nics_per_node = f.nics;
    g.nic_bandwidth = BytesPerSecond(f.nic_GBps * 1e9);
    g.nic_latency = 0.6_us;
    g.switch_hops = f.nodes > 20 ? 3 : 1;
    g.switch_latency = 130.0_ns;
    g.nvlink_bandwidth = profile.rates.at("nvlink.bandwidth").value;
    std::vector<double> errors;
    Diagnostics d;
    for (const nlohmann::json& r : rows) {
      if (r.at("op") != "all_reduce" || r.at("source").get<std::string>().find(f.part) == std::string::npos || r.at("nodes") != f.nodes) continue;
      if (!r.at("time_us").is_number() || !r.at("bytes").is_number() || r.at("bytes") == 0) continue;
      const double us = collective_time(profile, CollectiveOp::all_reduce, Bytes(r.at("bytes").get<double>()), g, d).time().value() * 1e6;
      errors.push_back(std::abs(us / r.at("time_us").get<double>() - 1.0));
    }
    REQUIRE_FALSE(errors.empty());
    std::cout << fmt::format("{} ({} nodes, {} rows): median {:.1f} %, p90 {:.1f} %\n", f.part, f.nodes, errors.size(), 100 * median(errors), 100 * quantile(errors, 0.9));
    CHECK(median(errors) <= f.allowed);
    all.insert(all.end(), errors.begin(), errors.end());
  }
  std::cout << fmt::format("all: {} rows, median {:.1f} %, p90 {:.1f} %\n", all.size(), 100 * median(all), 100 * quantile(all, 0.9));
  CHECK(median(all) <= 0.10);
}

// Other laboratories' single-node sweeps with other NCCL versions, which nothing was fitted to.
TEST_CASE("all-reduce of one A100 node, other NCCL versions") {
  if (!have_truth()) return;
  const std::string path = kTruth + "/published/collectives.json.gz";
  const nlohmann::json rows = parse_json(read_text_file(path), path);
  const Profile profile = shipped("a100-80gb");
  std::map<std::string, std::vector<double>> errors;
  Diagnostics d;
  for (const nlohmann::json& r : rows) {
    const auto source = r.at("source").get<std::string>();
    const bool wanted = source.find("AR_GPU") != std::string::npos || source.find("superbenchmark") != std::string::npos;
    if (!wanted || r.at("op") != "all_reduce" || !r.at("time_us").is_number() || r.at("bytes") == 0) continue;
    if (r.at("bytes").get<double>() < 8e6) continue;  // below, the start of the measurement (about 30 us) is most of it
    cluster::GroupShape g;
    g.ranks = g.ranks_per_node = r.at("gpus").get<int>();
    g.nvlink_bandwidth = profile.rates.at("nvlink.bandwidth").value;
    const double us = collective_time(profile, CollectiveOp::all_reduce, Bytes(r.at("bytes").get<double>()), g, d).time().value() * 1e6;
    errors[source.find("AR_GPU") != std::string::npos ? "vTrain, 2 to 8 GPUs" : "superbench, 8 GPUs"].push_back(std::abs(us / r.at("time_us").get<double>() - 1.0));
  }
  for (const auto& [name, e] : errors) {
    std::cout << fmt::format("{}: {} rows from 8 MB, median {:.1f} %, p90 {:.1f} %\n", name, e.size(), 100 * median(e), 100 * quantile(e, 0.9));
    CHECK(median(e) <= 0.08);
  }
}

}  // namespace
}  // namespace sgsim::cost::make

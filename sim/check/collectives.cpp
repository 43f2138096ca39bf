#include "sim/check/collectives.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sim/check/doubts.h"
#include "sim/check/facts.h"
#include "sim/cluster/builders.h"
#include "sim/core/json_value.h"
#include "sim/cost/cost.h"
#include "sim/cost/profile.h"
#include "sim/scenario/read.h"

namespace sgsim::check {
namespace {

namespace fs = std::filesystem;

std::optional<graph::CollectiveOp> op_of(const std::string& name) {
  static const std::map<std::string, graph::CollectiveOp> kNames = {
      {"all_reduce", graph::CollectiveOp::all_reduce},         {"all_gather", graph::CollectiveOp::all_gather}, {"reduce_scatter", graph::CollectiveOp::reduce_scatter},
      {"alltoall", graph::CollectiveOp::all_to_all},           {"all_to_all", graph::CollectiveOp::all_to_all}, {"broadcast", graph::CollectiveOp::broadcast},
      {"send_recv", graph::CollectiveOp::send_receive},        {"sendrecv", graph::CollectiveOp::send_receive}};
  const auto found = kNames.find(name);
  return found == kNames.end() ? std::nullopt : std::optional<graph::CollectiveOp>(found->second);
}

struct Measured {
  Record where;  // GPU and interconnect, as facts of a record
  std::string op, source;
  std::optional<std::int64_t> nodes, gpus, gpus_per_node, bytes;
  std::optional<double> time_us;
};

std::optional<std::int64_t> integer_of(const JsonValue& row, std::string_view key) {
  const auto value = row.find(key);
  if (!value) return std::nullopt;
  const double number = value->number();
  if (std::floor(number) != number || std::abs(number) > 1e18) value->fail("a whole number or null");
  return static_cast<std::int64_t>(number);
}

std::string text_of(const JsonValue& row, std::string_view key) {
  const auto value = row.find(key);
  return value ? value->text() : std::string();
}

void read_row(const JsonValue& row, Measured& m) {
  m.where.gpu = text_of(row, "gpu");
  m.where.interconnect = text_of(row, "interconnect");
  m.op = text_of(row, "op");
  m.source = text_of(row, "source");
  m.nodes = integer_of(row, "nodes");
  m.gpus = integer_of(row, "gpus");
  m.gpus_per_node = integer_of(row, "gpus_per_node");
  m.bytes = integer_of(row, "bytes");
  if (const auto time = row.find("time_us")) m.time_us = time->number();
}

/// Amazon's nodes and others that say no more than a total are no rail of one NIC a GPU.
std::string group_of(const Measured& m) {
  const char* family = mentions(m.where.gpu, "H200") ? "H200" : mentions(m.where.gpu, "H100") ? "H100" : "A100";
  if (mentions(m.where.interconnect, "pairwise")) return "collectives A100, NVLink pairs";
  // The tables that the profiles carry (docs/costs.md, collectives-sweep): a check that they are read rightly, no prediction of others' runs.
  const bool carried = m.source.find("aiconfigurator") != std::string::npos;
  if (m.nodes.value_or(1) == 1) return fmt::format("collectives {}, one node{}", family, carried ? ", the profile's own" : "");
  if (mentions(m.where.interconnect, "EFA")) return "collectives across nodes, EFA";
  // Vidur's tables say nothing of the network between their two DGX nodes; one poster calls his own figures low.
  const bool unknown = mentions(m.where.gpu, "DGX") || mentions(m.where.interconnect, "low") || m.where.interconnect.empty();
  return unknown ? "collectives across nodes, fabric unknown" : "collectives across nodes";
}

constexpr std::int64_t kMostNodes = 1 << 17;          // as in a scenario's cluster
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;  // a thousand times any GPU's memory

std::string lacking(const Measured& m) {
  if (!m.nodes || !m.gpus || !m.bytes || !m.time_us) return "nodes, GPUs, size or time is not stated";
  if (!op_of(m.op)) return "operation " + m.op;
  if (!cluster_of(m.where)) return "no profile for a " + m.where.gpu;
  for (const auto& [field, value, most] : {std::tuple{"nodes", *m.nodes, kMostNodes}, {"gpus", *m.gpus, kLargestSize}, {"bytes", *m.bytes, kMostBytes}}) {
    if (value < 1 || value > most) return fmt::format("{}: {}, expected a whole number from 1 to {}", field, value, most);
  }
  if (!(*m.time_us > 0.0)) return fmt::format("time_us: {}, expected a number above 0", *m.time_us);
  if (*m.gpus < 2 || *m.gpus % *m.nodes != 0) return fmt::format("{} GPUs on {} nodes", *m.gpus, *m.nodes);
  return network_doubt(m.where.interconnect, *m.gpus / *m.nodes);
}

cluster::Cluster cluster_for(const Measured& m) {
  const bool pairs = mentions(m.where.interconnect, "pairwise");
  cluster::Cluster c = *cluster::builtin_cluster(pairs ? "pcie-a100-80gb-nvlink-pairs" : *cluster_of(m.where), static_cast<int>(*m.nodes));
  if (const auto network = network_of(m.where, c.node.gpus)) {
    c.node.nics = network->nics;
    c.node.nic.bandwidth = BytesPerSecond(network->gbit_per_s * 1e9 / 8.0);
  }
  return c;
}

class Profiles {
 public:
  explicit Profiles(const std::map<std::string, std::string>& instead) : instead_(instead) {}
  const cost::Profile& get(const std::string& name) {
    auto& profile = loaded_[name];
    if (profile == nullptr) {
      const auto found = instead_.find(name);
      const std::string path = found != instead_.end() ? found->second : (fs::path(scenario::data_folder()) / "profiles" / (name + ".json")).string();
      profile = std::make_unique<cost::Profile>(cost::load_profile(path));
    }
    return *profile;
  }

 private:
  const std::map<std::string, std::string>& instead_;
  std::map<std::string, std::unique_ptr<cost::Profile>> loaded_;
};

void predict_row(Row& row, const Measured& m, Profiles& profiles) {
  const cluster::Cluster c = cluster_for(m);
  const std::int64_t each = *m.gpus / *m.nodes;
  if (each > c.node.gpus) {
    row.skipped = fmt::format("gpus: {} on {} nodes, expected at most {} a node", *m.gpus, *m.nodes, c.node.gpus);
    return;
  }
  row.profile = c.node.gpu.profile;
  std::vector<GpuId> members;
  for (std::int64_t node = 0; node < *m.nodes; ++node) {
    for (std::int64_t g = 0; g < each; ++g) members.push_back(GpuId{static_cast<std::uint32_t>(node * c.node.gpus + g)});
  }
  Diagnostics diagnostics;
  const cost::TransferEstimate t = cost::collective_time(profiles.get(c.node.gpu.profile), *op_of(m.op), Bytes(static_cast<double>(*m.bytes)), cluster::group_shape(c, members, 1.0), diagnostics);
  constexpr double kStandardErrors = 1.645;  // 90 % of a normal distribution
  row.predicted_s = t.time().value();
  row.low_s = *row.predicted_s / (1.0 + kStandardErrors * t.sigma);
  row.high_s = *row.predicted_s * (1.0 + kStandardErrors * t.sigma);
  row.dominates = t.algorithm + " " + t.protocol;
}

}  // namespace

std::vector<Row> predict_collectives(std::string_view text, const std::string& path, const std::map<std::string, std::string>& profiles) {
  const nlohmann::json tree = parse_json(text, path);
  const JsonValue root(tree, path);
  Profiles loaded(profiles);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < root.list_size(); ++i) {
    Measured m;
    Row row;
    try {
      read_row(root.item(i), m);
    } catch (const InputError& error) {
      row.skipped = error.what();
    }
    row.file = group_of(m);
    row.id = fmt::format("{}_{}_{}x{}_{}_{}", m.op, m.where.gpu, m.nodes.value_or(0), m.gpus.value_or(0), m.bytes.value_or(0), i);
    row.source = m.source;
    row.gpu = m.where.gpu;
    if (row.skipped.empty()) row.skipped = lacking(m);
    row.measured_s = m.time_us ? std::optional<double>(*m.time_us * 1e-6) : std::nullopt;
    row.model = row.id;
    if (row.skipped.empty()) predict_row(row, m, loaded);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace sgsim::check

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/cluster/builders.h"
#include "sim/core/error.h"
#include "sim/scenario/names.h"
#include "sim/scenario/nearest.h"
#include "sim/scenario/read.h"
#include "sim/scenario/sections.h"

namespace sgsim::scenario {
namespace {

using cluster::Cluster;
using nlohmann::json;

// Measured: 131,072 nodes of 8 GPUs take 6.5 s and 1,048,576 nodes more than 100 s, on one core.
constexpr Range kNodes{1, 1 << 17};
constexpr std::int64_t kMostGpus = 1LL << 20;
constexpr Range kPerNode{0, 1024};

/// Without a base a field must be there; with one it may be left to it, which is no default of ours: the base states it.
template <class Value, class Read>
void take(ObjectReader& section, const char* key, bool has_base, Value& into, Read read) {
  if (has_base && !section.has(key)) return;
  into = read(key);
}

void read_link(ObjectReader section, bool has_base, cluster::LinkSpec& link) {
  take(section, "bandwidth", has_base, link.bandwidth, [&](const char* k) { return section.bandwidth(k); });
  take(section, "latency", has_base, link.latency, [&](const char* k) { return section.seconds(k); });
  section.finish();
}

void read_gpu(ObjectReader section, bool has_base, cluster::Gpu& gpu) {
  take(section, "name", has_base, gpu.name, [&](const char* k) { return section.text(k, "the GPU's name, such as \"A100-SXM4-80GB\""); });
  take(section, "profile", has_base, gpu.profile, [&](const char* k) { return section.text(k, "the name of a profile that ships, such as \"a100-80gb\""); });
  take(section, "memory", has_base, gpu.memory, [&](const char* k) { return section.bytes(k); });
  section.finish();
}

void read_node(ObjectReader section, bool has_base, cluster::Node& node) {
  take(section, "name", has_base, node.name, [&](const char* k) { return section.text(k, "the server's name"); });
  read_gpu(section.object("gpu"), has_base, node.gpu);
  take(section, "gpus", has_base, node.gpus, [&](const char* k) { return static_cast<int>(section.integer(k, {1, kPerNode.high})); });
  take(section, "intra", has_base, node.intra, [&](const char* k) { return section.choice<cluster::IntraNode>(k, words::kIntraNode); });
  const bool nvlink_needed = has_base || node.intra != cluster::IntraNode::pcie || section.has("nvlink");
  if (nvlink_needed) read_link(section.object("nvlink"), has_base, node.nvlink);
  read_link(section.object("pcie"), has_base, node.pcie);
  take(section, "nics", has_base, node.nics, [&](const char* k) { return static_cast<int>(section.integer(k, kPerNode)); });
  const bool nic_needed = has_base || node.nics > 0 || section.has("nic");
  if (nic_needed) read_link(section.object("nic"), has_base, node.nic);
  section.finish();
}

void read_fabric(ObjectReader section, bool has_base, cluster::Fabric& fabric) {
  take(section, "kind", has_base, fabric.kind, [&](const char* k) { return section.choice<cluster::FabricKind>(k, words::kFabric); });
  const bool optional = has_base || fabric.kind == cluster::FabricKind::none;
  take(section, "nodes_per_leaf", optional, fabric.nodes_per_leaf, [&](const char* k) { return static_cast<int>(section.integer(k, kNodes)); });
  take(section, "oversubscription", optional, fabric.oversubscription, [&](const char* k) { return section.number(k, 1.0, 1e6); });
  take(section, "switch_latency", optional, fabric.switch_latency, [&](const char* k) { return section.seconds(k); });
  section.finish();
}

cluster::Fault read_fault(const json& value, const std::string& path, Document& document) {
  ObjectReader section(value, path, document);
  cluster::Fault fault;
  fault.kind = section.choice<cluster::FaultKind>("kind", words::kFault);
  fault.node = static_cast<int>(section.integer("node", {0, kNodes.high}));
  fault.index = static_cast<int>(section.integer("index", kPerNode));
  const bool gone = fault.kind == cluster::FaultKind::failed_nic;
  if (gone && section.has("factor")) section.fail("factor", describe(*section.find("factor")), "no factor: a failed NIC carries nothing", "For one that still carries some, use \"slow_nic\"");
  if (!gone) fault.factor = section.number("factor", 1e-6, 1.0);
  section.finish();
  return fault;
}

void read_faults(ObjectReader& section, std::vector<cluster::Fault>& faults) {
  const json* list = section.find("faults");
  if (list == nullptr) return;
  if (!list->is_array()) section.fail("faults", describe(*list), "a list of faults");
  faults.clear();
  for (std::size_t i = 0; i < list->size(); ++i) {
    faults.push_back(read_fault((*list)[i], section.path_of("faults") + "[" + std::to_string(i) + "]", section.document()));
  }
}

Cluster builtin(ObjectReader& section, const std::string& name) {
  if (auto found = cluster::builtin_cluster(name, 1)) return *found;
  const auto names = cluster::builtin_cluster_names();
  const auto slip = nearest(name, names);
  section.fail("builtin", "\"" + name + "\"", or_list(names), slip ? "Did you mean \"" + *slip + "\"?" : "");
}

void check(const ObjectReader& section, const Cluster& cluster) {
  const auto problems = cluster::check_cluster(cluster);
  if (problems.empty()) return;
  const std::string& first = problems.front();  // "node.gpus is 0; expected at least 1"
  const std::size_t is = first.find(" is "), semicolon = first.find("; expected ");
  if (is == std::string::npos || semicolon == std::string::npos) fail_at(section.document(), section.path(), first, "a sound cluster");
  fail_at(section.document(), section.path() + "." + first.substr(0, is), first.substr(is + 4, semicolon - is - 4),
          first.substr(semicolon + 11));
}

}  // namespace

ClusterSection read_cluster_section(ObjectReader& section, const std::string& folder) {
  ClusterSection result;
  const bool has_builtin = section.has("builtin"), has_file = section.has("file");
  if (has_builtin && has_file) section.fail("file", "both \"builtin\" and \"file\"", "one of them", "Remove one (--set cluster.file=null)");
  if (has_builtin) {
    result.base = section.text("builtin", "a cluster's name");
    result.cluster = builtin(section, result.base);
  }
  if (has_file) result.cluster = read_cluster(resolve(section.text("file", "path of a cluster file"), folder));
  const bool has_base = has_builtin || has_file;
  Cluster& c = result.cluster;
  take(section, "name", has_base, c.name, [&](const char* k) { return section.text(k, "the cluster's name", std::string("cluster")); });
  take(section, "nodes", has_file, c.nodes, [&](const char* k) { return static_cast<int>(section.integer(k, kNodes)); });
  read_node(section.object("node"), has_base, c.node);
  read_fabric(section.object("fabric"), has_base, c.fabric);
  read_faults(section, c.faults);
  section.finish();
  if (const std::int64_t gpus = std::int64_t{c.nodes} * c.node.gpus; gpus > kMostGpus) {
    section.fail("nodes", fmt::format("{} nodes of {} GPUs = {}", c.nodes, c.node.gpus, gpus), fmt::format("at most {} GPUs", kMostGpus));
  }
  check(section, c);
  return result;
}

Cluster cluster_from_text(std::string_view text, const std::string& file) {
  const json root = parse_document(text, file);
  Document document{.file = file, .set = {}, .defaults = {}};
  ObjectReader section(root, "$", document);
  (void)section.integer("schema_version", {kScenarioVersion, kScenarioVersion});
  (void)section.text("description", "a text", std::string());
  if (section.has("file")) section.fail("file", describe(*section.find("file")), "a cluster stated in this file", "");
  return read_cluster_section(section, std::filesystem::path(file).parent_path().string()).cluster;
}

Cluster read_cluster(const std::string& path) {
  return cluster_from_text(read_document_text(path), path);
}

}  // namespace sgsim::scenario

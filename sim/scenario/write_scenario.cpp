#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/scenario/exact_text.h"
#include "sim/scenario/names.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/pretty_json.h"
#include "sim/scenario/read.h"

namespace sgsim::scenario {
namespace {

using json = nlohmann::ordered_json;

template <class Table, class Enum>
std::string word(const Table& table, Enum value) {
  return std::string(name_of<Enum>(table, value));
}

json of(const cluster::LinkSpec& link) {
  return {{"bandwidth", exact_text(link.bandwidth)}, {"latency", exact_text(link.latency)}};
}

json of(const ModelSource& m) {
  json j;
  j[m.kind == ModelKind::config ? "config" : "graph"] = m.config.empty() ? json(m.path) : json::parse(m.config);
  if (m.kind == ModelKind::config) {
    j["sequence"] = m.sequence;
    j["attention"] = word(words::kAttention, m.attention);
    j["dense_mask"] = m.dense_mask;
    if (m.lora.rank > 0) j["lora"] = {{"rank", m.lora.rank}, {"targets", m.lora.targets}, {"dropout", m.lora.dropout}};
  }
  j["layers"] = m.layers == 0 ? json("file") : json(m.layers);
  return j;
}

json of(const plan::Plan& p) {
  json j;
  j["dp"] = p.dp;
  j["tp"] = p.tp;
  j["pp"] = p.pp;
  j["cp"] = p.cp;
  j["ep"] = p.ep;
  j["sharding"] = word(words::kSharding, p.sharding);
  j["sequence_parallel"] = p.sequence_parallel;
  j["schedule"] = word(words::kSchedule, p.schedule);
  j["virtual_stages"] = p.virtual_stages;
  j["micro_batch"] = p.micro_batch;
  j["global_batch"] = p.global_batch;
  j["recompute"] = word(words::kRecompute, p.recompute);
  j["fsdp"] = {{"layers_per_unit", p.fsdp.layers_per_unit},
               {"prefetch", p.fsdp.prefetch},
               {"reshard_after_forward", p.fsdp.reshard_after_forward},
               {"shard_group", p.fsdp.shard_group == 0 ? json("node") : json(p.fsdp.shard_group)}};
  j["buckets"] = {{"bucket", exact_text(p.buckets.bucket)}, {"overlap", p.buckets.overlap}};
  j["stage_layers"] = p.stage_layers;
  j["recompute_layers"] = p.recompute_layers == 0 ? json("all") : json(p.recompute_layers);
  j["offload"] = {{"optimizer", p.offload.optimizer}, {"activations", p.offload.activations}};
  return j;
}

json of(const lower::Training& t) {
  json j;
  j["compute_dtype"] = word(words::kFloat, t.compute_dtype);
  j["parameter_dtype"] = word(words::kFloat, t.parameter_dtype);
  j["gradient_dtype"] = word(words::kFloat, t.gradient_dtype);
  j["autocast"] = t.autocast;
  j["tf32"] = t.tf32;
  j["optimizer"] = word(words::kOptimizer, t.optimizer);
  j["optimizer_fused"] = t.optimizer_fused;
  j["clip_gradients"] = t.clip_gradients;
  j["execution"] = word(words::kExecution, t.execution);
  j["stack"]["first_bucket"] = exact_text(t.stack.first_bucket);
  j["stack"]["attention_generation"] = t.stack.attention_generation;
  j["stack"]["product_time"] = t.stack.product_time;
  j["stack"]["host_time"] = t.stack.host_time;
  j["stack"]["float8_cast_bytes"] = t.stack.float8_cast_bytes;
  for (const auto& [key, member] : words::kStackSwitches) j["stack"][std::string(key)] = t.stack.*member;
  return j;
}

json of(const cluster::Node& n) {
  json j;
  j["name"] = n.name;
  j["gpu"] = {{"name", n.gpu.name}, {"profile", n.gpu.profile}, {"memory", exact_text(n.gpu.memory)}};
  j["gpus"] = n.gpus;
  j["intra"] = word(words::kIntraNode, n.intra);
  j["nvlink"] = of(n.nvlink);
  j["pcie"] = of(n.pcie);
  j["nics"] = n.nics;
  j["nic"] = of(n.nic);
  return j;
}

json of(const cluster::Fault& f) {
  return {{"kind", word(words::kFault, f.kind)}, {"node", f.node}, {"index", f.index}, {"factor", f.factor}};
}

json of(const cluster::Cluster& c, const std::string& base) {
  json j;
  if (!base.empty()) j["builtin"] = base;
  j["name"] = c.name;
  j["nodes"] = c.nodes;
  j["node"] = of(c.node);
  j["fabric"] = {{"kind", word(words::kFabric, c.fabric.kind)},
                 {"nodes_per_leaf", c.fabric.nodes_per_leaf},
                 {"oversubscription", c.fabric.oversubscription},
                 {"switch_latency", exact_text(c.fabric.switch_latency)}};
  j["faults"] = json::array();
  for (const cluster::Fault& fault : c.faults) j["faults"].push_back(of(fault));
  return j;
}

json of(const Economics& e) {
  json j = json::object();
  if (e.price) j["price"] = fmt::format("{} {}/h", *e.price, e.currency);
  if (e.gpu_mtbf) j["gpu_mtbf"] = exact_text(*e.gpu_mtbf);
  if (e.checkpoint) j["checkpoint"] = exact_text(*e.checkpoint);
  if (e.restart) j["restart"] = exact_text(*e.restart);
  return j;
}

}  // namespace

std::string effective_text(const Scenario& s) {
  json j;
  j["schema_version"] = kScenarioVersion;
  if (!s.description.empty()) j["description"] = s.description;
  if (!s.stack.empty() && s.stack.find('/') == std::string::npos) j["stack"] = s.stack;
  j["model"] = of(s.model);
  j["plan"] = of(s.plan);
  j["training"] = of(s.training);
  j["cluster"] = of(s.cluster, s.cluster_base);
  j["profile"] = s.profile;
  j["engine"] = {{"name", word(words::kEngine, s.engine.name)}, {"full", s.engine.full}};
  if (s.economics != Economics{}) j["economics"] = of(s.economics);
  j["defaults"] = s.defaults;
  return pretty(j);
}

}  // namespace sgsim::scenario

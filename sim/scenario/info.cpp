#include "sim/scenario/info.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/core/units_text.h"
#include "sim/cost/profile.h"
#include "sim/cost/profile_names.h"
#include "sim/graph/node_work.h"
#include "sim/import/hf_config/hf_config.h"
#include "sim/scenario/graph_shape.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/read.h"
#include "sim/scenario/report.h"
#include "sim/scenario/stack_file.h"
#include "sim/scenario/sweep/sweep.h"
#include "sim/scenario/text_table.h"

namespace sgsim::scenario {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestInfo = std::size_t{512} << 20;  // bytes once unpacked; larger timelines take minutes to look through

/// Keeps the root's own keys only, so that a file of any size is told apart in little memory.
class RootKeys : public nlohmann::json_sax<json> {
 public:
  std::set<std::string> keys;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (depth_ == 1) keys.insert(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool enter() {
    ++depth_;
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }
  int depth_ = 0;
};

std::string shape_text(const plan::ModelShape& shape) {
  TextTable table("lr");
  const auto line = [&](const char* name, std::int64_t value) {
    if (value != 0) table.row({name, grouped(value)});
  };
  line("layers", shape.layers);
  line("hidden", shape.hidden);
  line("heads", shape.heads);
  line("key/value heads", shape.kv_heads);
  line("feed-forward", shape.ffn);
  line("vocabulary", shape.vocab);
  line("experts", shape.experts);
  line("tokens a sample", shape.sequence);
  return table.text();
}

std::string graph_text(const std::string& path) {
  const graph::OperatorGraph graph = read_any_graph(path);
  std::int64_t parameters = 0, calls[2] = {};
  for (const graph::Node& node : graph.nodes) {
    if (node.kind == graph::NodeKind::parameter) parameters += node.outputs.at(0).elements();
    if (node.kind == graph::NodeKind::call && node.phase != graph::Phase::optimizer) ++calls[static_cast<std::size_t>(node.phase)];
  }
  Flops flops;
  for (const auto& work : graph::matmuls_of(graph)) flops += graph::flops_of(work.work);
  for (const auto& work : graph::attentions_of(graph)) flops += graph::flops_of(work.work);
  for (const auto& work : graph::convolutions_of(graph)) flops += graph::flops_of(work.work);
  TextTable table("lr");
  table.row({"parameters", grouped(parameters)});
  table.row({"operators, forward", grouped(calls[0])});
  table.row({"operators, backward", grouped(calls[1])});
  table.row({"matrix products", grouped(static_cast<std::int64_t>(graph::matmuls_of(graph).size()))});
  table.row({"fused attentions", grouped(static_cast<std::int64_t>(graph::attentions_of(graph).size()))});
  table.row({"convolutions", grouped(static_cast<std::int64_t>(graph::convolutions_of(graph).size()))});
  table.row({"arithmetic of one micro-batch", to_text(flops)});
  table.row({"micro-batch", grouped(graph.micro_batch)});
  return fmt::format("{}: operator graph \"{}\"\n", path, graph.name) + table.text() + shape_text(shape_of(graph));
}

std::string config_text(const std::string& path) {
  const import::HfModel model = import::read_hf_config(path);
  return fmt::format("{}: Hugging Face model config of the {} family\n", path, model.family) + shape_text(model.shape);
}

std::string cluster_text(const cluster::Cluster& c) {
  TextTable table("lr");
  table.row({"nodes", fmt::format("{} x {}", grouped(c.nodes), c.node.name)});
  table.row({"GPUs", fmt::format("{} x {}", grouped(c.gpus()), c.node.gpu.name)});
  table.row({"GPU memory", to_text(c.node.gpu.memory)});
  if (c.node.nvlink.bandwidth.value() > 0.0) table.row({"NVLink, a GPU and direction", to_text(c.node.nvlink.bandwidth)});
  table.row({"NICs a node", fmt::format("{} x {}", c.node.nics, to_text(c.node.nic.bandwidth))});
  if (c.nodes > 1) table.row({"oversubscription", fmt::format("{:.3g}", c.fabric.oversubscription)});
  if (!c.faults.empty()) table.row({"faults", std::to_string(c.faults.size())});
  return table.text();
}

std::string scenario_text(const std::string& path) {
  const Scenario s = read_scenario(path);
  std::string text = fmt::format("{}: scenario\n", path);
  if (!s.description.empty()) text += "  " + s.description + "\n";
  text += fmt::format("  model {}\n  plan {}\n  profile {}\n  {} fields are left to their defaults\n", s.model.path, plan_text(s.plan), s.profile, s.defaults.size());
  return text + cluster_text(s.cluster);
}

std::string sweep_text(const std::string& path) {
  const Sweep sweep = read_sweep(path);
  std::string text = fmt::format("{}: sweep of {} points over {}\n", path, grouped(static_cast<std::int64_t>(sweep.points())), sweep.scenario);
  TextTable table("lr");
  for (const Axis& axis : sweep.axes) table.row({fmt::format("{}", fmt::join(axis.paths, ", ")), fmt::format("{} steps", axis.values.size())});
  return text + table.text();
}

std::string profile_text(const std::string& path) {
  const cost::Profile p = cost::load_profile(path);
  std::string text = fmt::format("{}: profile \"{}\" of {}\n", path, p.name, p.gpu.name);
  TextTable table("lr");
  std::size_t products = 0, attentions = 0;
  for (const auto& t : p.matmul_tables) products += t.time_ns.size();
  for (const auto& t : p.attention_tables) attentions += t.time_ns.size();
  table.row({"matrix product tables", fmt::format("{} of {} entries", p.matmul_tables.size(), grouped(static_cast<std::int64_t>(products)))});
  table.row({"attention tables", fmt::format("{} of {} entries", p.attention_tables.size(), grouped(static_cast<std::int64_t>(attentions)))});
  table.row({"convolutions", grouped(static_cast<std::int64_t>(p.convolutions.size()))});
  table.row({"bandwidth curves", std::to_string(p.bandwidth_curves.size())});
  table.row({"collective sweeps", std::to_string(p.sweeps.size())});
  text += table.text() + "  numbers come from\n";
  TextTable sources("lll", 4);
  for (const auto& [key, source] : p.sources) sources.row({key, std::string(cost::name_of(source.kind)), source.source});
  return text + sources.text();
}

std::string timeline_text(const std::string& path, const std::string& text) {
  const json tree = json::parse(text);
  std::map<std::string, std::int64_t> phases;
  std::int64_t processes = 0;
  for (const json& event : tree.at("traceEvents")) {
    if (!event.is_object()) continue;
    const std::string phase = event.value("ph", std::string("?"));
    ++phases[phase];
    if (phase == "M" && event.value("name", std::string()) == "process_name") ++processes;
  }
  const json other = tree.value("otherData", json::object());
  const bool ours = other.is_object() && other.value("program", std::string()) == "sgsim";
  std::string out = fmt::format("{}: {}\n", path, ours ? "timeline of a predicted step, by sgsim" : "Chrome trace, not of ours");
  TextTable table("lr");
  if (ours) table.row({"step time", other.value("step_time", std::string("?"))});
  if (ours) table.row({"engine", other.value("engine", std::string("?"))});
  table.row({"processes", grouped(processes)});
  table.row({"slices", grouped(phases["X"])});
  table.row({"arrows", grouped(phases["s"])});
  table.row({"counter values", grouped(phases["C"])});
  return out + table.text();
}

std::string result_text(const std::string& path, const std::string& text) {
  const json tree = json::parse(text);
  return fmt::format("{}: result of sgsim simulate\n  scenario {}\n  plan {}\n  step time {}\n", path, tree.value("scenario", std::string("?")), tree.value("plan", std::string("?")),
                     to_text(Seconds(tree.value("step_time_s", 0.0))));
}

std::string stack_text(const std::string& path) {
  const StackFile stack = read_stack_file(std::filesystem::absolute(path).string(), "");
  std::size_t settings = 0, conditions = 0;
  for (const StackFile::Statement& s : stack.statements) {
    settings += s.set.size();
    conditions += s.when.empty() ? 0 : 1;
  }
  TextTable table("lr");
  table.row({"statements", fmt::format("{}, {} of them under conditions", stack.statements.size(), conditions)});
  table.row({"settings", std::to_string(settings)});
  return fmt::format("{}: training stack \"{}\"\n  {}\n  of records whose framework begins with: {}\n", path, stack.name, stack.description, fmt::join(stack.frameworks, ", ")) + table.text();
}

}  // namespace

FileKind kind_of(std::string_view text) {
  RootKeys root;
  if (!json::sax_parse(text.begin(), text.end(), &root)) return FileKind::unknown;
  const auto has = [&](const char* key) { return root.keys.contains(key); };
  if (has("traceEvents")) return FileKind::timeline;
  if (has("graphs") && has("params")) return FileKind::graph;
  if (has("format") && has("nodes") && has("gradients")) return FileKind::graph;
  if (has("axes") && has("scenario")) return FileKind::sweep;
  if (has("plan") && has("cluster")) return FileKind::scenario;
  if (has("step_time_s") && has("scenario")) return FileKind::result;
  if (has("sources") && has("gpu")) return FileKind::profile;
  if (has("statements") && has("frameworks")) return FileKind::stack;
  if (has("model_type")) return FileKind::model_config;
  if (has("schema_version") && (has("node") || has("builtin"))) return FileKind::cluster;
  return FileKind::unknown;
}

std::string info_text(const std::string& path) {
  const std::string text = read_text_file(path, kLargestInfo);
  switch (kind_of(text)) {
    case FileKind::graph: return graph_text(path);
    case FileKind::model_config: return config_text(path);
    case FileKind::scenario: return scenario_text(path);
    case FileKind::sweep: return sweep_text(path);
    case FileKind::cluster: return fmt::format("{}: cluster\n", path) + cluster_text(read_cluster(path));
    case FileKind::profile: return profile_text(path);
    case FileKind::timeline: return timeline_text(path, text);
    case FileKind::result: return result_text(path, text);
    case FileKind::stack: return stack_text(path);
    case FileKind::unknown: break;
  }
  (void)parse_document(text, path);  // names the place where it stops being JSON
  throw InputError({.file = path, .where = "", .found = "JSON of a kind that SGSim does not know",
                    .expected = "a scenario, sweep, cluster, profile, model config, captured graph, result or timeline", .hint = ""});
}

}  // namespace sgsim::scenario

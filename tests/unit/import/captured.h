#pragma once

#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "sim/graph/node_work.h"
#include "sim/import/aot/aot.h"
#include "sim/import/hf_config/hf_config.h"

namespace sgsim::import::test {

/// A graph of traces/graphs.
inline graph::OperatorGraph captured(const std::string& name) {
  return read_aot_graph(fmt::format("{}/traces/graphs/{}.graph.json.gz", SGSIM_SOURCE_DIR, name));
}

/// A model of scenarios/models, with one key of its config set to another number.
inline HfModel shipped(const std::string& name, const std::string& key = "", int value = 0) {
  HfModel model = read_hf_config(fmt::format("{}/scenarios/models/{}.json", SGSIM_SOURCE_DIR, name));
  if (key.empty()) return model;
  std::string text = model.config_json;
  const std::size_t start = text.find(fmt::format("\"{}\":", key)), end = text.find(',', start);
  text.replace(start, end - start, fmt::format("\"{}\": {}", key, value));
  return parse_hf_config(text, name);
}

/// How often each piece of work occurs, by phase.
template <class Work>
std::map<std::pair<graph::Phase, Work>, int> counted(const std::vector<graph::NodeWork<Work>>& all) {
  std::map<std::pair<graph::Phase, Work>, int> counts;
  for (const auto& one : all) ++counts[{one.phase, one.work}];
  return counts;
}

inline std::map<std::string, graph::TensorType> parameters_of(const graph::OperatorGraph& graph) {
  std::map<std::string, graph::TensorType> parameters;
  for (const graph::Node& node : graph.nodes) {
    if (node.kind == graph::NodeKind::parameter) parameters.emplace(node.name, node.outputs[0]);
  }
  return parameters;
}

inline std::map<std::string, int> targets_of(const graph::OperatorGraph& graph) {
  std::map<std::string, int> targets;
  for (const graph::Node& node : graph.nodes) {
    if (node.kind == graph::NodeKind::call) ++targets[node.target];
  }
  return targets;
}

}  // namespace sgsim::import::test

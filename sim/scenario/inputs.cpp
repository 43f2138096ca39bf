#include "sim/scenario/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/import/hf_config/hf_config.h"
#include "sim/scenario/graph_shape.h"

namespace sgsim::scenario {
namespace {

/// A config with as many layers as this.
void set_layers(import::HfModel& model, int layers) {
  nlohmann::json config = nlohmann::json::parse(model.config_json);
  config[model.family == "gpt2" ? "n_layer" : "num_hidden_layers"] = layers;
  model.config_json = config.dump();
  model.shape.layers = layers;
}

/// A file as it stands: its path, size and time of change. Nothing that cannot be looked at is told apart: reading it says why.
std::string version_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return path;
  const auto changed = std::filesystem::last_write_time(path, error);
  return fmt::format("{}@{}.{}", path, size, error ? 0 : changed.time_since_epoch().count());
}

std::string key_of(const Scenario& s) {
  const ModelSource& m = s.model;
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{} {} {}", m.config.empty() ? version_of(m.path) : m.path, m.config, static_cast<int>(m.kind), m.layers, m.sequence, static_cast<int>(m.attention),
                     m.dense_mask, s.plan.micro_batch, s.training.autocast, static_cast<int>(s.training.compute_dtype), s.training.execution == compile::Execution::eager,
                     m.lora.rank, fmt::join(m.lora.targets, ","), m.lora.dropout);
}

/// The generator names the scenario's fields; which file they stand in is known here.
graph::OperatorGraph generated(const Scenario& s, const import::HfModel& model, const import::GenerateOptions& options) {
  try {
    return import::generate_graph(model, options);
  } catch (const InputError& error) {
    InputProblem problem = error.problem();
    if (problem.file.empty()) problem.file = s.file;
    throw InputError(std::move(problem));
  }
}

void check_micro_batch(const Scenario& s, const graph::OperatorGraph& graph) {
  if (graph.micro_batch == s.plan.micro_batch) return;
  throw InputError({.file = s.file, .where = "$.plan.micro_batch", .found = std::to_string(s.plan.micro_batch),
                    .expected = fmt::format("{}, with which {} was captured", graph.micro_batch, s.model.path),
                    .hint = "Capture the graph again with the other micro-batch, or use a config.json"});
}

}  // namespace

InputCache::Model InputCache::model(const Scenario& s) {
  if (s.model.kind == ModelKind::graph) {
    graph::OperatorGraph graph = read_any_graph(s.model.path);
    if (s.model.layers != 0) graph = import::stack_layers(graph, s.model.layers);
    auto shared = std::make_shared<const graph::OperatorGraph>(std::move(graph));
    return {.graph = shared, .shape = shape_of(*shared), .name = shared->name, .left_out = {}};
  }
  import::HfModel model = s.model.config.empty() ? import::read_hf_config(s.model.path) : import::parse_hf_config(s.model.config, s.file + ": $.model.config");
  if (s.model.layers != 0) set_layers(model, s.model.layers);
  model.shape.sequence = s.model.sequence;
  auto graph = generated(s, model, {.micro_batch = s.plan.micro_batch,
                                              .sequence = s.model.sequence,
                                              .flash_attention = s.model.attention != AttentionStyle::unfused,
                                              .repeated_heads = s.model.attention == AttentionStyle::flash_repeated,
                                              .causal_mask_tensor = s.model.dense_mask,
                                              .eager = s.training.execution == compile::Execution::eager,
                                              .autocast = s.training.autocast,
                                              .dtype = s.training.compute_dtype,
                                              .adapters = s.model.lora});
  return {.graph = std::make_shared<const graph::OperatorGraph>(std::move(graph)), .shape = model.shape, .name = model.family, .left_out = model.left_out};
}

Inputs InputCache::load(const Scenario& s) {
  const std::lock_guard lock(mutex_);
  const std::string key = key_of(s);
  auto found = models_.find(key);
  if (found == models_.end()) found = models_.emplace(key, model(s)).first;
  if (s.model.kind == ModelKind::graph) check_micro_batch(s, *found->second.graph);
  auto& profile = profiles_[version_of(s.profile)];
  if (profile == nullptr) profile = std::make_shared<const cost::Profile>(cost::load_profile(s.profile));
  return {.graph = found->second.graph, .shape = found->second.shape, .profile = profile, .model = found->second.name, .left_out = found->second.left_out};
}

}  // namespace sgsim::scenario

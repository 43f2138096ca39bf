#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/read.h"
#include "sim/scenario/sections.h"
#include "sim/scenario/settings.h"
#include "sim/scenario/stack_file.h"

namespace sgsim::scenario {
namespace {

using nlohmann::json;

/// The profile that ships for a GPU. Which file that is depends on where the program is installed, so that the path joins
/// the defaults.
std::string default_profile(ObjectReader& root, const cluster::Gpu& gpu) {
  if (gpu.profile.empty()) {
    root.fail("profile", "nothing, and the cluster's GPU names none", "path of a profile file", "sgsim-calibrate makes one");
  }
  root.note_default("profile");
  return (std::filesystem::path(data_folder()) / "profiles" / (gpu.profile + ".json")).string();
}

/// A GPU that is renamed is another GPU; with the profile of the old one its times would be made up.
void check_renamed_gpu(ObjectReader& root, const json& tree, const cluster::Gpu& gpu) {
  static const json::json_pointer kGpu("/cluster/node/gpu");
  if (root.has("profile") || !tree.contains(kGpu) || !tree.at(kGpu).contains("name") || tree.at(kGpu).contains("profile")) return;
  root.fail("cluster.node.gpu.name", "\"" + gpu.name + "\" with no profile of its own", "a profile beside it: the base cluster's is of another GPU",
            "--set profile=FILE, or --set cluster.node.gpu.profile=" + gpu.profile + " if its kernels take the same time");
}

/// FlashAttention's and cuDNN's fused kernels take 16-bit types only; PyTorch falls back to unfused attention.
void check_attention(ObjectReader& model, const Scenario& s) {
  if (s.model.kind != ModelKind::config || s.model.attention == AttentionStyle::unfused || s.training.compute_dtype != graph::DType::float32) return;
  model.fail("attention", "flash attention with training.compute_dtype float32", "\"unfused\": flash attention takes bfloat16 and float16 only", "--set model.attention=unfused");
}

/// An effective scenario carries the list of what was left out of its original; what is set anew leaves the list.
void restore_defaults(ObjectReader& root, Document& document) {
  const json* list = root.find("defaults");
  if (list == nullptr) return;
  if (!list->is_array()) root.fail("defaults", describe(*list), "a list of JSON paths");
  for (const json& item : *list) {
    if (!item.is_string()) root.fail("defaults", describe(item), "a JSON path in each entry");
    const auto& path = item.get_ref<const std::string&>();
    const auto is_set = [&](const auto& set) { return set.first == path; };
    if (std::none_of(document.set.begin(), document.set.end(), is_set)) document.defaults.push_back(path);
  }
}

}  // namespace

Scenario scenario_from_text(std::string_view text, const std::string& file, const std::string& folder,
                            std::span<const Setting> settings) {
  json tree = parse_document(text, file);
  Document document{.file = file, .set = {}, .defaults = {}};
  apply_settings(tree, settings, document);
  Scenario scenario;
  if (tree.is_object() && tree.contains("stack") && tree["stack"].is_string()) {
    scenario.stack = tree["stack"].get<std::string>();
    apply_stack(tree, read_stack_file(scenario.stack, folder));
  }
  ObjectReader root(tree, "$", document);
  (void)root.integer("schema_version", {kScenarioVersion, kScenarioVersion});
  if (root.has("stack")) (void)root.text("stack", "the name of a stack that ships, or the path of a stack file");
  scenario.file = file;
  const json* description = root.find("description");
  if (description != nullptr) scenario.description = root.text("description", "a text");
  restore_defaults(root, document);

  ObjectReader model = root.object("model");
  scenario.model = read_model_section(model, folder);
  ObjectReader cluster_section = root.object("cluster");
  ClusterSection cluster = read_cluster_section(cluster_section, folder);
  scenario.cluster_base = std::move(cluster.base);
  scenario.cluster = std::move(cluster.cluster);
  ObjectReader plan = root.object("plan");
  scenario.plan = read_plan_section(plan, scenario.cluster.gpus());
  ObjectReader training = root.object("training");
  scenario.training = read_training_section(training);
  check_attention(model, scenario);
  check_renamed_gpu(root, tree, scenario.cluster.node.gpu);
  scenario.profile = root.has("profile") ? resolve(root.text("profile", "path of a profile file"), folder)
                                         : default_profile(root, scenario.cluster.node.gpu);
  ObjectReader engine = root.object("engine");
  scenario.engine = read_engine_section(engine);
  ObjectReader economics = root.object("economics");
  scenario.economics = read_economics_section(economics);
  root.finish();
  scenario.defaults = std::move(document.defaults);
  return scenario;
}

Scenario read_scenario(const std::string& path, std::span<const Setting> settings) {
  return scenario_from_text(read_document_text(path), path, std::filesystem::path(path).parent_path().string(), settings);
}

}  // namespace sgsim::scenario

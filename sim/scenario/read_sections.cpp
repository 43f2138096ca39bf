#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/core/error.h"
#include "sim/scenario/names.h"
#include "sim/scenario/sections.h"

namespace sgsim::scenario {
namespace {

using nlohmann::json;

// Limits that no machine of this decade reaches; they keep products of sizes inside 64 bits.
constexpr Range kParallel{1, 1 << 20};
constexpr Range kBatch{1, 1LL << 30};
constexpr Range kTokens{1, 1LL << 24};
constexpr Range kLayers{1, 1 << 16};
constexpr Range kModelLayers{1, 10000};  // as a config.json may say

// torch.nn.parallel.DistributedDataParallel, bucket_cap_mb = 25.
constexpr Bytes kDefaultBucket = 25_MiB;

int small(std::int64_t value) { return static_cast<int>(value); }

int read_dp(ObjectReader& section, const plan::Plan& plan, int gpus) {
  const json* member = section.find("dp");
  if (member != nullptr && !(member->is_string() && *member == "fill")) {
    if (member->is_string()) section.fail("dp", describe(*member), "a whole number, or \"fill\"");
    return small(section.integer("dp", kParallel));
  }
  if (member == nullptr) section.note_default("dp");
  // What does not divide is left to the rule of plan legality, which names all the numbers.
  const std::int64_t others = static_cast<std::int64_t>(plan.tp) * plan.pp * plan.cp;
  return small(std::max<std::int64_t>(1, gpus / others));
}

plan::FsdpOptions read_fsdp(ObjectReader section) {
  plan::FsdpOptions fsdp;
  fsdp.layers_per_unit = small(section.integer("layers_per_unit", kLayers, fsdp.layers_per_unit));
  fsdp.prefetch = small(section.integer("prefetch", {0, kLayers.high}, fsdp.prefetch));
  fsdp.reshard_after_forward = section.boolean("reshard_after_forward", fsdp.reshard_after_forward);
  const json* group = section.find("shard_group");
  if (group == nullptr) section.note_default("shard_group");
  const bool one_node = group == nullptr || *group == "node";
  if (!one_node && group->is_string()) section.fail("shard_group", describe(*group), "a whole number of ranks, or \"node\"");
  fsdp.shard_group = one_node ? 0 : small(section.integer("shard_group", kParallel));
  section.finish();
  return fsdp;
}

plan::BucketOptions read_buckets(ObjectReader section) {
  plan::BucketOptions buckets;
  buckets.bucket = section.bytes("bucket", kDefaultBucket);
  if (buckets.bucket.value() <= 0.0) section.fail("bucket", describe(*section.find("bucket")), "a size above 0, such as \"25 MiB\"", "For one bucket with everything, state a size above the model's gradients");
  buckets.overlap = section.boolean("overlap", buckets.overlap);
  section.finish();
  return buckets;
}

std::vector<int> read_stage_layers(ObjectReader& section) {
  const json* list = section.find("stage_layers");
  if (list == nullptr) {
    section.note_default("stage_layers");
    return {};
  }
  const std::string expected = "a list of whole numbers, one a pipeline chunk";
  if (!list->is_array() || list->size() > static_cast<std::size_t>(kLayers.high)) section.fail("stage_layers", describe(*list), expected);
  std::vector<int> layers;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const json& item = (*list)[i];
    const bool fits = item.is_number_unsigned() && item.get<std::uint64_t>() <= static_cast<std::uint64_t>(kLayers.high);
    if (!fits) section.fail("stage_layers[" + std::to_string(i) + "]", describe(item), "a whole number from 0 to 65536");
    layers.push_back(item.get<int>());
  }
  return layers;
}

int read_recompute_layers(ObjectReader& section) {
  const json* member = section.find("recompute_layers");
  if (member == nullptr) section.note_default("recompute_layers");
  if (member == nullptr || *member == "all") return 0;
  if (member->is_string()) section.fail("recompute_layers", describe(*member), "a whole number of layers of each chunk, or \"all\"");
  return small(section.integer("recompute_layers", kLayers));
}

plan::OffloadOptions read_offload(ObjectReader section) {
  plan::OffloadOptions offload;
  offload.optimizer = section.boolean("optimizer", offload.optimizer);
  offload.activations = section.boolean("activations", offload.activations);
  section.finish();
  return offload;
}

/// "2.1 USD/h": of one GPU.
void read_price(ObjectReader& section, Economics& economics) {
  if (!section.has("price")) return;
  const std::string text = section.text("price", "an amount, a currency and \"/h\", of one GPU, such as \"2.1 USD/h\"");
  const auto price = parse_price(text);
  if (!price) section.fail("price", "\"" + text + "\"", "an amount, a currency and \"/h\", of one GPU, such as \"2.1 USD/h\"");
  economics.price = price->first;
  economics.currency = price->second;
}

import::Adapters read_lora(ObjectReader& model) {
  if (!model.has("lora")) return {};
  constexpr const char* kExpected = "a list of names of linear layers, such as [\"q_proj\", \"v_proj\"], or [\"all-linear\"]";
  ObjectReader section = model.object("lora");
  import::Adapters lora{.rank = section.integer("rank", {1, 65536}), .targets = {}, .dropout = section.number("dropout", 0.0, 0.99, 0.0)};
  const json& targets = section.require("targets", kExpected);
  if (!targets.is_array() || targets.empty()) section.fail("targets", describe(targets), kExpected);
  for (const json& target : targets) {
    if (!target.is_string()) section.fail("targets", describe(target), kExpected);
    lora.targets.push_back(target.get<std::string>());
  }
  section.finish();
  return lora;
}

lower::Stack read_stack(ObjectReader section) {
  lower::Stack stack;
  stack.first_bucket = section.bytes("first_bucket", stack.first_bucket);
  for (const auto& [key, member] : words::kStackSwitches) stack.*member = section.boolean(std::string(key), stack.*member);
  stack.attention_generation = small(section.integer("attention_generation", {0, 3}, stack.attention_generation));
  stack.product_time = section.number("product_time", 0.1, 10.0, stack.product_time);
  stack.float8_cast_bytes = section.number("float8_cast_bytes", 0.0, 100.0, stack.float8_cast_bytes);
  stack.host_time = section.number("host_time", 0.1, 10.0, stack.host_time);
  section.finish();
  return stack;
}

}  // namespace

std::string resolve(const std::string& path, const std::string& folder) {
  if (path.empty()) throw InputError({.file = "(scenario)", .where = "", .found = "an empty path", .expected = "the name of a file", .hint = ""});
  return std::filesystem::absolute(std::filesystem::path(folder) / path).lexically_normal().string();
}

ModelSource read_model_section(ObjectReader& section, const std::string& folder) {
  ModelSource model;
  const bool config = section.has("config"), graph = section.has("graph");
  if (config && graph) section.fail("graph", "both \"config\" and \"graph\"", "one of them", "Remove one (--set model.graph=null)");
  if (graph) {
    model.kind = ModelKind::graph;
    model.path = resolve(section.text("graph", "path of a captured graph"), folder);
  } else {
    const json* inline_config = section.find("config");
    const bool stated = inline_config != nullptr && inline_config->is_object();
    if (stated) model.config = inline_config->dump();
    if (!stated) model.path = resolve(section.text("config", "path of a Hugging Face config.json (or \"graph\": path of a captured graph)"), folder);
    model.sequence = section.integer("sequence", kTokens);
    model.attention = section.choice<AttentionStyle>("attention", words::kAttention, AttentionStyle::flash);
    model.dense_mask = section.boolean("dense_mask", false);
    model.lora = read_lora(section);
  }
  const json* layers = section.find("layers");
  const bool as_in_file = layers == nullptr || *layers == "file";
  if (layers == nullptr) section.note_default("layers");
  if (!as_in_file) model.layers = small(section.integer("layers", kModelLayers));
  section.finish();
  return model;
}

plan::Plan read_plan_section(ObjectReader& section, int gpus) {
  plan::Plan plan;
  plan.tp = small(section.integer("tp", kParallel, 1));
  plan.pp = small(section.integer("pp", kParallel, 1));
  plan.cp = small(section.integer("cp", kParallel, 1));
  plan.ep = small(section.integer("ep", kParallel, 1));
  plan.dp = read_dp(section, plan, gpus);
  plan.sharding = section.choice<plan::Sharding>("sharding", words::kSharding, plan.sharding);
  plan.sequence_parallel = section.boolean("sequence_parallel", plan.sequence_parallel);
  plan.schedule = section.choice<plan::Schedule>("schedule", words::kSchedule, plan.schedule);
  plan.virtual_stages = small(section.integer("virtual_stages", kLayers, 1));
  plan.micro_batch = section.integer("micro_batch", kBatch);
  plan.global_batch = section.integer("global_batch", kBatch);
  plan.recompute = section.choice<plan::Recompute>("recompute", words::kRecompute, plan.recompute);
  plan.fsdp = read_fsdp(section.object("fsdp"));
  plan.buckets = read_buckets(section.object("buckets"));
  plan.stage_layers = read_stage_layers(section);
  plan.recompute_layers = read_recompute_layers(section);
  plan.offload = read_offload(section.object("offload"));
  section.finish();
  return plan;
}

lower::Training read_training_section(ObjectReader& section) {
  lower::Training t;
  t.compute_dtype = section.choice<graph::DType>("compute_dtype", words::kFloat, t.compute_dtype);
  t.parameter_dtype = section.choice<graph::DType>("parameter_dtype", words::kFloat, t.parameter_dtype);
  t.gradient_dtype = section.choice<graph::DType>("gradient_dtype", words::kFloat, t.gradient_dtype);
  t.autocast = section.boolean("autocast", t.autocast);
  t.tf32 = section.boolean("tf32", t.tf32);
  // Without autocast the products run in the parameters' type; a float32 parameter is then the master copy of another.
  if (!t.autocast && t.parameter_dtype != t.compute_dtype && t.parameter_dtype != graph::DType::float32) {
    const std::string compute(graph::to_text(t.compute_dtype));
    section.fail("parameter_dtype", "\"" + std::string(graph::to_text(t.parameter_dtype)) + "\" with compute_dtype " + compute + " and no autocast", "\"" + compute + "\" or \"float32\" (a master copy)",
                 "Nothing would cast the one to the other");
  }
  t.optimizer = section.choice<lower::Optimizer>("optimizer", words::kOptimizer, t.optimizer);
  t.optimizer_fused = section.boolean("optimizer_fused", t.optimizer_fused);
  t.clip_gradients = section.boolean("clip_gradients", t.clip_gradients);
  t.execution = section.choice<compile::Execution>("execution", words::kExecution, t.execution);
  t.stack = read_stack(section.object("stack"));
  section.finish();
  return t;
}

std::optional<std::pair<double, std::string>> parse_price(const std::string& text) {
  std::istringstream in(text);
  double value = 0.0;
  std::string unit, more;
  if (!(in >> value >> unit) || !(value > 0.0) || !unit.ends_with("/h") || unit.size() < 3 || in >> more) return std::nullopt;
  return std::pair(value, unit.substr(0, unit.size() - 2));
}

Economics read_economics_section(ObjectReader& section) {
  Economics economics;
  read_price(section, economics);
  for (const auto& [key, member] : {std::pair("gpu_mtbf", &Economics::gpu_mtbf), std::pair("checkpoint", &Economics::checkpoint), std::pair("restart", &Economics::restart)}) {
    if (section.has(key)) economics.*member = section.seconds(key);
  }
  section.finish();
  return economics;
}

EngineChoice read_engine_section(ObjectReader& section) {
  EngineChoice engine;
  engine.name = section.choice<EngineName>("name", words::kEngine, engine.name);
  engine.full = section.boolean("full", engine.full);
  section.finish();
  return engine;
}

}  // namespace sgsim::scenario

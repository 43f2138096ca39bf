#include "sim/check/to_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/check/doubts.h"
#include "sim/check/facts.h"
#include "sim/check/model_facts.h"
#include "sim/core/error.h"
#include "sim/scenario/read.h"

namespace sgsim::check {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

bool begins_with_any(const std::string& text, const std::vector<std::string>& starts) {
  return std::ranges::any_of(starts, [&](const std::string& start) { return text.starts_with(start); });
}

/// The stack whose beginning fits the record's framework best; of equal ones, the one that is meant for the record's source.
const scenario::StackFile* stack_of(const Record& r, const std::vector<scenario::StackFile>& stacks) {
  const scenario::StackFile* best = nullptr;
  std::size_t longest = 0;
  for (const scenario::StackFile& stack : stacks) {
    if (!stack.sources.empty() && !begins_with_any(r.source, stack.sources)) continue;
    for (const std::string& start : stack.frameworks) {
      const bool better = start.size() > longest || (start.size() == longest && best != nullptr && best->sources.empty() && !stack.sources.empty());
      if (!r.framework.starts_with(start) || !better) continue;
      longest = start.size();
      best = &stack;
    }
  }
  return best;
}

std::string beginnings_of(const std::vector<scenario::StackFile>& stacks) {
  std::set<std::string> starts;
  for (const scenario::StackFile& stack : stacks) starts.insert(stack.frameworks.begin(), stack.frameworks.end());
  return fmt::format("{}", fmt::join(starts, ", "));
}

[[noreturn]] void cannot(const Record& r, std::string why) {
  throw InputError({.file = r.file, .where = r.id, .found = std::move(why), .expected = "", .hint = ""});
}

json cluster_tree(const Record& r) {
  if (r.gpu.empty()) cannot(r, "no hardware.gpu");
  const auto builtin = cluster_of(r);
  if (!builtin) cannot(r, fmt::format("no profile for a {} ({})", r.gpu, r.interconnect));
  if (!r.gpus) cannot(r, "no hardware.gpus");
  const std::int64_t per_node = std::min(r.gpus_per_node.value_or(8), *r.gpus);
  if (*r.gpus % per_node != 0) cannot(r, fmt::format("{} GPUs on nodes of {}", *r.gpus, per_node));
  const std::int64_t nodes = *r.gpus / per_node;
  json tree = {{"builtin", *builtin}, {"nodes", nodes}};
  json node = json::object();
  node["gpus"] = per_node;
  // A GPU of these builtins comes with its own NIC; other networks are what the record states.
  if (const auto network = network_of(r, per_node)) {
    node["nics"] = network->nics;
    node["nic"] = {{"bandwidth", fmt::format("{} Gbit/s", network->gbit_per_s)}};
  } else if (nodes > 1) {
    node["nics"] = per_node;
  }
  // A800: NVLink of 400 GB/s both ways instead of 600 (datasheet).
  if (mentions(r.gpu, "A800")) node["nvlink"] = {{"bandwidth", "200 GB/s"}};
  // H100 SXM with 96 GB of HBM2e, a part of its own (profile h100-96gb): as much as the driver offers of it, in proportion to the 80 GB part.
  if (mentions(r.gpu, "96GB")) node["gpu"] = {{"memory", "94.5 GiB"}};
  // Measured apart from every record, which the shipped h200 profile is not (docs/check.md).
  if (mentions(r.gpu, "H200") && !r.assumptions.contains("cluster.node.gpu.profile")) node["gpu"] = {{"profile", "h200-measured"}};
  tree["node"] = node;
  return tree;
}

template <class T>
void put(json& tree, const char* key, const std::optional<T>& value) {
  if (value) tree[key] = *value;
}

/// Layers of each stage where embedding and head count as a layer each (Megatron-DeepSpeed's partition method
/// "type:transformer|embedding").
json embedding_as_layers(const Record& r, std::int64_t layers) {
  json stages = json::array();
  const std::int64_t pp = *r.pp, total = layers + 2;
  if (pp > layers) cannot(r, fmt::format("parallel.pp: {}, expected at most the {} layers", pp, layers));
  for (std::int64_t s = 0; s < pp; ++s) {
    std::int64_t n = total / pp + (s < total % pp ? 1 : 0);
    if (s == 0 || s == pp - 1) n -= 1;
    stages.push_back(n);
  }
  return stages;
}

/// As the record says; where that does not divide its batch, what its batch and accumulation say.
std::optional<std::int64_t> micro_batch_of(const Record& r) {
  const std::int64_t dp = r.dp.value_or(1);
  if (!r.micro_batch || !r.global_batch || !r.grad_accum || *r.global_batch % (*r.micro_batch * dp) == 0) return r.micro_batch;
  return *r.global_batch % (dp * *r.grad_accum) == 0 ? *r.global_batch / (dp * *r.grad_accum) : r.micro_batch;
}

json plan_tree(const Record& r, const json& model) {
  json plan = json::object();
  put(plan, "dp", r.dp);
  put(plan, "tp", r.tp);
  put(plan, "pp", r.pp);
  put(plan, "cp", r.cp);
  put(plan, "ep", r.ep);
  put(plan, "micro_batch", micro_batch_of(r));
  put(plan, "global_batch", r.global_batch);
  if (!r.global_batch && r.micro_batch && r.dp && r.grad_accum) plan["global_batch"] = *r.micro_batch * *r.dp * *r.grad_accum;
  put(plan, "sharding", sharding_of(r));
  put(plan, "recompute", recompute_of(r));
  if (r.sequence_parallel && r.tp.value_or(1) > 1) plan["sequence_parallel"] = *r.sequence_parallel;
  const bool interleaved = r.vpp.value_or(1) > 1 && r.pp.value_or(1) > 1;
  if (interleaved) plan["virtual_stages"] = *r.vpp;
  if (interleaved) plan["schedule"] = "interleaved";
  if (!interleaved) put(plan, "schedule", schedule_of(r));
  if (mentions(r.sharding, "SHARD_GRAD_OP")) plan["fsdp"] = {{"reshard_after_forward", false}};
  if (mentions(r.sharding, "reshard_after_forward=False")) plan["fsdp"] = {{"reshard_after_forward", false}};
  if (mentions(r.notes, "transformer|embedding") && r.pp.value_or(1) > 1 && model.contains("config") && model["config"].contains("n_layer")) {
    plan["stage_layers"] = embedding_as_layers(r, model["config"]["n_layer"].get<std::int64_t>());
  }
  return plan;
}

/// Types, as far as the record says more than the type of the products.
json training_tree(const Record& r) {
  json training = json::object();
  const auto precision = precision_of(r);
  if (precision == "float8") {
    training["compute_dtype"] = "bfloat16";
    training["stack"]["float8_linear"] = true;
    // A scale a row and a scale a column: both casts of an operand, compiled, on an H200 (docs/records/h200-pytorch-2026-11-30, float8_casts).
    if (mentions(r.precision, "rowwise")) {
      training["stack"]["float8_cast_bytes"] = 12.6;
      training["stack"]["float8_gather"] = false;
    }
  } else {
    put(training, "compute_dtype", precision);
  }
  if (mentions(r.precision, "autocast")) training["autocast"] = true;
  if (precision == "float32") {
    training["autocast"] = false;
    training["tf32"] = mentions(r.precision, "tf32");
  }
  if (mentions(r.precision, "parameters gathered in")) training["autocast"] = false;
  if (mentions(r.precision, "pure") && precision) {
    training["autocast"] = false;
    training["parameter_dtype"] = *precision;
    training["gradient_dtype"] = *precision;
  }
  if (mentions(r.fsdp_mixed_precision, "PURE") && precision) training["gradient_dtype"] = *precision;
  if (mentions(r.precision, "reduced in fp32") || mentions(r.precision, "fp32 grad")) training["gradient_dtype"] = "float32";
  put(training, "execution", execution_of(r));
  if (is_async_tensor_parallel(r)) training["stack"]["tensor_parallel_pipelined"] = true;
  if (mentions(r.execution, "each layer apart")) training["stack"]["compile_layers_only"] = true;
  if (optimizer_of(r) == "sgd") training["optimizer"] = "sgd";
  if (mentions(r.optimizer, "for-loop")) training["optimizer_fused"] = false;
  if (mentions(r.sharding, "embedding and head replicated")) training["stack"]["tensor_parallel_vocabulary"] = false;
  if (mentions(r.sharding, "DTensor")) training["stack"]["tensor_parallel_reduces_each"] = true;
  return training;
}

json model_tree(const Record& r, const Sources& sources, std::vector<std::string>& assumed) {
  if (!is_generated_family(r)) {
    if (r.graph.empty()) cannot(r, "no captured graph, and the family is not generated");
    return {{"graph", fs::absolute(fs::path(r.folder) / r.graph).lexically_normal().string()}};
  }
  json model = {{"config", model_config(r, sources.models, assumed)}};
  if (r.sequence) model["sequence"] = *r.sequence;
  return model;
}

/// Samples that the framework batches by length have fewer tokens in the mean than the record's most.
void shorten_sequence(json& model, const scenario::StackFile& stack, std::vector<std::string>& assumed) {
  const auto length = model.find("sequence");
  if (length == model.end()) return;
  const auto mean = stack.sequence_means.find(length->get<std::int64_t>());
  if (mean == stack.sequence_means.end()) return;
  assumed.push_back(fmt::format("{} tokens a sample in the mean, of at most {} ({})", mean->second, mean->first, stack.name));
  *length = mean->second;
}

/// The record's own assumptions stand above the stack, below the facts.
void apply_assumptions(json& tree, const Record& r) {
  scenario::StackFile own;
  for (const auto& [path, value] : r.assumptions) own.statements.push_back({.set = {{path, value}}, .source = r.id});
  scenario::apply_stack(tree, own);
}

/// Share of the layers that selective recomputation runs again: by the record's own rates of hardware and model operations
/// (full recomputation adds a third), else as the stack says.
double recompute_share(const Record& r, const scenario::StackFile& stack) {
  if (stack.selective_recompute_share == 0.0 || recompute_of(r) != "selective") return 0.0;
  const auto mfu = r.measured.find("mfu"), hfu = r.measured.find("hfu");
  if (mfu == r.measured.end() || hfu == r.measured.end() || hfu->second <= mfu->second) return stack.selective_recompute_share;
  return std::min(1.0, 3.0 * (hfu->second / mfu->second - 1.0));
}

std::string reason_of(const InputError& error) {
  const InputProblem& p = error.problem();
  std::string reason = p.found;
  if (p.where.starts_with("$")) reason = p.where + ": " + reason + (p.expected.empty() ? "" : ", expected " + p.expected);
  return reason;
}

}  // namespace

Sources shipped_sources() {
  return {.stacks = scenario::shipped_stacks(), .models = read_known_models((fs::path(scenario::data_folder()) / "records" / "models.json").string())};
}

Question question_of(const Record& r, const Sources& sources) {
  Question q;
  q.skipped = doubt_of(r);
  if (!q.skipped.empty()) return q;
  try {
    const scenario::StackFile* stack = stack_of(r, sources.stacks);
    if (stack == nullptr) cannot(r, fmt::format("no stack for the framework \"{}\"; known beginnings: {}", r.framework, beginnings_of(sources.stacks)));
    q.stack = stack->name;
    q.recompute_share = recompute_share(r, *stack);
    if (q.recompute_share > 0.0) q.assumed.push_back(fmt::format("selective recomputation taken as {:.0f} % of the layers", 100.0 * q.recompute_share));
    json tree = {{"schema_version", scenario::kScenarioVersion}, {"description", r.id + ": " + r.source}, {"stack", stack->path.empty() ? stack->name : stack->path}};
    tree["model"] = model_tree(r, sources, q.assumed);
    if (trains_adapters(r)) tree["model"]["lora"] = {{"dropout", 0.0}};  // rank and layers: as the stack says
    shorten_sequence(tree["model"], *stack, q.assumed);
    tree["plan"] = plan_tree(r, tree["model"]);
    if (stack->micro_batches_are_stages && !r.micro_batch && r.pp.value_or(1) > 1 && r.global_batch && *r.global_batch % (r.dp.value_or(1) * *r.pp) == 0) {
      tree["plan"]["micro_batch"] = *r.global_batch / (r.dp.value_or(1) * *r.pp);
      q.assumed.push_back(fmt::format("micro-batch {}: as many micro-batches as stages ({})", tree["plan"]["micro_batch"].dump(), stack->name));
    }
    tree["training"] = training_tree(r);
    if (mentions(r.optimizer, "lamb")) q.assumed.push_back("LAMB taken as AdamW, without its norms a tensor");
    tree["cluster"] = cluster_tree(r);
    if (mentions(r.gpu, "96GB") && mentions(r.gpu, "H100")) tree["profile"] = (fs::path(scenario::data_folder()) / "profiles" / "h100-96gb.json").string();
    apply_assumptions(tree, r);
    if (q.recompute_share > 0.0) tree["plan"]["recompute"] = "full";
    q.text = tree.dump(2);
    q.scenario = scenario::scenario_from_text(q.text, r.id, r.folder);
  } catch (const InputError& error) {
    q.skipped = reason_of(error);
  }
  return q;
}

}  // namespace sgsim::check

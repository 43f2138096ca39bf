#include "planner/validate/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/core/text_file.h"

namespace sgsim::validate {
namespace {

using nlohmann::json;

const char* sharding_text(plan::Sharding sharding) {
  constexpr const char* kNames[] = {"DDP", "ZeRO-1", "ZeRO-2", "FSDP", "HSDP"};
  return kNames[static_cast<std::size_t>(sharding)];
}
const char* recompute_text(plan::Recompute recompute) {
  constexpr const char* kNames[] = {"none", "selective", "full"};
  return static_cast<std::size_t>(recompute) < std::size(kNames) ? kNames[static_cast<std::size_t>(recompute)] : "per layer";
}
const char* execution_text(compile::Execution execution) {
  constexpr const char* kNames[] = {"eager", "compiled: fused kernels, launched one by one", "CUDA graph: the whole step"};
  return kNames[static_cast<std::size_t>(execution)];
}

/// Scenario paths that a record has no field for.
json assumptions(const scenario::Scenario& s) {
  const plan::Plan& p = s.plan;
  json a = {{"cluster.node.gpu.profile", std::filesystem::path(s.profile).stem().string()}, {"training.autocast", s.training.autocast}, {"training.clip_gradients", s.training.clip_gradients},
            {"model.dense_mask", s.model.dense_mask}, {"plan.fsdp.layers_per_unit", p.fsdp.layers_per_unit}, {"plan.fsdp.prefetch", p.fsdp.prefetch},
            {"plan.fsdp.reshard_after_forward", p.fsdp.reshard_after_forward}, {"plan.buckets.bucket", fmt::format("{:.0f} B", p.buckets.bucket.value())}, {"plan.buckets.overlap", p.buckets.overlap},
            {"training.stack.tensor_parallel_vocabulary", s.training.stack.tensor_parallel_vocabulary}, {"training.stack.gradient_scale_kernels", s.training.stack.gradient_scale_kernels}};
  return a;
}

json row_of(const scenario::Scenario& s, const scenario::Inputs& inputs, const calibrate::MeasuredProgram& m) {
  const plan::Plan& p = s.plan;
  const plan::ModelShape& shape = inputs.shape;
  const auto world = static_cast<std::int64_t>(m.ranks.size());
  std::string libraries;
  for (const auto& [name, version] : m.machine.libraries) libraries += fmt::format(", {} {}", name, version);
  json model = {{"name", inputs.model}, {"family", inputs.model}, {"seq", shape.sequence}, {"layers", shape.layers}, {"hidden", shape.hidden}, {"heads", shape.heads}, {"kv_heads", shape.kv_heads},
                {"ffn", shape.ffn}, {"vocab", shape.vocab}};
  return {{"id", m.name}, {"source", fmt::format("{}; {}{}", m.command, m.machine.date, libraries)}, {"kind", "measured"}, {"framework", "sgsim executor"},
          {"hardware", {{"gpu", "H200-SXM-141GB"}, {"gpus", world}, {"gpus_per_node", world}, {"interconnect", world > 1 ? json("NVLink 4, 18 links (NV18)") : json(nullptr)}, {"driver", m.machine.driver}, {"host_cpu", m.machine.host_cpu}}},
          {"model", model},
          {"parallel", {{"dp", p.dp}, {"tp", p.tp}, {"pp", p.pp}, {"cp", p.cp}, {"ep", p.ep}, {"vpp", p.virtual_stages}, {"micro_batch", p.micro_batch}, {"global_batch", p.global_batch}, {"sharding", sharding_text(p.sharding)},
                        {"recompute", recompute_text(p.recompute)}, {"sequence_parallel", p.sequence_parallel}, {"schedule", p.schedule == plan::Schedule::gpipe ? "gpipe" : p.schedule == plan::Schedule::interleaved ? "interleaved 1f1b" : p.schedule == plan::Schedule::zero_bubble ? "zero bubble (ZB-H1)" : "1f1b"}}},
          {"precision", "bf16"}, {"optimizer", "AdamW, fused"}, {"execution", execution_text(s.training.execution)}, {"assumptions", assumptions(s)},
          {"measured", {{"step_time_s", m.steps.median_s}, {"step_least_s", m.steps.least_s}, {"step_greatest_s", m.steps.greatest_s}, {"traced_step_s", m.steps.traced_s}, {"sm_clock_mhz", m.sm_clock_mhz}, {"power_w", m.power_w}}},
          {"notes", fmt::format("kernels of the right shapes without a model's data; {} number checks, {} of them failed", m.numbers.size(), std::count_if(m.numbers.begin(), m.numbers.end(), [](const auto& c) { return !c.passed(); }))}};
}

std::string gpu_checked(const calibrate::MeasuredProgram& m) {
  return m.machine.gpus.empty() ? std::string() : m.machine.gpus.front().name;
}

}  // namespace

void add_record(const std::string& path, const scenario::Scenario& executed, const scenario::Inputs& inputs, const calibrate::MeasuredProgram& measured) {
  json rows = json::array();
  if (std::filesystem::exists(path)) {
    rows = json::parse(read_text_file(path), nullptr, false);
    if (!rows.is_array()) throw InputError({.file = path, .where = "$", .found = "no JSON list", .expected = "a file of records", .hint = ""});
  }
  json row = row_of(executed, inputs, measured);
  if (const std::string gpu = gpu_checked(measured); gpu.find("H200") == std::string::npos) row["hardware"]["gpu"] = gpu;
  const auto same = std::find_if(rows.begin(), rows.end(), [&](const json& r) { return r.is_object() && r.value("id", "") == measured.name; });
  if (same != rows.end()) *same = std::move(row);
  else rows.push_back(std::move(row));
  std::string text = "[";
  for (std::size_t i = 0; i < rows.size(); ++i) text += (i == 0 ? "\n" : ",\n") + rows[i].dump();
  write_text_file(path, text + "\n]\n");
}

}  // namespace sgsim::validate

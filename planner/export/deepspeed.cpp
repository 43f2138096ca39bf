#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "planner/export/export.h"

namespace sgsim::exporting {
namespace {

int stage_of(plan::Sharding sharding) {
  switch (sharding) {
    case plan::Sharding::ddp: return 0;
    case plan::Sharding::zero1: return 1;
    case plan::Sharding::zero2: return 2;
    case plan::Sharding::fsdp:
    case plan::Sharding::hybrid: return 3;
  }
  return 0;
}

}  // namespace

Exported deepspeed(const Job& job) {
  using nlohmann::ordered_json;
  const plan::Plan& p = job.plan;
  Exported out{.file_name = "deepspeed.json", .text = {}, .gaps = {}};
  if (p.sharding == plan::Sharding::hybrid) out.gaps.push_back(fmt::format("hybrid shard in groups of {}: zero_hpz_partition_size divides parameters so, optimizer state stays divided over all ranks", p.fsdp.shard_group));
  if (p.pp > 1) out.gaps.push_back(fmt::format("pipeline parallel {}: PipelineModule(..., num_stages={}) in the script; DeepSpeed runs 1F1B", p.pp, p.pp));
  if (p.pp > 1 && stage_of(p.sharding) > 1) out.gaps.push_back("DeepSpeed pipelines take ZeRO stage 0 or 1 only");
  if (p.virtual_stages > 1) out.gaps.push_back("interleaved chunks: DeepSpeed has none");
  if (p.tp > 1) out.gaps.push_back(fmt::format("tensor parallel {}: from the model library (Megatron-DeepSpeed: --tensor-model-parallel-size)", p.tp));
  if (p.cp > 1) out.gaps.push_back(fmt::format("context parallel {}", p.cp));
  const bool sharded = stage_of(p.sharding) == 3;
  if (sharded && (p.fsdp.layers_per_unit != 1 || p.fsdp.prefetch != 1)) out.gaps.push_back("units of several layers and prefetch: ZeRO-3 gathers parameter by parameter, as far ahead as stage3_prefetch_bucket_size (elements) says");
  if (sharded && !p.fsdp.reshard_after_forward) out.gaps.push_back("parameters kept after the forward pass: ZeRO-3 gathers again, unless stage3_max_live_parameters and stage3_max_reuse_distance cover the model");
  if (!p.stage_layers.empty()) out.gaps.push_back(fmt::format("layers of each stage [{}]: PipelineModule(..., partition_method=...) with weights of your own", fmt::join(p.stage_layers, ", ")));
  if (p.recompute != plan::Recompute::none) out.gaps.push_back("recomputation: deepspeed.checkpointing.checkpoint around each layer in the script");
  ordered_json zero = {{"stage", stage_of(p.sharding)}, {"overlap_comm", p.buckets.overlap}};
  if (p.offload.optimizer && stage_of(p.sharding) == 0) out.gaps.push_back("optimizer offload: DeepSpeed offloads from ZeRO stage 1 on");
  if (p.offload.optimizer && stage_of(p.sharding) > 0) zero["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
  if (p.offload.activations) out.gaps.push_back("activation offload: deepspeed.checkpointing's cpu_checkpointing offloads the inputs of recomputed layers only");
  if (p.recompute_layers > 0) out.gaps.push_back(fmt::format("recomputation of {} layers of each stage: checkpoint those layers only in the script", p.recompute_layers));
  if (p.schedule == plan::Schedule::zero_bubble) out.gaps.push_back("ZB-H1: DeepSpeed runs 1F1B");
  if (p.ep > 1) out.gaps.push_back(fmt::format("expert parallel {}: deepspeed.moe.layer.MoE(ep_size={}) in the script", p.ep, p.ep));
  const auto elements = static_cast<std::int64_t>(p.buckets.bucket.value() / graph::size_of(job.training.gradient_dtype));
  if (elements > 0) zero["reduce_bucket_size"] = elements;  // elements, not bytes
  if (p.sharding == plan::Sharding::hybrid) zero["zero_hpz_partition_size"] = p.fsdp.shard_group;
  ordered_json config = {{"train_batch_size", p.global_batch},
                         {"train_micro_batch_size_per_gpu", p.micro_batch},
                         {"gradient_accumulation_steps", p.micro_batches()},
                         {"zero_optimization", zero},
                         {"bf16", {{"enabled", job.training.compute_dtype == graph::DType::bfloat16}}},
                         {"fp16", {{"enabled", job.training.compute_dtype == graph::DType::float16}}}};
  if (job.training.clip_gradients) config["gradient_clipping"] = 1.0;
  config["sgsim"] = {{"keys_of", "DeepSpeed 0.18.2 (deepspeed/runtime/config.py, zero/config.py)"}, {"tensor_parallel", p.tp}, {"pipeline_parallel", p.pp}, {"data_parallel", p.dp}, {"not_expressed", out.gaps}};
  out.text = config.dump(2) + "\n";
  return out;
}

}  // namespace sgsim::exporting

#include <fmt/format.h>

#include <algorithm>

#include "planner/export/export.h"
#include "planner/export/lines.h"
#include "sim/plan/legality.h"

namespace sgsim::exporting {
namespace {

std::int64_t stage_layers(const Job& job) { return std::max<std::int64_t>(1, job.model.layers / (job.plan.pp * job.plan.virtual_stages)); }

/// Of so many layers one is recomputed.
std::int64_t every(const Job& job) { return std::max<std::int64_t>(1, stage_layers(job) / std::max(1, job.plan.recompute_layers)); }

/// Modules of each chunk by the names of torchtitan's decoder models (llama3, llama4, qwen3, deepseek_v3).
std::string chunks_text(const std::vector<int>& layers) {
  std::string text;
  int next = 0;
  for (std::size_t g = 0; g < layers.size(); ++g) {
    text += g == 0 ? "  [\"tok_embeddings\"" : "  [";
    for (int l = 0; l < layers[g]; ++l) text += fmt::format("{}\"layers.{}\"", g == 0 || l > 0 ? ", " : "", next++);
    text += g + 1 == layers.size() ? ", \"norm\", \"output\"],\n" : "],\n";
  }
  return text;
}

}  // namespace

Exported torchtitan(const Job& job) {
  const plan::Plan& p = job.plan;
  Lines out("#");
  if (job.model.hidden == 0) return no_transformer("torchtitan trains", "torchtitan.toml");
  const bool sharded = p.sharding == plan::Sharding::fsdp || p.sharding == plan::Sharding::hybrid;
  const int shard = p.sharding == plan::Sharding::hybrid ? p.fsdp.shard_group / p.cp : sharded ? p.dp : 1;
  if (p.sharding == plan::Sharding::zero1 || p.sharding == plan::Sharding::zero2) out.gap("torchtitan has no ZeRO-1/2: written as replication (DDP); fsdp is the nearest that divides the optimizer state");
  // parallelize_llama: fully_shard where shard or context-parallel ranks are, else replicate() and autocast for data parallelism alone.
  const bool torch_shards = shard * p.cp > 1;
  if (!sharded && p.cp > 1) out.gap(fmt::format("{} over {} context-parallel ranks: torchtitan divides parameters and optimizer state over them (FSDP)", p.sharding == plan::Sharding::ddp ? "replicated parameters" : "ZeRO", p.cp));
  if (!torch_shards && p.dp > 1 && p.tp * p.pp > 1) out.gap("replication with tensor or pipeline parallel: torchtitan stops (\"DDP has not supported > 1D parallelism\"); use fsdp or hybrid");
  if (!torch_shards && p.tp * p.pp > 1 && job.training.compute_dtype != graph::DType::float32) out.gap("mixed precision: with tensor or pipeline parallel and neither FSDP nor context parallel torchtitan ignores mixed_precision_param and computes in float32");
  if (job.adapters) out.gap("low-rank adapters (model.lora): this job trains every parameter");
  if (p.tp > 1 && !p.sequence_parallel) out.gap("torchtitan's tensor parallel always has sequence parallel");
  if (sharded && p.fsdp.layers_per_unit != 1) out.gap(fmt::format("units of {} layers: torchtitan wraps each layer", p.fsdp.layers_per_unit));
  if (!sharded && p.dp > 1) out.gap(fmt::format("gradient buckets of {:.0f} MiB: torchtitan uses replicate()'s own (100 MB)", p.buckets.bucket.value() / 1048576.0));
  if (job.training.gradient_dtype != graph::DType::float32) out.gap(fmt::format("gradients reduced in {}: torchtitan takes float32 only", graph::to_text(job.training.gradient_dtype)));
  // ParallelDims takes expert groups from the sharded ranks, context-parallel ones first.
  if (p.ep > 1 && (p.ep % p.cp != 0 || (shard * p.cp) % p.ep != 0)) out.gap(fmt::format("expert parallel {} over {} sharded x {} context-parallel ranks: torchtitan wants a multiple of the latter that divides their product", p.ep, shard, p.cp));
  if (p.offload.optimizer) out.gap("optimizer offload: training.enable_cpu_offload moves parameters and gradients too, and is left off");
  if (p.offload.activations) out.gap("activation offload");
  if (p.recompute_layers > 0) out.gap(fmt::format("{} of {} layers of each stage recomputed: written as every {}th, spread over the stage", p.recompute_layers, stage_layers(job), every(job)));
  if (p.schedule == plan::Schedule::zero_bubble) out.gap("ZB-H1 with one stage a rank: torchtitan has PyTorch's InterleavedZeroBubble (ZB1P) with two or more; written as 1F1B");
  if (job.training.compute_dtype == graph::DType::float16) out.gap("float16: torchtitan takes bfloat16 or float32; written as bfloat16");
  out.line("# Keys of torchtitan 0.2.0 (torchtitan/config/job_config.py); later versions take their configuration in Python.");
  out.line("[training]");
  out.line("local_batch_size = {}", p.pp > 1 ? p.global_batch / p.dp : p.micro_batch);
  out.line("global_batch_size = {}", p.global_batch);
  if (job.model.sequence > 0) out.line("seq_len = {}", job.model.sequence);
  out.line("mixed_precision_param = \"{}\"", job.training.compute_dtype == graph::DType::float32 ? "float32" : "bfloat16");
  out.line("mixed_precision_reduce = \"float32\"");
  out.line("\n[parallelism]");
  out.line("data_parallel_replicate_degree = {}", p.dp / shard);
  out.line("data_parallel_shard_degree = {}", shard);
  if (sharded) out.line("fsdp_reshard_after_forward = \"{}\"", p.fsdp.reshard_after_forward ? "always" : "never");
  out.line("tensor_parallel_degree = {}", p.tp);
  out.line("context_parallel_degree = {}", p.cp);
  if (p.cp > 1 && job.training.stack.context_parallel_all_gather) out.line("context_parallel_rotate_method = \"allgather\"");
  if (p.cp > 1 && !job.training.stack.context_parallel_all_gather) out.line("context_parallel_rotate_method = \"alltoall\"");
  out.line("expert_parallel_degree = {}", p.ep);
  out.line("pipeline_parallel_degree = {}", p.pp);
  if (p.pp > 1) {
    const char* schedule = p.schedule == plan::Schedule::gpipe ? "GPipe" : p.schedule == plan::Schedule::interleaved ? "Interleaved1F1B" : "1F1B";
    out.line("pipeline_parallel_schedule = \"{}\"", schedule);
    out.line("pipeline_parallel_microbatch_size = {}", p.micro_batch);
    // Without it torchtitan gives the first and the last chunk one layer less each.
    if (job.model.layers > 0) out.line("module_fqns_per_model_part = [\n{}]", chunks_text(plan::chunk_layers(job.model, p)));
  }
  out.line("\n[activation_checkpoint]");
  out.line("mode = \"{}\"", p.recompute_layers > 0 ? "selective" : recompute_word(p.recompute));
  if (p.recompute_layers > 0) out.line("selective_ac_option = \"{}\"", every(job));
  if (p.recompute == plan::Recompute::selective && p.recompute_layers == 0) out.line("selective_ac_option = \"op\"");
  out.line("\n[compile]");
  out.line("enable = {}", job.training.execution == compile::Execution::eager ? "false" : "true");
  return out.finish("torchtitan.toml");
}

}  // namespace sgsim::exporting

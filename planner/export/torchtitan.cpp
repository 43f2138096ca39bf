#include <fmt/format.h>

#include "planner/export/export.h"
#include "planner/export/lines.h"

namespace sgsim::exporting {

Exported torchtitan(const Job& job) {
  const plan::Plan& p = job.plan;
  Lines out("#");
  const bool sharded = p.sharding == plan::Sharding::fsdp || p.sharding == plan::Sharding::hybrid;
  const int shard = p.sharding == plan::Sharding::hybrid ? p.fsdp.shard_group / p.cp : sharded ? p.dp : 1;
  if (p.sharding == plan::Sharding::zero1 || p.sharding == plan::Sharding::zero2) out.gap("torchtitan has no ZeRO-1/2: written as replication (DDP); fsdp is the nearest that divides the optimizer state");
  if (p.tp > 1 && !p.sequence_parallel) out.gap("torchtitan's tensor parallel always has sequence parallel");
  if (sharded && p.fsdp.layers_per_unit != 1) out.gap(fmt::format("units of {} layers: torchtitan wraps each layer", p.fsdp.layers_per_unit));
  if (!sharded && p.dp > 1) out.gap(fmt::format("gradient buckets of {:.0f} MiB: torchtitan uses replicate()'s own (100 MB)", p.buckets.bucket.value() / 1048576.0));
  out.line("[training]");
  out.line("local_batch_size = {}", p.pp > 1 ? p.global_batch / p.dp : p.micro_batch);
  out.line("global_batch_size = {}", p.global_batch);
  if (job.model.sequence > 0) out.line("seq_len = {}", job.model.sequence);
  out.line("mixed_precision_param = \"{}\"", graph::to_text(job.training.compute_dtype));
  out.line("mixed_precision_reduce = \"{}\"", graph::to_text(job.training.gradient_dtype));
  out.line("\n[parallelism]");
  out.line("data_parallel_replicate_degree = {}", p.dp / shard);
  out.line("data_parallel_shard_degree = {}", shard);
  if (sharded) out.line("fsdp_reshard_after_forward = \"{}\"", p.fsdp.reshard_after_forward ? "always" : "never");
  out.line("tensor_parallel_degree = {}", p.tp);
  out.line("context_parallel_degree = {}", p.cp);
  out.line("expert_parallel_degree = {}", p.ep);
  out.line("pipeline_parallel_degree = {}", p.pp);
  if (p.pp > 1) {
    const char* schedule = p.schedule == plan::Schedule::gpipe ? "GPipe" : p.schedule == plan::Schedule::interleaved ? "Interleaved1F1B" : "1F1B";
    out.line("pipeline_parallel_schedule = \"{}\"", schedule);
    out.line("pipeline_parallel_microbatch_size = {}", p.micro_batch);
    if (p.virtual_stages > 1) out.line("pipeline_parallel_layers_per_stage = {}", (job.model.layers + p.pp * p.virtual_stages - 1) / (p.pp * p.virtual_stages));
  }
  out.line("\n[activation_checkpoint]");
  out.line("mode = \"{}\"", recompute_word(p.recompute));
  if (p.recompute == plan::Recompute::selective) out.line("selective_ac_option = \"op\"");
  out.line("\n[compile]");
  out.line("enable = {}", job.training.execution == compile::Execution::eager ? "false" : "true");
  return out.finish("torchtitan.toml");
}

}  // namespace sgsim::exporting

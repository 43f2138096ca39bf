#include <fmt/format.h>

#include "planner/export/export.h"
#include "planner/export/lines.h"

namespace sgsim::exporting {
namespace {

void model(const Job& job, Lines& out) {
  const plan::ModelShape& m = job.model;
  out.line("--num-layers {}", m.layers);
  out.line("--hidden-size {}", m.hidden);
  if (m.ffn > 0) out.line("--ffn-hidden-size {}", m.ffn);
  out.line("--num-attention-heads {}", m.heads);
  if (m.kv_heads > 0 && m.kv_heads != m.heads) out.line("--group-query-attention\n--num-query-groups {}", m.kv_heads);
  out.line("--seq-length {}\n--max-position-embeddings {}", m.sequence, m.sequence);
  if (m.experts > 0) out.line("--num-experts {}", m.experts);
}

void data(const Job& job, Lines& out) {
  const plan::Plan& p = job.plan;
  switch (p.sharding) {
    case plan::Sharding::ddp: break;
    case plan::Sharding::zero1: out.line("--use-distributed-optimizer"); break;
    case plan::Sharding::zero2:
      out.gap("ZeRO-2: written as the distributed optimizer (ZeRO-1)");
      out.line("--use-distributed-optimizer");
      break;
    case plan::Sharding::fsdp:
    case plan::Sharding::hybrid:
      out.line("--use-torch-fsdp2");
      out.line("--no-gradient-accumulation-fusion");
      if (p.sharding == plan::Sharding::hybrid) out.gap(fmt::format("hybrid shard in groups of {}", p.fsdp.shard_group));
      if (p.pp > 1) out.gap("--use-torch-fsdp2 does not go with pipeline parallel");
      return;
  }
  if (p.dp > 1 && p.buckets.overlap) out.line("--overlap-grad-reduce");
  if (p.sharding != plan::Sharding::ddp && job.training.stack.overlap_parameter_gather) out.line("--overlap-param-gather");
  // Megatron counts parameters, not bytes.
  if (p.dp > 1 && p.buckets.bucket.value() > 0.0) out.line("--ddp-bucket-size {:.0f}", p.buckets.bucket.value() / graph::size_of(job.training.gradient_dtype));
}

}  // namespace

Exported megatron(const Job& job) {
  const plan::Plan& p = job.plan;
  Lines out("#");
  out.line("# Arguments of Megatron-LM core_v0.12 and later (megatron/training/arguments.py).");
  model(job, out);
  out.line("--micro-batch-size {}\n--global-batch-size {}", p.micro_batch, p.global_batch);
  out.line("--tensor-model-parallel-size {}\n--pipeline-model-parallel-size {}", p.tp, p.pp);
  if (p.sequence_parallel) out.line("--sequence-parallel");
  if (p.cp > 1) out.line("--context-parallel-size {}\n--cp-comm-type {}", p.cp, job.training.stack.context_parallel_all_gather ? "all_gather" : "p2p");
  if (p.ep > 1) out.line("--expert-model-parallel-size {}", p.ep);
  if (p.virtual_stages > 1) {
    const std::int64_t chunks = static_cast<std::int64_t>(p.pp) * p.virtual_stages;
    if (job.model.layers % chunks != 0) out.gap(fmt::format("{} layers over {} chunks: Megatron needs equal chunks", job.model.layers, chunks));
    out.line("--num-layers-per-virtual-pipeline-stage {}", (job.model.layers + chunks - 1) / chunks);
  }
  if (p.pp > 1 && p.schedule == plan::Schedule::gpipe) out.gap("GPipe: Megatron runs 1F1B");
  if (p.schedule == plan::Schedule::zero_bubble) out.gap("ZB-H1: Megatron-LM runs 1F1B (the authors' fork, sail-sg/zero-bubble, has it)");
  data(job, out);
  if (p.recompute == plan::Recompute::selective) out.line("--recompute-activations");
  if (p.recompute == plan::Recompute::full && p.recompute_layers == 0) out.line("--recompute-granularity full\n--recompute-method uniform\n--recompute-num-layers 1");
  if (p.recompute == plan::Recompute::full && p.recompute_layers > 0) out.line("--recompute-granularity full\n--recompute-method block\n--recompute-num-layers {}", p.recompute_layers);
  if (p.recompute == plan::Recompute::selective && p.recompute_layers > 0) out.gap("selective recomputation in some layers only");
  if (p.offload.optimizer) {
    out.line("--optimizer-cpu-offload\n--optimizer-offload-fraction 1.0\n--use-precision-aware-optimizer");
    if (p.sharding != plan::Sharding::zero1) out.gap("optimizer offload goes with the distributed optimizer (--use-distributed-optimizer)");
  }
  if (p.offload.activations) out.gap("activation offload: TransformerConfig.cpu_offloading with cpu_offloading_num_layers, which pretrain scripts have no argument for");
  if (job.training.compute_dtype == graph::DType::bfloat16) out.line("--bf16");
  if (job.training.compute_dtype == graph::DType::float16) out.line("--fp16");
  if (job.training.clip_gradients) out.line("--clip-grad 1.0");
  return out.finish("megatron.args");
}

}  // namespace sgsim::exporting

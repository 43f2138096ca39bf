#include <fmt/format.h>

#include "planner/export/export.h"
#include "planner/export/lines.h"
#include "sim/plan/legality.h"

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
      // arguments.py insists on the last three, and on CUDA_DEVICE_MAX_CONNECTIONS other than 1.
      out.line("--use-torch-fsdp2\n--no-gradient-accumulation-fusion\n--ckpt-format torch_dist\n--untie-embeddings-and-output-weights");
      if (!p.fsdp.reshard_after_forward) out.line("--torch-fsdp2-no-reshard-after-forward");
      if (p.sharding == plan::Sharding::hybrid) out.gap(fmt::format("hybrid shard in groups of {}: --use-torch-fsdp2 shards over all data-parallel ranks", p.fsdp.shard_group));
      if (p.fsdp.layers_per_unit != 1 || p.fsdp.prefetch != 1) out.gap("FSDP units of several layers and prefetch: --use-torch-fsdp2 wraps each layer");
      if (p.pp > 1) out.gap("--use-torch-fsdp2 does not go with pipeline parallel");
      if (p.ep > 1) out.gap("--use-torch-fsdp2 does not go with expert parallel");
      if (job.training.compute_dtype == graph::DType::float16) out.gap("--use-torch-fsdp2 does not go with --fp16");
      return;
  }
  if (p.dp > 1 && p.buckets.overlap) out.line("--overlap-grad-reduce");
  if (p.sharding != plan::Sharding::ddp && job.training.stack.overlap_parameter_gather) out.line("--overlap-param-gather");
  // Megatron counts parameters, not bytes.
  if (p.dp > 1 && p.buckets.bucket.value() > 0.0) out.line("--ddp-bucket-size {:.0f}", p.buckets.bucket.value() / graph::size_of(job.training.gradient_dtype));
}

/// Stages and chunks. Where chunks differ: a layout, "E": embedding, "t*5": five layers, "L": loss, chunks in model order.
void pipeline(const Job& job, Lines& out) {
  const plan::Plan& p = job.plan;
  if (p.pp == 1 || job.model.layers == 0) return;
  const std::vector<int> layers = plan::chunk_layers(job.model, p);
  if (equal_chunks(layers)) {
    if (p.virtual_stages > 1) out.line("--num-layers-per-virtual-pipeline-stage {}", layers.front());
    return;
  }
  std::string layout = "E";
  for (std::size_t g = 0; g < layers.size(); ++g) layout += fmt::format("{}t*{}", g > 0 ? "|" : "", layers[g]);
  out.line("--pipeline-model-parallel-layout {}L", layout);
}

void offload(const Job& job, Lines& out) {
  const plan::Plan& p = job.plan;
  if (job.adapters) out.gap("low-rank adapters (model.lora): Megatron-LM's pretrain scripts train every parameter; NeMo has them");
  if (p.offload.optimizer && p.sharding == plan::Sharding::zero1) out.line("--optimizer-cpu-offload\n--optimizer-offload-fraction 1.0\n--use-precision-aware-optimizer");
  if (p.offload.optimizer && p.sharding != plan::Sharding::zero1) out.gap("optimizer offload: --optimizer-cpu-offload goes with --use-distributed-optimizer (ZeRO-1) only");
  if (p.offload.activations) out.line("--cpu-offloading-num-layers {}", job.model.layers - 1);  // all but the last
}

}  // namespace

Exported megatron(const Job& job) {
  const plan::Plan& p = job.plan;
  Lines out("#");
  if (job.model.hidden == 0) return no_transformer("Megatron-LM's pretrain scripts train", "megatron.args");
  out.line("# Arguments of Megatron-LM (megatron/training/arguments.py as of commit 000c4ac, after core_v0.15). Of the model only what the plan depends on.");
  model(job, out);
  out.line("--micro-batch-size {}\n--global-batch-size {}", p.micro_batch, p.global_batch);
  out.line("--tensor-model-parallel-size {}\n--pipeline-model-parallel-size {}", p.tp, p.pp);
  if (p.sequence_parallel) out.line("--sequence-parallel");
  if (p.cp > 1) out.line("--context-parallel-size {}\n--cp-comm-type {}", p.cp, job.training.stack.context_parallel_all_gather ? "all_gather" : "p2p");
  if (p.ep > 1) out.line("--expert-model-parallel-size {}\n--moe-token-dispatcher-type alltoall", p.ep);
  if (job.model.experts > 0 && p.tp > 1 && !p.sequence_parallel) out.gap("tensor parallel without sequence parallel: Megatron's MoE layers refuse it in training");
  pipeline(job, out);
  if (p.pp > 1 && p.schedule == plan::Schedule::gpipe) out.gap("GPipe: Megatron runs 1F1B");
  if (p.schedule == plan::Schedule::zero_bubble) out.gap("ZB-H1: Megatron-LM runs 1F1B (the authors' fork, sail-sg/zero-bubble, has it)");
  data(job, out);
  if (p.recompute == plan::Recompute::selective) out.line("--recompute-activations");
  if (p.recompute == plan::Recompute::full && p.recompute_layers == 0) out.line("--recompute-granularity full\n--recompute-method uniform\n--recompute-num-layers 1");
  if (p.recompute == plan::Recompute::full && p.recompute_layers > 0) out.line("--recompute-granularity full\n--recompute-method block\n--recompute-num-layers {}", p.recompute_layers);
  if (p.recompute == plan::Recompute::selective && p.recompute_layers > 0) out.gap("selective recomputation in some layers only");
  offload(job, out);
  if (job.training.compute_dtype == graph::DType::bfloat16) out.line("--bf16");
  if (job.training.compute_dtype == graph::DType::float16) out.line("--fp16");
  if (job.training.clip_gradients) out.line("--clip-grad 1.0");
  return out.finish("megatron.args");
}

}  // namespace sgsim::exporting

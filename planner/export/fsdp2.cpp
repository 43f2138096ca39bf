#include <fmt/format.h>

#include "planner/export/export.h"
#include "planner/export/lines.h"

namespace sgsim::exporting {
namespace {

std::string_view torch_type(graph::DType dtype) {
  return dtype == graph::DType::bfloat16 ? "torch.bfloat16" : dtype == graph::DType::float16 ? "torch.float16" : "torch.float32";
}

void mesh(const plan::Plan& p, int shard, Lines& out) {
  out.line("\n\ndef make_mesh(device=\"cuda\"):");
  out.line("    # Ranks in this order, the last fastest: neighbours in \"tp\" share a node.");
  out.line("    mesh = init_device_mesh(device, ({}, {}, {}, {}, {}), mesh_dim_names=(\"pp\", \"replicate\", \"shard\", \"cp\", \"tp\"))", p.pp, p.dp / shard, shard, p.cp, p.tp);
  if (p.cp > 1) out.line("    mesh[\"shard\", \"cp\"]._flatten(\"shard_cp\")  # parameters and gradients are divided over both");
  out.line("    return mesh");
}

/// What must hold of the names that apply() is given.
void names(const plan::Plan& p, Lines& out) {
  if (p.tp == 1) return;
  out.line("    # column, row: projections that open and close attention and feed-forward, e.g. (\"attention.wq\", \"feed_forward.w1\"), (\"attention.wo\", \"feed_forward.w2\").");
  if (p.sequence_parallel) {
    out.line("    # norms: e.g. (\"attention_norm\", \"ffn_norm\"); inputs: modules that read their results as the first argument, e.g. (\"attention\", \"feed_forward\").");
    out.line("    # ends: embedding, last norm and head where this stage has them, e.g. (\"tok_embeddings\", \"norm\", \"output\"); None: another stage's.");
  }
}

void tensor(const plan::Plan& p, Lines& out) {
  if (p.tp == 1) return;
  out.line("    for layer in layers:");
  out.line("        style = {{name: ColwiseParallel() for name in column}}");
  if (!p.sequence_parallel) {
    out.line("        style |= {{name: RowwiseParallel() for name in row}}");
    out.line("        parallelize_module(layer, mesh[\"tp\"], style)");
    return;
  }
  out.line("        style |= {{name: RowwiseParallel(output_layouts=Shard(1)) for name in row}}");
  out.line("        style |= {{name: SequenceParallel() for name in norms}}");
  out.line("        style |= {{name: PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)) for name in inputs}}");
  out.line("        parallelize_module(layer, mesh[\"tp\"], style)");
  out.line("    embedding, norm, head = ends");
  out.line("    style = {{}}");
  out.line("    if embedding:");
  out.line("        style[embedding] = RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1))");
  out.line("    if head:");
  out.line("        style |= {{norm: SequenceParallel(), head: ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate())}}");
  out.line("    parallelize_module(model, mesh[\"tp\"], style)");
}

void data(const Job& job, bool sharded, Lines& out) {
  const plan::Plan& p = job.plan;
  const bool cast = job.training.autocast;  // parameters stay as they are, and step_context() casts at use
  if (!sharded) {
    if (!cast) out.line("    model.to({})", torch_type(job.training.compute_dtype));
    const char* over = p.cp > 1 ? "mesh[\"replicate\", \"cp\"]._flatten()" : "mesh[\"replicate\"]";
    if (p.dp * p.cp > 1) out.line("    replicate(model, device_mesh={}, bucket_cap_mb={:.0f})", over, p.buckets.bucket.value() / 1048576.0);
    return;
  }
  const std::string shard = p.cp > 1 ? "\"shard_cp\"" : "\"shard\"";
  out.line("    policy = MixedPrecisionPolicy(param_dtype={}, reduce_dtype={})", torch_type(cast ? job.training.parameter_dtype : job.training.compute_dtype), torch_type(job.training.gradient_dtype));
  out.line("    options = dict(mesh=mesh[{}], mp_policy=policy, reshard_after_forward={})", p.sharding == plan::Sharding::hybrid ? "\"replicate\", " + shard : shard, p.fsdp.reshard_after_forward ? "True" : "False");
  out.line("    units = [list(layers[i : i + {0}]) for i in range(0, len(layers), {0})]", p.fsdp.layers_per_unit);
  out.line("    for unit in units:");
  out.line("        fully_shard(unit[0] if len(unit) == 1 else unit, **options)");
  out.line("    fully_shard(model, **options)");
  if (p.fsdp.prefetch > 1) {
    out.line("    heads = [unit[0] for unit in units]");
    out.line("    for i, head in enumerate(heads):");
    out.line("        head.set_modules_to_forward_prefetch(heads[i + 1 : i + 1 + {}])", p.fsdp.prefetch);
    out.line("        head.set_modules_to_backward_prefetch(heads[max(0, i - {}) : i][::-1])", p.fsdp.prefetch);
  }
}

/// Where the kernels' element type comes from.
void precision(const lower::Training& training, Lines& out) {
  if (!training.autocast || training.compute_dtype == training.parameter_dtype) return;
  out.line("\n\ndef step_context(device=\"cuda\"):");
  out.line("    \"\"\"Around the forward pass and the loss of each micro-batch: parameters are {} and cast at use.\"\"\"", graph::to_text(training.parameter_dtype));
  out.line("    return torch.autocast(device, dtype={})", torch_type(training.compute_dtype));
}

/// Wrappers go around the layers where they stand, so that the model runs them.
void recompute(const plan::Plan& p, Lines& out) {
  const std::string some = p.recompute_layers > 0 ? fmt::format("[:{}]", p.recompute_layers) : "";
  if (p.recompute == plan::Recompute::full) {
    out.line("    for layer in layers{}:", some);
    out.line("        checkpoint(layer)");
  }
  if (p.recompute == plan::Recompute::selective) {
    out.line("    for layer in layers{}:  # attention only: the name of the layer's attention", some);
    out.line("        checkpoint(layer.attention)");
  }
}

}  // namespace

Exported fsdp2(const Job& job) {
  const plan::Plan& p = job.plan;
  Lines out("#");
  const bool sharded = p.sharding == plan::Sharding::fsdp || p.sharding == plan::Sharding::hybrid;
  const int shard = p.sharding == plan::Sharding::hybrid ? p.fsdp.shard_group / p.cp : sharded ? p.dp : 1;
  if (job.adapters) out.gap("low-rank adapters (model.lora): peft.get_peft_model(model, LoraConfig(...)) before the plan is laid over it");
  if (!sharded && !job.training.autocast && job.training.parameter_dtype != job.training.compute_dtype) out.gap(fmt::format("{} master copies of the parameters: the optimizer must keep them", graph::to_text(job.training.parameter_dtype)));
  if (p.sharding == plan::Sharding::zero1) out.gap("ZeRO-1: wrap the optimizer in ZeroRedundancyOptimizer");
  if (p.sharding == plan::Sharding::zero2) out.gap("ZeRO-2: nearest is fully_shard(..., reshard_after_forward=False)");
  if (p.cp > 1) out.gap(fmt::format("context parallel {}: torch.distributed.tensor.experimental.context_parallel(mesh[\"cp\"], ...) around the step", p.cp));
  if (p.ep > 1) out.gap(fmt::format("expert parallel {}", p.ep));
  if (p.offload.optimizer) out.gap("optimizer offload: fully_shard's CPUOffloadPolicy() keeps the parameters in host memory too");
  if (p.offload.activations) out.gap("activation offload: torch.autograd.graph.save_on_cpu(pin_memory=True) around the forward pass of all layers but the last");
  if (p.schedule == plan::Schedule::zero_bubble) out.gap("ZB-H1 with one stage a rank: PyTorch's ScheduleInterleavedZeroBubble (ZB1P) is written, which takes several");
  out.line("# Names of PyTorch 2.11, with which snippets of these forms ran a step.");
  out.line("import torch");
  out.line("from torch.distributed._composable import checkpoint, replicate");
  out.line("from torch.distributed.device_mesh import init_device_mesh");
  out.line("from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard");
  out.line("from torch.distributed.tensor import Replicate, Shard");
  out.line("from torch.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, parallelize_module\n");
  out.line("MICRO_BATCH, MICRO_BATCHES = {}, {}", p.micro_batch, p.micro_batches());
  if (!p.stage_layers.empty()) out.line("LAYERS_OF_CHUNK = [{}]  # in model order; chunk g on pipeline rank g % {}", fmt::join(p.stage_layers, ", "), p.pp);
  mesh(p, shard, out);
  precision(job.training, out);
  out.line("\n\ndef apply(model, layers, mesh{}):", p.tp == 1 ? "" : p.sequence_parallel ? ", column, row, norms, inputs, ends" : ", column, row");
  out.line("    \"\"\"Lays the plan over the model of this rank's pipeline stage, whose layers are given too.\"\"\"");
  names(p, out);
  tensor(p, out);
  recompute(p, out);
  if (job.training.execution != compile::Execution::eager) out.line("    for layer in layers:\n        layer.compile()");
  data(job, sharded, out);
  out.line("    return model");
  if (p.pp > 1) {
    const char* schedule = p.schedule == plan::Schedule::gpipe ? "ScheduleGPipe" : p.schedule == plan::Schedule::interleaved ? "ScheduleInterleaved1F1B" : p.schedule == plan::Schedule::zero_bubble ? "ScheduleInterleavedZeroBubble" : "Schedule1F1B";
    out.line("\n\n# {} chunk{} a stage: from torch.distributed.pipelining import PipelineStage, {}", p.virtual_stages, p.virtual_stages == 1 ? "" : "s", schedule);
    // Schedules of several stages a rank take a list.
    const char* stages = p.virtual_stages > 1 ? "stages" : p.schedule == plan::Schedule::zero_bubble || p.schedule == plan::Schedule::interleaved ? "[stage]" : "stage";
    out.line("# schedule = {}({}, n_microbatches=MICRO_BATCHES, loss_fn=loss_fn)", schedule, stages);
  }
  return out.finish("fsdp2.py");
}

std::vector<Exported> all_formats(const Job& job) { return {torchtitan(job), megatron(job), deepspeed(job), fsdp2(job)}; }

}  // namespace sgsim::exporting

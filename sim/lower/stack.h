#pragma once

#include <cstdint>

#include "sim/core/quantity.h"

namespace sgsim::lower {

/// What frameworks do differently around one and the same plan. The defaults are plain PyTorch 2.x (DDP, FSDP2,
/// torch.distributed.pipelining); a software stack file overrides them, each with its source.
struct Stack {
  /// DDP: size of the bucket that is ready first. PyTorch: kDefaultFirstBucketBytes = 1 MiB
  /// (torch/csrc/distributed/c10d/reducer.hpp).
  Bytes first_bucket = Bytes(1048576.0);
  /// Time of matrix products over the profile's, for software whose library is older than what the profile was measured with.
  double product_time = 1.0;
  /// Time of all host work over the profile's, for software whose interpreter is older than what the profile was measured with.
  double host_time = 1.0;
  /// Generation of the fused attention kernels (FlashAttention 1, 2 or 3; Triton's of 2022 counts as 1); 0: as fast as those
  /// that the profile was measured with. stack_costs.h has the factors and their sources.
  int attention_generation = 0;
  /// DDP divides every gradient by the world size in a kernel of its own before the all-reduce (reducer.cpp,
  /// mark_variable_ready_dense). Megatron-LM scales in the loss or in NCCL instead.
  bool gradient_scale_kernels = true;
  /// DDP without a gradient buffer of its own: gradients are views of the buckets (gradient_as_bucket_view=True). PyTorch's
  /// default is False (torch/nn/parallel/distributed.py): the buckets are a second copy of all gradients, and each is copied
  /// back out of its bucket when the backward pass ends (reducer.cpp, finalize_bucket_dense).
  bool gradient_bucket_view = false;
  /// torch.compile cuts the graph of a DistributedDataParallel module at its buckets (Dynamo's DDPOptimizer, on by default), so that their
  /// reductions can begin before the backward pass ends: every bucket is a compiled piece of its own that the host calls twice. Off
  /// (torch._dynamo.config.optimize_ddp = False): one graph, all gradients at its end.
  bool ddp_cuts_graph = true;
  /// ZeRO-1 reduces gradients by all-reduce (DeepSpeed stage 1 before 0.3.16) instead of reduce-scatter.
  bool zero1_all_reduce = false;
  /// Gathers of updated parameters (ZeRO-1, ZeRO-2) run beside the next forward pass (Megatron --overlap-param-gather).
  bool overlap_parameter_gather = false;
  /// FSDP reduces gradients in every micro-batch (PyTorch default) or only in the last (set_requires_gradient_sync(False)).
  bool fsdp_reduce_each_micro_batch = true;
  /// FSDP's root unit is resharded after forward too (explicit reshard_after_forward=True since PyTorch 2.8).
  bool fsdp_root_reshards = true;
  /// FSDP2's copy-in and copy-out kernels around its collectives (FSDP1 gathers into a flat parameter without them).
  bool fsdp_copy_kernels = true;
  /// Weight-gradient products accumulate into the gradient buffer (Megatron gradient_accumulation_fusion): no
  /// accumulation kernels.
  bool accumulate_in_matmul = false;
  /// torch.compile was applied to each layer apart: what stands before and after the layers runs eagerly.
  bool compile_layers_only = false;
  /// Eager execution with the framework's own fused kernels inside the layers: scale, mask and softmax as one, dropout with
  /// the residual sum (Megatron-LM's JIT-fused bias-dropout-add), the pieces of a norm and of a rotary embedding, the gate of
  /// a gated feed-forward (apex, TransformerEngine, flash-attention). Nothing else is fused, recomputation least.
  bool fused_kernels = false;
  /// Eager execution: cast, log-softmax and loss over the vocabulary are one kernel a pass (flash-attention's and apex's cross
  /// entropy). Where tensor parallelism divides the vocabulary it changes nothing.
  bool fused_cross_entropy = false;
  /// Bytes an element that bringing an operand of an 8-bit product into its type moves, each input and each output gradient
  /// once: TransformerEngine's cast_transpose reads 2 and writes two layouts of 1.
  double float8_cast_bytes = 4.0;
  /// Linear layers inside the layers run in 8-bit floating point, all three products (TransformerEngine, torchao float8);
  /// embedding, head, attention and everything else keep the compute type.
  bool float8_linear = false;
  /// With float8_linear, tensor-parallel gathers are of operands already cast, half as long (TransformerEngine; torchao with one scale a
  /// tensor). torchtitan gathers in 16 bits where a scale is a row's or a column's (parallelize_llama.py, enable_float8_tensorwise_tp).
  bool float8_gather = true;
  /// CUDA graph: collectives are captured in the graph; otherwise they end a captured piece.
  bool nccl_in_graph = true;
  /// CUDA graph: the optimizer is captured too (torch.compile's reduce-overhead mode leaves it outside).
  bool optimizer_in_graph = false;
  /// The host waits for every kernel that it launches (CUDA_LAUNCH_BLOCKING=1): nothing is issued ahead.
  bool launch_blocking = false;
  /// Each micro-batch's gradients stay in the type of the parameters beside the sum in gradient_dtype until the next backward
  /// pass (DeepSpeed runtime/bf16_optimizer.py, update_hp_grads without clear_lp_grads).
  bool keeps_raw_gradients = false;
  /// An optimizer that loops over tensors keeps its step counters on the GPU and reads each (`.item()`; Composer's DecoupledAdamW): the host
  /// waits for all gradients before it issues the update, tensor by tensor.
  bool optimizer_reads_steps = false;
  /// The host waits for the device at the end of every step (`loss.item()`), so that its per-step work is exposed.
  bool synchronize_each_step = false;
  /// The host waits for the device before each micro-batch's forward pass (DeepSpeed's ThroughputTimer.start).
  bool forward_host_sync = false;
  /// Pipeline: the host waits for every exchange before it goes on (Megatron-LM p2p_communication.py: torch.cuda.synchronize
  /// after each). 1F1B exchanges before each pass; interleaved 1F1B once for a forward and a backward pass, before both.
  bool pipeline_host_sync = false;
  /// 1F1B: a stage's next pass waits for its last send (PyTorch Schedule1F1B and Megatron-LM wait for the whole exchange).
  bool pipeline_waits_for_sends = true;
  /// The same for interleaved 1F1B (Megatron-LM without --overlap-p2p-communication), once for a forward and a backward pass.
  bool interleaved_waits_for_sends = false;
  /// Tensor parallel without sequence parallel: a pipeline boundary is sent in tp pieces and gathered on arrival
  /// (Megatron scatter_gather_tensors_in_pipeline).
  bool scatter_gather_boundary = false;
  /// Tensor parallel: embedding, head and cross entropy are divided over the vocabulary (Megatron-LM; torchtitan with loss
  /// parallel); false: every rank holds and computes them whole (DTensor plans that name layers only).
  bool tensor_parallel_vocabulary = true;
  /// Tensor parallel: q, k and v (gate and up) reduce their input gradients one by one (DTensor's ColwiseParallel on each),
  /// not their sum once (Megatron-LM's fused layers; torchtitan's PrepareModuleInput).
  bool tensor_parallel_reduces_each = false;
  /// Tensor parallel: sums of input gradients run beside the weight gradients' products (Megatron-LM,
  /// LinearWithGradAccumulationAndAsyncCommunication).
  bool tensor_parallel_overlap = false;
  /// Tensor parallel with sequence parallel: gathers and reduce-scatters go in pieces beside the product that reads or makes
  /// them (TransformerEngine's user buffers, Megatron-Core --tp-comm-overlap; PyTorch's asynchronous tensor parallel).
  bool tensor_parallel_pipelined = false;

  /// Context parallel: keys and values of all ranks are gathered at once, in both passes (torchtitan's rotate method
  /// "allgather"); false: they go round the ring block by block (Megatron-LM's cp_comm_type "p2p").
  bool context_parallel_all_gather = false;

  bool operator==(const Stack&) const = default;
};

}  // namespace sgsim::lower

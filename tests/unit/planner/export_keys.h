#pragma once

#include <set>
#include <string>

/// Names that the exporters may write: those of the programs that read them, looked up in the sources stated.
namespace export_keys {

/// torchtitan 0.2.0 (PyPI), torchtitan/config/job_config.py: dataclass and field.
inline const std::set<std::string> kTorchtitan = {
    "training.local_batch_size", "training.global_batch_size", "training.seq_len", "training.mixed_precision_param", "training.mixed_precision_reduce",
    "parallelism.data_parallel_replicate_degree", "parallelism.data_parallel_shard_degree", "parallelism.fsdp_reshard_after_forward", "parallelism.tensor_parallel_degree",
    "parallelism.pipeline_parallel_degree", "parallelism.pipeline_parallel_schedule", "parallelism.pipeline_parallel_microbatch_size", "parallelism.module_fqns_per_model_part",
    "parallelism.context_parallel_degree", "parallelism.context_parallel_rotate_method", "parallelism.expert_parallel_degree",
    "activation_checkpoint.mode", "activation_checkpoint.selective_ac_option", "compile.enable"};

/// Megatron-LM, megatron/training/arguments.py of commit 000c4ac (2025): add_argument.
inline const std::set<std::string> kMegatron = {
    "--num-layers", "--hidden-size", "--ffn-hidden-size", "--num-attention-heads", "--group-query-attention", "--num-query-groups", "--seq-length", "--max-position-embeddings", "--num-experts",
    "--untie-embeddings-and-output-weights", "--micro-batch-size", "--global-batch-size", "--recompute-activations", "--recompute-granularity", "--recompute-method", "--recompute-num-layers",
    "--cpu-offloading-num-layers", "--sequence-parallel", "--no-gradient-accumulation-fusion", "--optimizer-cpu-offload", "--optimizer-offload-fraction", "--use-precision-aware-optimizer",
    "--ckpt-format", "--bf16", "--fp16", "--clip-grad", "--tensor-model-parallel-size", "--pipeline-model-parallel-size", "--pipeline-model-parallel-layout",
    "--num-layers-per-virtual-pipeline-stage", "--overlap-grad-reduce", "--ddp-bucket-size", "--overlap-param-gather", "--use-distributed-optimizer", "--use-torch-fsdp2",
    "--torch-fsdp2-no-reshard-after-forward", "--context-parallel-size", "--cp-comm-type", "--expert-model-parallel-size",
    "--moe-token-dispatcher-type"};

/// DeepSpeed 0.18.2 (PyPI), deepspeed/runtime/constants.py, precision_config.py, zero/config.py, zero/offload_config.py. "sgsim" is ours; unknown sections are not read.
inline const std::set<std::string> kDeepspeed = {
    "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "gradient_clipping", "bf16", "bf16.enabled", "fp16", "fp16.enabled", "sgsim", "zero_optimization",
    "zero_optimization.stage", "zero_optimization.overlap_comm", "zero_optimization.reduce_bucket_size", "zero_optimization.zero_hpz_partition_size", "zero_optimization.offload_optimizer",
    "zero_optimization.offload_optimizer.device", "zero_optimization.offload_optimizer.pin_memory"};

/// PyTorch 2.11: what the snippet imports.
inline const std::set<std::string> kTorch = {
    "import torch",
    "from torch.distributed._composable import checkpoint, replicate",
    "from torch.distributed.device_mesh import init_device_mesh",
    "from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard",
    "from torch.distributed.tensor import Replicate, Shard",
    "from torch.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, parallelize_module"};

}  // namespace export_keys

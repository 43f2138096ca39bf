#pragma once

#include <string>
#include <vector>

#include "sim/lower/lower.h"
#include "sim/plan/plan.h"

namespace sgsim::exporting {

/// What a launch script needs to know.
struct Job {
  const plan::ModelShape& model;
  const plan::Plan& plan;
  const lower::Training& training;
  int nodes = 1, gpus_per_node = 1;
  std::string model_name;            // "llama": family, for a comment or a key
  bool adapters = false;             // low-rank adapters alone are trained
};

/// A plan as a framework takes it, and what the framework cannot express.
struct Exported {
  std::string file_name;             // suggested: "torchtitan.toml"
  std::string text;
  std::vector<std::string> gaps;     // also in `text`, as comments where the format has them
};

/// torchtitan job configuration (sections training, parallelism, activation_checkpoint, compile).
[[nodiscard]] Exported torchtitan(const Job& job);
/// Arguments of Megatron-LM's pretrain scripts, one a line.
[[nodiscard]] Exported megatron(const Job& job);
/// DeepSpeed configuration file; tensor and pipeline sizes stand under a key of ours that DeepSpeed ignores.
[[nodiscard]] Exported deepspeed(const Job& job);
/// Python that lays the plan over a model with DeviceMesh, DTensor's parallelize_module and fully_shard.
[[nodiscard]] Exported fsdp2(const Job& job);

[[nodiscard]] std::vector<Exported> all_formats(const Job& job);

}  // namespace sgsim::exporting

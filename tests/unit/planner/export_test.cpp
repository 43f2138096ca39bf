#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "planner/export/export.h"
#include "tests/support/catch.h"
#include "tests/unit/planner/export_keys.h"

using namespace sgsim;

namespace {

const plan::ModelShape kModel{.layers = 80, .hidden = 8192, .heads = 64, .kv_heads = 8, .ffn = 28672, .vocab = 128256, .sequence = 8192};

plan::Plan pipeline_plan() {
  plan::Plan p;
  p.dp = 16;
  p.tp = 8;
  p.pp = 8;
  p.sharding = plan::Sharding::zero1;
  p.sequence_parallel = true;
  p.schedule = plan::Schedule::interleaved;
  p.virtual_stages = 5;
  p.micro_batch = 2;
  p.global_batch = 1024;
  p.recompute = plan::Recompute::selective;
  p.buckets = {.bucket = Bytes(100.0 * 1048576.0), .overlap = true};
  return p;
}

bool has(const exporting::Exported& e, const std::string& line) { return e.text.find(line + "\n") != std::string::npos; }

}  // namespace

TEST_CASE("export: Megatron-LM arguments") {
  const plan::Plan p = pipeline_plan();
  const lower::Training training;
  const auto e = exporting::megatron({.model = kModel, .plan = p, .training = training, .nodes = 128, .gpus_per_node = 8, .model_name = "llama"});
  for (const char* line : {"--tensor-model-parallel-size 8", "--pipeline-model-parallel-size 8", "--sequence-parallel", "--num-layers-per-virtual-pipeline-stage 2", "--micro-batch-size 2", "--global-batch-size 1024",
                           "--use-distributed-optimizer", "--overlap-grad-reduce", "--ddp-bucket-size 26214400", "--recompute-activations", "--num-query-groups 8", "--bf16"}) {
    INFO(line);
    CHECK(has(e, line));
  }
  CHECK(e.gaps.empty());
}

TEST_CASE("export: torchtitan says what it cannot express") {
  const plan::Plan p = pipeline_plan();
  const lower::Training training;
  const auto e = exporting::torchtitan({.model = kModel, .plan = p, .training = training, .nodes = 128, .gpus_per_node = 8, .model_name = "llama"});
  // 1,024 / dp 16 = 64 samples a rank and step, in micro-batches of 2.
  for (const char* line : {"local_batch_size = 64", "global_batch_size = 1024", "data_parallel_replicate_degree = 16", "data_parallel_shard_degree = 1", "tensor_parallel_degree = 8", "pipeline_parallel_degree = 8",
                           "pipeline_parallel_schedule = \"Interleaved1F1B\"", "pipeline_parallel_microbatch_size = 2", "mode = \"selective\""}) {
    INFO(line);
    CHECK(has(e, line));
  }
  // 40 chunks of two layers, the first with the embedding.
  CHECK(has(e, "  [\"tok_embeddings\", \"layers.0\", \"layers.1\"],"));
  CHECK(has(e, "  [\"layers.78\", \"layers.79\", \"norm\", \"output\"],"));
  REQUIRE_FALSE(e.gaps.empty());
  CHECK(e.text.find("# not expressed: torchtitan has no ZeRO-1/2") == 0);
}

TEST_CASE("export: DeepSpeed batch sizes multiply up") {
  plan::Plan p = pipeline_plan();
  p.pp = p.virtual_stages = 1;
  p.schedule = plan::Schedule::one_f_one_b;
  p.dp = 128;
  p.sharding = plan::Sharding::zero2;
  const lower::Training training;
  const auto e = exporting::deepspeed({.model = kModel, .plan = p, .training = training, .nodes = 128, .gpus_per_node = 8, .model_name = "llama"});
  const auto json = nlohmann::json::parse(e.text);
  CHECK(json["train_batch_size"] == json["train_micro_batch_size_per_gpu"].get<int>() * json["gradient_accumulation_steps"].get<int>() * 128);
  CHECK(json["zero_optimization"]["stage"] == 2);
  CHECK(json["zero_optimization"]["reduce_bucket_size"] == 26214400);
}

TEST_CASE("export: the FSDP2 snippet's mesh holds every rank") {
  plan::Plan p = pipeline_plan();
  p.sharding = plan::Sharding::hybrid;
  p.pp = p.virtual_stages = 1;
  p.schedule = plan::Schedule::one_f_one_b;
  p.dp = 128;
  p.fsdp = {.layers_per_unit = 2, .prefetch = 2, .reshard_after_forward = false, .shard_group = 8};
  const lower::Training training;
  const auto e = exporting::fsdp2({.model = kModel, .plan = p, .training = training, .nodes = 128, .gpus_per_node = 8, .model_name = "llama"});
  CHECK(has(e, "    mesh = init_device_mesh(device, (1, 16, 8, 1, 8), mesh_dim_names=(\"pp\", \"replicate\", \"shard\", \"cp\", \"tp\"))"));
  CHECK(e.text.find("reshard_after_forward=False") != std::string::npos);
  CHECK(e.text.find("layers[i : i + 2]") != std::string::npos);
}

TEST_CASE("what cannot train adapters alone says so") {
  const plan::Plan p;
  const lower::Training training;
  exporting::Job job{.model = kModel, .plan = p, .training = training, .nodes = 1, .gpus_per_node = 1, .model_name = "llama"};
  const auto named = [&] {
    int count = 0;
    for (const exporting::Exported& e : exporting::all_formats(job)) {
      for (const std::string& gap : e.gaps) count += gap.starts_with("low-rank adapters") ? 1 : 0;
    }
    return count;
  };
  CHECK(named() == 0);
  job.adapters = true;
  CHECK(named() == 3);  // DeepSpeed's file says nothing of parameters
}

TEST_CASE("export: experts, and what the frameworks refuse of them") {
  plan::ModelShape mixture = kModel;
  mixture.experts = 8;
  plan::Plan p;
  p.dp = 8, p.cp = 2, p.tp = 2, p.ep = 4;
  p.sharding = plan::Sharding::fsdp;
  p.sequence_parallel = true;
  p.micro_batch = 1, p.global_batch = 64;
  const lower::Training training;
  exporting::Job job{.model = mixture, .plan = p, .training = training, .nodes = 4, .gpus_per_node = 8, .model_name = "mixtral"};
  const auto gaps = [](const exporting::Exported& e, const std::string& begin) {
    return std::count_if(e.gaps.begin(), e.gaps.end(), [&](const std::string& gap) { return gap.starts_with(begin); });
  };
  CHECK(gaps(exporting::torchtitan(job), "expert parallel") == 0);
  CHECK(gaps(exporting::megatron(job), "tensor parallel without") == 0);
  CHECK(has(exporting::megatron(job), "--expert-model-parallel-size 4"));
  CHECK(has(exporting::megatron(job), "--moe-token-dispatcher-type alltoall"));
  p.cp = 4, p.dp = 4, p.ep = 2;  // an expert group of fewer ranks than share a sample
  CHECK(gaps(exporting::torchtitan(job), "expert parallel 2 over 4 sharded x 4") == 1);
  p.cp = 1, p.dp = 16, p.ep = 4, p.sharding = plan::Sharding::zero1;  // written as replication: no sharded ranks to take
  p.sequence_parallel = false;
  CHECK(gaps(exporting::torchtitan(job), "expert parallel 4 over 1 sharded x 1") == 1);
  CHECK(gaps(exporting::megatron(job), "tensor parallel without") == 1);
}

TEST_CASE("export: what torchtitan makes of replication beside other dimensions") {
  plan::Plan p;
  p.dp = 4, p.tp = 2, p.micro_batch = 1, p.global_batch = 64;
  p.sharding = plan::Sharding::ddp;
  p.sequence_parallel = true;
  const lower::Training training;
  const exporting::Job job{.model = kModel, .plan = p, .training = training, .nodes = 1, .gpus_per_node = 8, .model_name = "llama"};
  const auto says = [&](const std::string& words) {
    const exporting::Exported e = exporting::torchtitan(job);
    return std::any_of(e.gaps.begin(), e.gaps.end(), [&](const std::string& gap) { return gap.find(words) != std::string::npos; });
  };
  CHECK((says("> 1D parallelism") && says("computes in float32") && !says("context-parallel ranks")));
  p.dp = 1;
  CHECK((!says("> 1D parallelism") && says("computes in float32")));
  p.cp = 2;
  CHECK((!says("> 1D parallelism") && !says("computes in float32") && says("over 2 context-parallel ranks")));
  p.cp = 1, p.dp = 4, p.sharding = plan::Sharding::fsdp;
  CHECK((!says("> 1D parallelism") && !says("computes in float32") && !says("context-parallel ranks")));
  p.tp = 1, p.sharding = plan::Sharding::ddp;
  CHECK((!says("> 1D parallelism") && !says("computes in float32")));
}

TEST_CASE("export: the snippet's precision is the plan's") {
  plan::Plan p;
  p.dp = 8, p.micro_batch = 1, p.global_batch = 64;
  lower::Training training;
  const exporting::Job job{.model = kModel, .plan = p, .training = training, .nodes = 1, .gpus_per_node = 8, .model_name = "llama"};
  CHECK(has(exporting::fsdp2(job), "    return torch.autocast(device, dtype=torch.bfloat16)"));
  CHECK(exporting::fsdp2(job).text.find("model.to(") == std::string::npos);
  training.autocast = false;
  CHECK(has(exporting::fsdp2(job), "    model.to(torch.bfloat16)"));
  CHECK(exporting::fsdp2(job).text.find("autocast") == std::string::npos);
  p.sharding = plan::Sharding::fsdp;
  CHECK(has(exporting::fsdp2(job), "    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)"));
  CHECK(exporting::fsdp2(job).text.find("model.to(") == std::string::npos);
  p.pp = 2, p.schedule = plan::Schedule::zero_bubble;
  CHECK(has(exporting::fsdp2(job), "# schedule = ScheduleInterleavedZeroBubble([stage], n_microbatches=MICRO_BATCHES, loss_fn=loss_fn)"));
}

TEST_CASE("export: a model that is no transformer gets no transformer's arguments") {
  plan::Plan p;
  p.dp = 8, p.micro_batch = 8, p.global_batch = 64;
  const lower::Training training;
  const plan::ModelShape convolutions{.layers = 16};
  const exporting::Job job{.model = convolutions, .plan = p, .training = training, .nodes = 1, .gpus_per_node = 8, .model_name = "resnet50"};
  for (const exporting::Exported& e : {exporting::megatron(job), exporting::torchtitan(job)}) {
    CHECK(e.text.find("# not expressed: the model, which is no transformer") == 0);
    CHECK(std::count(e.text.begin(), e.text.end(), '\n') == 1);
  }
}

TEST_CASE("export: some layers recomputed, offloaded optimizer, context parallel, ZB-H1") {
  plan::Plan p = pipeline_plan();
  p.virtual_stages = 1;
  p.schedule = plan::Schedule::zero_bubble;
  p.cp = 2;
  p.recompute = plan::Recompute::full;
  p.recompute_layers = 5;
  p.offload.optimizer = true;
  const lower::Training training;
  const exporting::Job job{.model = kModel, .plan = p, .training = training, .nodes = 256, .gpus_per_node = 8, .model_name = "llama"};
  const auto megatron = exporting::megatron(job);
  for (const char* line : {"--recompute-granularity full", "--recompute-method block", "--recompute-num-layers 5", "--optimizer-cpu-offload", "--context-parallel-size 2", "--cp-comm-type p2p"}) {
    INFO(line);
    CHECK(has(megatron, line));
  }
  CHECK(megatron.gaps.size() == 1);  // ZB-H1
  const auto titan = exporting::torchtitan(job);
  for (const char* line : {"context_parallel_degree = 2", "context_parallel_rotate_method = \"alltoall\"", "mode = \"selective\"", "selective_ac_option = \"2\"", "pipeline_parallel_schedule = \"1F1B\""}) {
    INFO(line);
    CHECK(has(titan, line));
  }
  const auto deepspeed = nlohmann::json::parse(exporting::deepspeed(job).text);
  CHECK(deepspeed["zero_optimization"]["offload_optimizer"]["device"] == "cpu");
}

TEST_CASE("export: stages of unequal size") {
  plan::Plan p = pipeline_plan();
  p.pp = 3, p.dp = 16, p.virtual_stages = 1, p.schedule = plan::Schedule::one_f_one_b;
  p.stage_layers = {3, 3, 2};
  const plan::ModelShape model{.layers = 8, .hidden = 64, .heads = 8, .kv_heads = 8, .ffn = 128, .vocab = 128, .sequence = 64};
  const lower::Training training;
  const exporting::Job job{.model = model, .plan = p, .training = training, .nodes = 48, .gpus_per_node = 8, .model_name = "llama"};
  CHECK(has(exporting::megatron(job), "--pipeline-model-parallel-layout Et*3|t*3|t*2L"));
  CHECK(has(exporting::torchtitan(job), "  [\"layers.6\", \"layers.7\", \"norm\", \"output\"],"));
  CHECK(has(exporting::fsdp2(job), "LAYERS_OF_CHUNK = [3, 3, 2]  # in model order; chunk g on pipeline rank g % 3"));
  CHECK_FALSE(exporting::deepspeed(job).gaps.empty());
}

namespace {

void check_lines(const exporting::Exported& e, const std::set<std::string>& known) {
  std::istringstream lines(e.text);
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(e.file_name, line);
    if (line.rfind("--", 0) == 0) CHECK(known.count(line.substr(0, line.find(' '))) == 1);
    if (line.rfind("import ", 0) == 0 || line.rfind("from ", 0) == 0) CHECK(known.count(line) == 1);
    if (e.file_name != "torchtitan.toml") continue;
    if (line.size() > 2 && line[0] == '[') section = line.substr(1, line.size() - 2);
    if (const auto equals = line.find(" = "); equals != std::string::npos && line[0] != '#') CHECK(known.count(section + "." + line.substr(0, equals)) == 1);
  }
}

void check_keys(const nlohmann::json& object, const std::string& prefix) {
  for (const auto& [key, value] : object.items()) {
    CAPTURE(prefix, key);
    CHECK(export_keys::kDeepspeed.count(prefix + key) == 1);
    if (value.is_object() && key != "sgsim") check_keys(value, prefix + key + ".");
  }
}

}  // namespace

TEST_CASE("export: every key is one that the program reads") {
  int plans = 0;
  for (const plan::Sharding sharding : {plan::Sharding::ddp, plan::Sharding::zero1, plan::Sharding::zero2, plan::Sharding::fsdp, plan::Sharding::hybrid}) {
    for (const plan::Schedule schedule : {plan::Schedule::gpipe, plan::Schedule::one_f_one_b, plan::Schedule::interleaved, plan::Schedule::zero_bubble}) {
      for (const plan::Recompute recompute : {plan::Recompute::none, plan::Recompute::selective, plan::Recompute::full}) {
        for (const int options : {0, 1, 2, 3}) {
          plan::Plan p = pipeline_plan();
          p.sharding = sharding, p.schedule = schedule, p.recompute = recompute;
          if (schedule != plan::Schedule::interleaved) p.virtual_stages = 1;
          if (options == 1) p.pp = p.virtual_stages = 1, p.schedule = plan::Schedule::one_f_one_b, p.ep = 2;
          p.fsdp = {.layers_per_unit = 1 + options, .prefetch = 1 + options, .reshard_after_forward = options != 2, .shard_group = sharding == plan::Sharding::hybrid ? 8 : 0};
          p.cp = options == 2 ? 2 : 1;
          p.recompute_layers = recompute != plan::Recompute::none && options == 3 ? 1 : 0;
          p.offload = {.optimizer = options > 1, .activations = options == 1};
          lower::Training training;
          training.clip_gradients = options > 0;
          training.stack.overlap_parameter_gather = options > 0;
          training.stack.context_parallel_all_gather = options == 2;
          if (options == 3) training.compute_dtype = graph::DType::float16;
          plan::ModelShape model = kModel;
          model.experts = options == 1 ? 8 : 0;
          const exporting::Job job{.model = model, .plan = p, .training = training, .nodes = 128, .gpus_per_node = 8, .model_name = "llama"};
          check_lines(exporting::torchtitan(job), export_keys::kTorchtitan);
          check_lines(exporting::megatron(job), export_keys::kMegatron);
          check_lines(exporting::fsdp2(job), export_keys::kTorch);
          check_keys(nlohmann::json::parse(exporting::deepspeed(job).text), "");
          ++plans;
        }
      }
    }
  }
  CHECK(plans == 240);
}

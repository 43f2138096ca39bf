#include "tests/property/lower/plan_case.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/cluster/builders.h"
#include "sim/import/aot/aot.h"
#include "sim/import/hf_config/hf_config.h"
#include "sim/plan/legality.h"

namespace sgsim::testing {
namespace {

std::string config_of(Family family, int layers) {
  const std::string llama = R"("hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 1000, "max_position_embeddings": 64)";
  switch (family) {
    case Family::gpt2:
      return fmt::format(R"({{"model_type": "gpt2", "n_embd": 64, "n_head": 8, "n_inner": 128, "n_layer": {}, "vocab_size": 1000, "n_positions": 64, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}})", layers);
    case Family::bert:
      return fmt::format(R"({{"model_type": "bert", "hidden_size": 64, "num_attention_heads": 8, "intermediate_size": 128, "vocab_size": 1000, "max_position_embeddings": 64, "num_hidden_layers": {}}})", layers);
    case Family::mixtral:
      return fmt::format(R"({{"model_type": "mixtral", {}, "num_local_experts": 4, "num_experts_per_tok": 2, "num_hidden_layers": {}}})", llama, layers);
    default: return fmt::format(R"({{"model_type": "llama", {}, "num_hidden_layers": {}}})", llama, layers);
  }
}

PlanModel captured(const char* file, int layers, plan::ModelShape shape) {
  shape.layers = layers;
  return {.shape = shape, .graph = import::stack_layers(import::read_aot_graph(std::string(SGSIM_SOURCE_DIR) + "/traces/graphs/" + file), layers)};
}

PlanModel build(const PlanCase& c) {
  if (c.family == Family::captured_llama) {
    return captured("llama_70b_l1.graph.json.gz", c.layers, {.hidden = 8192, .heads = 64, .kv_heads = 8, .ffn = 28672, .vocab = 128256, .sequence = 4096});
  }
  if (c.family == Family::captured_gpt2) {
    return captured("gpt2_124m_mb1.graph.json.gz", c.layers, {.hidden = 768, .heads = 12, .kv_heads = 12, .ffn = 3072, .vocab = 50304, .sequence = 1024});
  }
  const import::HfModel model = import::parse_hf_config(config_of(c.family, c.layers), "test");
  const import::GenerateOptions options{.micro_batch = c.plan.micro_batch, .sequence = 64, .flash_attention = c.flash, .autocast = c.training.autocast};
  return {.shape = model.shape, .graph = import::generate_graph(model, options)};
}

template <class T>
T one_of(std::initializer_list<T> values) { return *rc::gen::elementOf(std::vector<T>(values)); }
bool flip() { return *rc::gen::arbitrary<bool>(); }

lower::Training draw_training(bool captured) {
  lower::Training t;
  t.autocast = captured || flip();
  t.parameter_dtype = graph::DType::float32;
  t.execution = one_of({compile::Execution::eager, compile::Execution::compiled, compile::Execution::cuda_graph});
  t.optimizer = one_of({lower::Optimizer::adamw, lower::Optimizer::sgd});
  t.optimizer_fused = flip();
  t.clip_gradients = flip();
  lower::Stack& s = t.stack;
  s.zero1_all_reduce = flip();
  s.overlap_parameter_gather = flip();
  s.gradient_scale_kernels = flip();
  s.gradient_bucket_view = flip();
  s.fsdp_reduce_each_micro_batch = flip();
  s.fsdp_root_reshards = flip();
  s.fsdp_copy_kernels = flip();
  s.accumulate_in_matmul = flip();
  s.compile_layers_only = flip();
  s.nccl_in_graph = flip();
  s.optimizer_in_graph = flip();
  s.synchronize_each_step = flip();
  s.optimizer_reads_steps = flip();
  s.pipeline_host_sync = flip();
  s.pipeline_waits_for_sends = flip();
  s.interleaved_waits_for_sends = flip();
  s.scatter_gather_boundary = flip();
  s.tensor_parallel_vocabulary = flip();
  s.tensor_parallel_reduces_each = flip();
  s.tensor_parallel_overlap = flip();
  s.tensor_parallel_pipelined = flip();
  s.context_parallel_all_gather = flip();
  return t;
}

plan::Plan draw_plan(Family family) {
  plan::Plan p;
  p.dp = one_of({1, 2, 4, 8});
  p.tp = one_of({1, 2, 4});
  p.pp = one_of({1, 2, 4});
  p.cp = one_of({1, 1, 2, 4});
  p.ep = family == Family::mixtral ? one_of({1, 2, 4}) : 1;
  p.sharding = one_of({plan::Sharding::ddp, plan::Sharding::zero1, plan::Sharding::zero2, plan::Sharding::fsdp, plan::Sharding::hybrid});
  p.sequence_parallel = p.tp > 1 && flip();
  p.schedule = one_of({plan::Schedule::gpipe, plan::Schedule::one_f_one_b, plan::Schedule::interleaved, plan::Schedule::zero_bubble});
  p.virtual_stages = p.schedule == plan::Schedule::interleaved ? 2 : 1;
  p.micro_batch = one_of({1, 2});
  p.global_batch = p.micro_batch * p.dp * one_of({1, 2, 4, 8});
  p.recompute = one_of({plan::Recompute::none, plan::Recompute::selective, plan::Recompute::full});
  if (p.schedule == plan::Schedule::zero_bubble && p.sharding == plan::Sharding::zero2) p.sharding = plan::Sharding::zero1;
  p.fsdp = {.layers_per_unit = one_of({1, 2, 3}), .prefetch = one_of({0, 1, 2}), .reshard_after_forward = flip(), .shard_group = one_of({0, 1, 2})};
  if (p.schedule == plan::Schedule::zero_bubble) p.fsdp.reshard_after_forward = false;
  p.buckets = {.bucket = Bytes(one_of({0.0, 1e4, 25.0 * 1024 * 1024})), .overlap = flip()};
  return p;
}

}  // namespace

const PlanModel& model_of(const PlanCase& c) {
  static std::map<std::tuple<Family, int, std::int64_t, bool, bool>, PlanModel> built;
  const auto key = std::tuple(c.family, c.layers, c.plan.micro_batch, c.flash, c.training.autocast);
  const auto found = built.find(key);
  return found != built.end() ? found->second : built.emplace(key, build(c)).first->second;
}

cluster::Cluster cluster_of(const plan::Plan& plan) {
  const int world = plan.world();
  cluster::Cluster cluster = *cluster::builtin_cluster("dgx-a100-80gb", world % 8 == 0 ? world / 8 : 1);
  if (world % 8 != 0) cluster.node.gpus = world;
  return cluster;
}

lower::TaskCosts product_costs() {
  lower::TaskCosts costs;
  costs.kernel = [](const graph::Work& work) {
    cost::Estimate e;
    if (!std::holds_alternative<graph::MemoryBound>(work)) e.flops = graph::flops_of(work);
    e.bytes = graph::bytes_of(work);
    e.time = Seconds(1e-6) + e.flops / FlopsPerSecond(1e14) + e.bytes / BytesPerSecond(1e12);
    return e;
  };
  costs.collective = [](graph::CollectiveOp, Bytes bytes, const cluster::GroupShape&) {
    return cost::TransferEstimate{.latency = Seconds(5e-6), .wire_bytes = bytes, .bandwidth = BytesPerSecond(1e11), .algorithm = "ring", .protocol = "Simple"};
  };
  costs.interference = [](bool) { return cost::Interference{}; };
  costs.launch = costs.eager = {.host_per_operator = Seconds(1e-6), .host_per_kernel = Seconds(1e-6), .host_per_collective = Seconds(2e-6), .host_per_graph = Seconds(5e-6),
                                .host_per_step = Seconds(1e-5), .launch_latency = Seconds(2e-6), .device_gap = Seconds(5e-7), .host_backward_extra = Seconds(1e-6)};
  return costs;
}

PlanCase draw_case(bool is_captured) {
  PlanCase c;
  c.family = is_captured ? one_of({Family::captured_llama, Family::captured_gpt2}) : one_of({Family::llama, Family::gpt2, Family::bert, Family::mixtral});
  c.layers = c.family == Family::captured_gpt2 ? 12 : is_captured ? 4 : one_of({4, 5, 8});
  c.flash = is_captured || flip();
  c.plan = draw_plan(c.family);
  if (is_captured) {
    c.plan.global_batch /= c.plan.micro_batch;
    c.plan.micro_batch = 1;
  }
  c.training = draw_training(is_captured);
  RC_PRE(plan::check_plan(model_of(c).shape, c.plan, cluster_of(c.plan)).empty());
  RC_PRE(c.plan.cp == 1 || c.flash);
  return c;
}

std::string to_text(const PlanCase& c) {
  static constexpr const char* kFamilies[] = {"llama", "gpt2", "bert", "mixtral", "captured llama", "captured gpt2"};
  static constexpr const char* kSharding[] = {"ddp", "zero1", "zero2", "fsdp", "hybrid"};
  static constexpr const char* kSchedules[] = {"gpipe", "1f1b", "interleaved", "zero bubble"};
  static constexpr const char* kRecompute[] = {"none", "selective", "full"};
  static constexpr const char* kExecution[] = {"eager", "compiled", "cuda graph"};
  const plan::Plan& p = c.plan;
  const lower::Stack& s = c.training.stack;
  return fmt::format(
      "{} layers {} flash {} | dp {} tp {} pp {} cp {} ep {} {} sp {} {} v {} micro {} global {} recompute {} fsdp {} {} {} {} bucket {} {} | {} autocast {} optimizer {} fused {} "
      "clip {} | zero1ar {} opg {} scale {} view {} each {} root {} copy {} aim {} clo {} nig {} oig {} sync {} phs {} wait {} iwait {} sgb {} vocab {} each {} overlap {} pipelined {}",
      kFamilies[static_cast<int>(c.family)], c.layers, c.flash, p.dp, p.tp, p.pp, p.cp, p.ep, kSharding[static_cast<int>(p.sharding)], p.sequence_parallel,
      kSchedules[static_cast<int>(p.schedule)], p.virtual_stages, p.micro_batch, p.global_batch, kRecompute[static_cast<int>(p.recompute)], p.fsdp.layers_per_unit, p.fsdp.prefetch,
      p.fsdp.reshard_after_forward, p.fsdp.shard_group, p.buckets.bucket.value(), p.buckets.overlap, kExecution[static_cast<int>(c.training.execution)], c.training.autocast,
      static_cast<int>(c.training.optimizer), c.training.optimizer_fused, c.training.clip_gradients, s.zero1_all_reduce, s.overlap_parameter_gather, s.gradient_scale_kernels,
      s.gradient_bucket_view, s.fsdp_reduce_each_micro_batch, s.fsdp_root_reshards, s.fsdp_copy_kernels, s.accumulate_in_matmul, s.compile_layers_only, s.nccl_in_graph, s.optimizer_in_graph,
      s.synchronize_each_step, s.pipeline_host_sync, s.pipeline_waits_for_sends, s.interleaved_waits_for_sends, s.scatter_gather_boundary, s.tensor_parallel_vocabulary,
      s.tensor_parallel_reduces_each, s.tensor_parallel_overlap, s.tensor_parallel_pipelined);
}

}  // namespace sgsim::testing

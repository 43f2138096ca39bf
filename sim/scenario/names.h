#pragma once

#include <string_view>
#include <utility>

#include "sim/scenario/scenario.h"

/// The words that scenario and cluster files use for the enumerations.
namespace sgsim::scenario::words {

using std::pair;
using std::string_view;

inline constexpr pair<string_view, plan::Sharding> kSharding[] = {
    {"ddp", plan::Sharding::ddp}, {"zero1", plan::Sharding::zero1}, {"zero2", plan::Sharding::zero2},
    {"fsdp", plan::Sharding::fsdp}, {"hybrid", plan::Sharding::hybrid}};
inline constexpr pair<string_view, plan::Schedule> kSchedule[] = {
    {"gpipe", plan::Schedule::gpipe}, {"1f1b", plan::Schedule::one_f_one_b},
    {"interleaved", plan::Schedule::interleaved}, {"zb_h1", plan::Schedule::zero_bubble}};
inline constexpr pair<string_view, plan::Recompute> kRecompute[] = {
    {"none", plan::Recompute::none}, {"selective", plan::Recompute::selective},
    {"full", plan::Recompute::full}};
inline constexpr pair<string_view, lower::Optimizer> kOptimizer[] = {
    {"none", lower::Optimizer::none}, {"sgd", lower::Optimizer::sgd},
    {"adamw", lower::Optimizer::adamw}};
inline constexpr pair<string_view, compile::Execution> kExecution[] = {
    {"eager", compile::Execution::eager}, {"compiled", compile::Execution::compiled},
    {"cuda_graph", compile::Execution::cuda_graph}};
inline constexpr pair<string_view, AttentionStyle> kAttention[] = {
    {"flash", AttentionStyle::flash}, {"flash-repeated", AttentionStyle::flash_repeated}, {"unfused", AttentionStyle::unfused}};
inline constexpr pair<string_view, EngineName> kEngine[] = {
    {"fast", EngineName::fast}, {"simgrid", EngineName::simgrid}};
inline constexpr pair<string_view, cluster::IntraNode> kIntraNode[] = {
    {"nvswitch", cluster::IntraNode::nvswitch},
    {"nvlink_pairs", cluster::IntraNode::nvlink_pairs}, {"nvlink_mesh", cluster::IntraNode::nvlink_mesh},
    {"pcie", cluster::IntraNode::pcie}};
inline constexpr pair<string_view, cluster::FabricKind> kFabric[] = {
    {"none", cluster::FabricKind::none},
    {"rail_optimized", cluster::FabricKind::rail_optimized}, {"fat_tree", cluster::FabricKind::fat_tree}};
inline constexpr pair<string_view, cluster::FaultKind> kFault[] = {
    {"slow_gpu", cluster::FaultKind::slow_gpu},
    {"slow_nic", cluster::FaultKind::slow_nic}, {"failed_nic", cluster::FaultKind::failed_nic},
    {"slow_nvlink", cluster::FaultKind::slow_nvlink}};
/// Types of computation, parameters and gradients.
inline constexpr pair<string_view, graph::DType> kFloat[] = {
    {"float32", graph::DType::float32}, {"bfloat16", graph::DType::bfloat16},
    {"float16", graph::DType::float16}};

/// Every switch of lower::Stack; a test fails when one is missing here.
inline constexpr pair<string_view, bool lower::Stack::*> kStackSwitches[] = {
    {"gradient_scale_kernels", &lower::Stack::gradient_scale_kernels},
    {"gradient_bucket_view", &lower::Stack::gradient_bucket_view},
    {"ddp_cuts_graph", &lower::Stack::ddp_cuts_graph},
    {"zero1_all_reduce", &lower::Stack::zero1_all_reduce},
    {"overlap_parameter_gather", &lower::Stack::overlap_parameter_gather},
    {"fsdp_reduce_each_micro_batch", &lower::Stack::fsdp_reduce_each_micro_batch},
    {"fsdp_root_reshards", &lower::Stack::fsdp_root_reshards},
    {"fsdp_copy_kernels", &lower::Stack::fsdp_copy_kernels},
    {"accumulate_in_matmul", &lower::Stack::accumulate_in_matmul},
    {"compile_layers_only", &lower::Stack::compile_layers_only},
    {"fused_kernels", &lower::Stack::fused_kernels},
    {"fused_cross_entropy", &lower::Stack::fused_cross_entropy},
    {"float8_linear", &lower::Stack::float8_linear},
    {"nccl_in_graph", &lower::Stack::nccl_in_graph},
    {"optimizer_in_graph", &lower::Stack::optimizer_in_graph},
    {"launch_blocking", &lower::Stack::launch_blocking},
    {"keeps_raw_gradients", &lower::Stack::keeps_raw_gradients},
    {"optimizer_reads_steps", &lower::Stack::optimizer_reads_steps},
    {"synchronize_each_step", &lower::Stack::synchronize_each_step},
    {"forward_host_sync", &lower::Stack::forward_host_sync},
    {"pipeline_host_sync", &lower::Stack::pipeline_host_sync},
    {"pipeline_waits_for_sends", &lower::Stack::pipeline_waits_for_sends},
    {"interleaved_waits_for_sends", &lower::Stack::interleaved_waits_for_sends},
    {"scatter_gather_boundary", &lower::Stack::scatter_gather_boundary},
    {"tensor_parallel_vocabulary", &lower::Stack::tensor_parallel_vocabulary},
    {"tensor_parallel_reduces_each", &lower::Stack::tensor_parallel_reduces_each},
    {"float8_gather", &lower::Stack::float8_gather},
    {"tensor_parallel_overlap", &lower::Stack::tensor_parallel_overlap},
    {"tensor_parallel_pipelined", &lower::Stack::tensor_parallel_pipelined},
    {"context_parallel_all_gather", &lower::Stack::context_parallel_all_gather}};

}  // namespace sgsim::scenario::words

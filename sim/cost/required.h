#pragma once

#include <array>
#include <string_view>

namespace sgsim::cost {

/// Names that every profile has in `times`: the launch models (cost.h, LaunchModel) of the three execution modes.
inline constexpr std::array<std::string_view, 24> kRequiredTimes = {
    "launch.eager.host_per_operator",      "launch.eager.host_per_kernel",      "launch.eager.host_per_collective",
    "launch.eager.host_per_graph",         "launch.eager.host_per_step",        "launch.eager.launch_latency",
    "launch.eager.device_gap",             "launch.eager.host_backward_extra",  "launch.compiled.host_per_operator",
    "launch.compiled.host_per_kernel",     "launch.compiled.host_per_collective", "launch.compiled.host_per_graph",
    "launch.compiled.host_per_step",       "launch.compiled.launch_latency",    "launch.compiled.device_gap",
    "launch.compiled.host_backward_extra", "launch.cuda_graph.host_per_operator", "launch.cuda_graph.host_per_kernel",
    "launch.cuda_graph.host_per_collective", "launch.cuda_graph.host_per_graph", "launch.cuda_graph.host_per_step",
    "launch.cuda_graph.launch_latency",    "launch.cuda_graph.device_gap",      "launch.cuda_graph.host_backward_extra"};

/// Names that every profile has in `factors`.
inline constexpr std::array<std::string_view, 8> kRequiredFactors = {
    "interference.intra_node.compute", "interference.intra_node.transfer", "interference.inter_node.compute",
    "interference.inter_node.transfer", "attention.helper_memory_efficiency", "collective.tree_efficiency",
    "collective.sigma", "collective.sigma_network"};

/// Names that every profile has in `rates`.
inline constexpr std::array<std::string_view, 2> kRequiredRates = {"collective.local", "nvlink.bandwidth"};

}  // namespace sgsim::cost

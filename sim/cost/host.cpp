#include <string>

#include "sim/core/error.h"
#include "sim/cost/cost.h"
#include "sim/cost/profile.h"

namespace sgsim::cost {
namespace {

constexpr std::string_view mode_name(LaunchMode mode) {
  switch (mode) {
    case LaunchMode::eager: return "eager";
    case LaunchMode::compiled: return "compiled";
    case LaunchMode::cuda_graph: return "cuda_graph";
  }
  return "";
}

}  // namespace

LaunchModel launch_model(const Profile& profile, LaunchMode mode) {
  const std::string prefix = "launch." + std::string(mode_name(mode)) + ".";
  const auto time = [&](const char* name) {
    const auto found = profile.times.find(prefix + name);
    SGSIM_CHECK(found != profile.times.end(), "the profile has no " + prefix + name);
    return found->second.value;
  };
  return {.host_per_operator = time("host_per_operator"), .host_per_kernel = time("host_per_kernel"), .host_per_collective = time("host_per_collective"),
          .host_per_graph = time("host_per_graph"), .host_per_step = time("host_per_step"), .launch_latency = time("launch_latency"),
          .device_gap = time("device_gap"), .host_backward_extra = time("host_backward_extra")};
}

Interference interference(const Profile& profile, bool inter_node) {
  const std::string prefix = inter_node ? "interference.inter_node." : "interference.intra_node.";
  const auto factor = [&](const char* name) {
    const auto found = profile.factors.find(prefix + name);
    SGSIM_CHECK(found != profile.factors.end(), "the profile has no " + prefix + name);
    return found->second.value;
  };
  return {.compute_slowdown = factor("compute"), .transfer_slowdown = factor("transfer")};
}

}  // namespace sgsim::cost

#include "sim/lower/data_parallel/offload.h"

#include <algorithm>

namespace sgsim::lower {

HostLink host_link_of(const cluster::Node& node) {
  return {.rate = node.pcie.bandwidth * kHostCopyEfficiency, .latency = node.pcie.latency, .updates = kHostUpdates / std::max(1, node.gpus)};
}

Seconds host_copy_time(const HostLink& link, Bytes bytes) { return bytes.value() > 0.0 ? link.latency + bytes / link.rate : Seconds(); }

std::vector<Action> host_optimizer_actions(const OptimizerShare& share, Optimizer optimizer, const HostLink& link, Token gradients, Token parameters) {
  std::vector<Action> actions;
  if (optimizer == Optimizer::none || share.elements <= 0.0) return actions;
  actions.push_back(HostCopy{.name = "gradients to host", .stream = "to host", .device = host_copy_time(link, Bytes(share.elements * graph::size_of(share.types.gradient))),
                             .phase = graph::Phase::optimizer, .produces = gradients});
  actions.push_back(HostWork{.name = "update on the host", .host = Seconds(share.elements / link.updates), .waits = {gradients}});
  actions.push_back(HostCopy{.name = "parameters to device", .stream = "to device", .device = host_copy_time(link, Bytes(share.elements * graph::size_of(share.types.parameter))),
                             .phase = graph::Phase::optimizer, .produces = parameters});
  actions.push_back(Wait{parameters});
  return actions;
}

std::vector<OffloadedPosition> offloaded_positions(const SegmentedModel& model, const Chunk& chunk) {
  std::vector<OffloadedPosition> layers;
  for (std::size_t p = 0; p < chunk.positions.size(); ++p) {
    if (chunk.positions[p].layer >= 0) layers.push_back({.position = p, .saved = model.segments[chunk.positions[p].segment].saved, .label = chunk.positions[p].label});
  }
  if (!layers.empty()) layers.pop_back();
  return layers;
}

void add_activation_offload(ChunkActions& actions, std::size_t positions, const std::vector<OffloadedPosition>& offloaded, const HostLink& link) {
  if (offloaded.empty()) return;
  actions.positions.resize(std::max(actions.positions.size(), positions));
  for (const OffloadedPosition& layer : offloaded) {
    const MemoryChange gone{.memory_class = MemoryClass::activations, .delta = -layer.saved, .transient = false, .label = "saved activations", .of = layer.label};
    MemoryChange again = gone;
    again.delta = layer.saved;
    PositionActions& own = actions.positions[layer.position];
    PositionActions& next = actions.positions[layer.position + 1];
    const Seconds time = host_copy_time(link, layer.saved);
    own.after_forward.push_back(HostCopy{.name = "activations to host", .stream = "to host", .device = time, .phase = graph::Phase::forward, .produces = layer.tokens.out});
    next.after_forward.insert(next.after_forward.begin(), {Action(Wait{layer.tokens.out}), Action(gone)});
    next.before_backward.push_back(again);
    next.before_backward.push_back(HostCopy{.name = "activations to device", .stream = "to device", .device = time, .phase = graph::Phase::backward, .produces = layer.tokens.back});
    own.before_backward.insert(own.before_backward.begin(), Action(Wait{layer.tokens.back}));
  }
}

}  // namespace sgsim::lower

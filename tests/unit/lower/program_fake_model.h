#pragma once

#include <string>
#include <vector>

#include "sim/lower/lower_segmented.h"

namespace sgsim::lower::fake {

/// One kernel that takes `us` microseconds in the fake cost model: time stands in MemoryBound::read.
inline compile::Kernel kernel(const std::string& name, double us, graph::Phase phase = graph::Phase::forward) {
  compile::Kernel k;
  k.name = name;
  k.work = graph::MemoryBound{.kind = graph::MemoryKind::pointwise, .read = Bytes(us), .written = Bytes(), .flops = Flops()};
  k.phase = phase;
  return k;
}
inline compile::Kernel collective(const std::string& group, graph::CollectiveOp op, double bytes, graph::Phase phase = graph::Phase::forward) {
  compile::Kernel k;
  k.name = "collective";
  k.is_communication = true;
  k.communication = {.op = op, .group = group, .bytes = Bytes(bytes)};
  k.phase = phase;
  return k;
}

struct LayerSizes {
  double forward_us = 10.0, backward_us = 20.0;
  std::int64_t parameters = 1000;
  double boundary = 1000.0, saved = 100.0;
};

inline ModelSegment segment(const std::string& name, SegmentRole role, const LayerSizes& s) {
  ModelSegment seg;
  seg.name = name;
  seg.role = role;
  if (s.forward_us > 0.0) seg.forward = {kernel(name + " fwd", s.forward_us)};
  if (s.backward_us > 0.0) seg.backward = {kernel(name + " bwd", s.backward_us, graph::Phase::backward)};
  if (s.parameters > 0) seg.parameters = {{.name = name + ".weight", .elements = s.parameters, .dtype = graph::DType::float32, .tensor_sharded = true, .expert = false, .trained = true, .used_at = 0, .ready_at = 0}};
  seg.boundary = Bytes(s.boundary);
  seg.saved = Bytes(s.saved);
  return seg;
}

/// `layers` equal layers, nothing before or after them unless given.
inline SegmentedModel chain(int layers, const LayerSizes& layer = {}, const LayerSizes* before = nullptr, const LayerSizes* after = nullptr) {
  SegmentedModel m;
  m.segments.push_back(segment("layer", SegmentRole::layer, layer));
  if (before != nullptr) {
    m.segments.push_back(segment("before", SegmentRole::before, *before));
    m.order.push_back(1);
  }
  for (int i = 0; i < layers; ++i) m.order.push_back(0);
  if (after != nullptr) {
    m.segments.push_back(segment("after", SegmentRole::after, *after));
    m.order.push_back(static_cast<std::uint32_t>(m.segments.size() - 1));
  }
  m.modules = {""};
  m.model_flops = Flops(1e6);
  return m;
}

/// Kernels take their read bytes in microseconds; a transfer takes its bytes in nanoseconds; optimizer, copy and other side
/// kernels (anything with written bytes) take nothing; launching is free.
inline TaskCosts costs() {
  TaskCosts c;
  c.kernel = [](const graph::Work& work) {
    cost::Estimate e;
    const auto& m = std::get<graph::MemoryBound>(work);
    e.time = m.written.value() > 0.0 ? Seconds() : Seconds(m.read.value() * 1e-6);
    e.flops = m.flops;
    return e;
  };
  c.collective = [](graph::CollectiveOp, Bytes bytes, const cluster::GroupShape& group) {
    cost::TransferEstimate t;
    t.wire_bytes = bytes;
    t.bandwidth = BytesPerSecond(1e9);
    t.inter_node = group.nodes > 1;
    return t;
  };
  c.interference = [](bool) { return cost::Interference{}; };
  return c;
}

inline cluster::Cluster gpus(int nodes, int per_node) {
  cluster::Cluster c;
  c.nodes = nodes;
  c.node.gpus = per_node;
  return c;
}

inline ShapeOf shapes(const cluster::Cluster& c) {
  return [c](std::span<const GpuId> members, double concurrent) {
    cluster::GroupShape s;
    s.ranks = static_cast<int>(members.size());
    for (const GpuId g : members) s.nodes = std::max(s.nodes, 1 + std::abs(c.node_of(g) - c.node_of(members[0])));
    s.nics_per_node = concurrent;
    return s;
  };
}

/// A plan and training settings in which nothing happens but what a test asks for.
inline Training bare() {
  Training t;
  t.optimizer = Optimizer::none;
  t.execution = compile::Execution::compiled;
  t.stack.gradient_scale_kernels = false;
  t.stack.fsdp_copy_kernels = true;
  return t;
}

inline Lowered lowered(const SegmentedModel& m, const plan::Plan& p, const Training& t, const cluster::Cluster& c, const TaskCosts& k) {
  return lower_segmented(m, p, t, c, shapes(c), k);
}

}  // namespace sgsim::lower::fake

#include "sim/lower/data_parallel/optimizer.h"

#include <algorithm>
#include <cmath>

#include "sim/lower/data_parallel/multi_tensor.h"

namespace sgsim::lower {
namespace {

// Elementwise kernels of _single_tensor_adamw for one parameter: step += 1; param *= 1 - lr wd; exp_avg.lerp_(grad);
// exp_avg_sq.mul_(), .addcmul_(grad, grad); sqrt, div, add eps; addcdiv_ (PyTorch 2.x, capturable off). The step counter lives
// on the host. (tensors read, tensors written) of each.
struct LoopKernel {
  const char* name;
  int read, written;
};
constexpr LoopKernel kAdamwLoop[] = {{"adamw decay", 1, 1},    {"adamw lerp", 2, 1}, {"adamw mul", 1, 1}, {"adamw addcmul", 3, 1},
                                     {"adamw sqrt", 1, 1},     {"adamw div", 1, 1},  {"adamw add", 1, 1}, {"adamw addcdiv", 3, 1}};

SideKernels optimizer_kernels(const char* name, graph::MemoryBound work, int launches, int operators) {
  return {.name = name, .work = work, .launches = launches, .operators = operators, .phase = graph::Phase::optimizer};
}

graph::MemoryBound optimizer_work(double read, double written, double flops) {
  return {.kind = graph::MemoryKind::optimizer, .read = Bytes(read), .written = Bytes(written), .flops = Flops(flops)};
}

// How much longer fused AdamW takes than its bytes at the optimizer's curve, which is of 4-byte elements in tensors of up to 2^25: 2-byte
// elements 1.29 (111 us a launch of 294 MB); larger tensors up to 1.27 (216 us of 171) and 1.58 (175 us of 111) at 2^28, where a launch
// reaches over more pages. Measured: H200, docs/records/h200-pytorch-2026-11-30.
double fused_adamw_reach(double elements_each, double kept) {
  const double large = std::clamp((std::log2(std::max(1.0, elements_each)) - 25.0) / 3.0, 0.0, 1.0);
  return kept > 2.0 ? 1.0 + 0.27 * large : 1.29 * (1.0 + 0.58 * large);
}

std::vector<Action> loop_adamw(const OptimizerShare& share) {
  const double each = share.elements / share.tensors * graph::size_of(share.types.kept);
  std::vector<Action> actions;
  for (const LoopKernel& k : kAdamwLoop) actions.push_back(optimizer_kernels(k.name, {.kind = graph::MemoryKind::pointwise, .read = Bytes(each * k.read), .written = Bytes(each * k.written), .flops = Flops()}, share.tensors, share.tensors));
  return actions;
}

}  // namespace

std::vector<Action> optimizer_actions(const OptimizerShare& share, Optimizer optimizer, bool fused) {
  std::vector<Action> actions;
  if (optimizer == Optimizer::none || share.elements <= 0.0 || share.tensors == 0) return actions;
  const double kept = graph::size_of(share.types.kept), gradient = graph::size_of(share.types.gradient);
  const double moments = optimizer == Optimizer::adamw ? 2.0 * kept : 0.0;
  if (!fused) {
    if (optimizer == Optimizer::adamw) {
      actions = loop_adamw(share);
    } else {
      const double each = share.elements / share.tensors;
      actions.push_back(optimizer_kernels("sgd", optimizer_work(each * (kept + gradient), each * kept, 2.0 * each), share.tensors, share.tensors));
    }
  } else {
    // Lists: parameter, gradient, two moments (adamw: at most 36 tensors a launch); parameter and gradient (sgd: 64).
    const int launches = multi_tensor_launches(share.elements, share.tensors, optimizer == Optimizer::adamw ? 36 : 64);
    const double each = share.elements / launches;
    if (optimizer == Optimizer::adamw) {
      const int steps = multi_tensor_launches(share.tensors, share.tensors, 110);
      actions.push_back(optimizer_kernels("step counters", optimizer_work(8.0 * share.tensors / steps, 4.0 * share.tensors / steps, 0.0), steps, 1));
    }
    const double reach = optimizer == Optimizer::adamw ? fused_adamw_reach(share.elements / share.tensors, kept) : 1.0;
    const char* name = optimizer == Optimizer::adamw ? "fused_adamw" : "fused_sgd";
    actions.push_back(optimizer_kernels(name, optimizer_work(reach * each * (kept + gradient + moments), reach * each * (kept + moments), 16.0 * each), launches, 1));
  }
  if (share.types.master) {
    const int launches = multi_tensor_launches(share.elements, share.tensors, 64);
    const double each = share.elements / launches;
    actions.push_back(optimizer_kernels("copy master to parameters", {.kind = graph::MemoryKind::copy, .read = Bytes(each * kept), .written = Bytes(each * graph::size_of(share.types.parameter)), .flops = Flops()}, launches, 1));
  }
  return actions;
}

std::vector<Action> read_step_counters(const OptimizerShare& share) {
  if (share.elements <= 0.0 || share.tensors == 0) return {};
  const graph::MemoryBound counter{.kind = graph::MemoryKind::copy, .read = Bytes(4.0), .written = Bytes(4.0), .flops = Flops()};
  return {HostWork{.name = "first step counter", .host = {}, .after_compute = true, .waits = {}}, optimizer_kernels("count steps", counter, share.tensors, share.tensors),
          optimizer_kernels("read step counters", counter, share.tensors, share.tensors)};
}

std::vector<Action> clip_actions(const OptimizerShare& share, const std::vector<Slot>& groups, Token summed) {
  std::vector<Action> actions;
  if (share.elements <= 0.0 || share.tensors == 0) return actions;
  const double gradient = graph::size_of(share.types.gradient);
  const int launches = multi_tensor_launches(share.elements, share.tensors, 110);
  const double each = share.elements / launches * gradient;
  actions.push_back(optimizer_kernels("gradient norms", {.kind = graph::MemoryKind::reduction, .read = Bytes(each), .written = Bytes(4.0 * share.tensors / launches), .flops = Flops(2.0 * share.elements / launches)}, launches, 1));
  actions.push_back(optimizer_kernels("total norm", {.kind = graph::MemoryKind::reduction, .read = Bytes(4.0 * share.tensors), .written = Bytes(4.0), .flops = Flops()}, 2, 2));
  for (const Slot slot : groups) {
    actions.push_back(Communicate{.slot = slot, .op = graph::CollectiveOp::all_reduce, .payload = Bytes(4.0), .name = "all_reduce norm", .stream = "norm", .produces = summed});
  }
  if (!groups.empty()) actions.push_back(Wait{summed});
  actions.push_back(optimizer_kernels("clip gradients", {.kind = graph::MemoryKind::pointwise, .read = Bytes(each), .written = Bytes(each), .flops = Flops(share.elements / launches)}, launches, 4));
  return actions;
}

double optimizer_state_bytes(const StateTypes& types, Optimizer optimizer) {
  const double kept = graph::size_of(types.kept);
  return (optimizer == Optimizer::adamw ? 2.0 * kept : 0.0) + (types.master ? kept : 0.0);
}

}  // namespace sgsim::lower

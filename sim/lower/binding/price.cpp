#include "sim/lower/binding/price.h"

#include <algorithm>
#include <string>
#include <vector>

#include "sim/core/stop.h"
#include "sim/lower/program/run_cost.h"

namespace sgsim::lower {
namespace {

// Communicators whose traffic runs beside computation; tensor- and expert-parallel traffic mostly stands alone.
bool overlaps(Slot slot) { return slot != Slot::tensor && slot != Slot::expert; }

bool is_communication(TaskKind kind) { return kind == TaskKind::collective || kind == TaskKind::send || kind == TaskKind::receive; }

// Kernels and priced collectives of a run in one cost (max, +).
RunCost composed(const Program& program, const Segment& segment) {
  RunCost cost;
  for (std::uint32_t p = segment.first_part; p < segment.first_part + segment.part_count; ++p) {
    const Part& part = program.parts[p];
    cost = then(cost, {.device = part.device, .issue_to_end = part.issue_to_end, .host = part.host});
  }
  return cost;
}

void price_runs(Program& program, const std::vector<Seconds>& times) {
  if (program.parts.empty()) return;
  for (Part& part : program.parts) {
    if (!part.is_collective()) continue;
    part.device += times[part.comm];
    part.issue_to_end += times[part.comm];
  }
  std::vector<RunCost> costs;
  for (Segment& segment : program.segments) {
    costs.push_back(composed(program, segment));
    for (std::uint32_t p = segment.first_part; p < segment.first_part + segment.part_count; ++p) {
      if (program.parts[p].is_collective()) segment.communication += times[program.parts[p].comm];
    }
  }
  for (Task& task : program.tasks) {
    if (program.segments[task.segment].part_count == 0) continue;
    const RunCost& cost = costs[task.segment];
    task.device = cost.device;
    task.issue_to_end = cost.issue_to_end;
    task.host = cost.host;
  }
}

struct KernelSeconds {
  double product = 0.0, attention = 0.0, memory_bound = 0.0;
};

/// Device time of a rank's passes by what kernels are bound by; the optimizer left out, beside which little is sent.
KernelSeconds pass_seconds(const Program& program) {
  std::vector<KernelSeconds> by_segment(program.segments.size());
  for (std::size_t s = 0; s < program.segments.size(); ++s) {
    const Segment& segment = program.segments[s];
    if (segment.phase == static_cast<std::uint8_t>(graph::Phase::optimizer)) continue;
    for (std::uint32_t k = segment.first_kernel; k < segment.first_kernel + segment.kernel_count; ++k) {
      const KernelCost& kernel = program.kernels[k];
      const bool attention = program.names[kernel.name.value].find("attention") != std::string::npos;
      double& sum = kernel.estimate.bound != cost::Bound::compute ? by_segment[s].memory_bound : attention ? by_segment[s].attention : by_segment[s].product;
      sum += kernel.estimate.time.value();
    }
  }
  KernelSeconds total;
  for (const Task& task : program.tasks) {
    if (task.kind != TaskKind::compute) continue;
    total.product += by_segment[task.segment].product;
    total.attention += by_segment[task.segment].attention;
    total.memory_bound += by_segment[task.segment].memory_bound;
  }
  return total;
}

/// One pair of factors for a program: kernels take the mean of their classes' times; a transfer advances at the mean of the
/// rates that it has beside each class.
cost::Interference mean_interference(const ClassInterference& beside, const KernelSeconds& seconds) {
  const double total = seconds.product + seconds.attention + seconds.memory_bound;
  if (total <= 0.0) return {};
  const double compute = seconds.product * beside.product.compute + seconds.attention * beside.attention.compute + seconds.memory_bound * beside.memory_bound.compute;
  // Weighted by how long the kernels take there, which is what the transfer sees of them.
  const double rate = seconds.product * beside.product.compute / beside.product.transfer + seconds.attention * beside.attention.compute / beside.attention.transfer +
                      seconds.memory_bound * beside.memory_bound.compute / beside.memory_bound.transfer;
  return {.compute_slowdown = compute / total, .transfer_slowdown = compute / rate};
}

}  // namespace

bool host_holds_back_middle(const Program& program) {
  return std::any_of(program.segments.begin(), program.segments.end(), [&](const Segment& segment) {
    if (segment.part_count == 0) return false;
    const RunCost cost = composed(program, segment);
    const Part& first = program.parts[segment.first_part];
    constexpr double kRounding = 1e-12;  // relative
    return (cost.issue_to_end - cost.device).value() > (first.issue_to_end - first.device).value() + kRounding * cost.issue_to_end.value();
  });
}

void price_communication(Program& program, const std::vector<CommUse>& uses, const std::vector<Slot>& slots, const std::vector<cluster::GroupShape>& shapes, const TaskCosts& costs) {
  if (uses.empty()) return;
  std::vector<Seconds> times;
  bool any = false, any_inter = false, beside = false, beside_inter = false;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    Comm& comm = program.comms[i];
    cluster::GroupShape shape = shapes[comm.slot];
    // Round a ring each node has one message in flight to the next, however many ranks it has: one NIC's.
    if (uses[i].op == graph::CollectiveOp::send_receive) shape.nics_per_node = std::min(shape.nics_per_node, 1.0);
    comm.transfer = costs.collective(uses[i].op, uses[i].payload, shape);
    times.push_back(comm.transfer.time());
    any = true;
    any_inter |= comm.transfer.inter_node;
    beside |= overlaps(slots[comm.slot]);
    beside_inter |= overlaps(slots[comm.slot]) && comm.transfer.inter_node;
  }
  StopWatch watch;
  for (Task& task : program.tasks) {
    watch.turn();
    if (!is_communication(task.kind)) continue;
    task.device += times[task.comm];
    task.issue_to_end += times[task.comm];
  }
  price_runs(program, times);
  const bool inter = beside ? beside_inter : any && any_inter;
  const cost::Interference slowing = costs.beside && !inter && beside ? mean_interference(*costs.beside, pass_seconds(program)) : costs.interference(inter);
  program.compute_slowdown = std::max(1.0, slowing.compute_slowdown);
  program.transfer_slowdown = std::max(1.0, slowing.transfer_slowdown);
}

}  // namespace sgsim::lower

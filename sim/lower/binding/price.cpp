#include "sim/lower/binding/price.h"

#include <algorithm>

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
  for (Task& task : program.tasks) {
    if (!is_communication(task.kind)) continue;
    task.device += times[task.comm];
    task.issue_to_end += times[task.comm];
  }
  price_runs(program, times);
  const cost::Interference slowing = costs.interference(beside ? beside_inter : any && any_inter);
  program.compute_slowdown = std::max(1.0, slowing.compute_slowdown);
  program.transfer_slowdown = std::max(1.0, slowing.transfer_slowdown);
}

}  // namespace sgsim::lower

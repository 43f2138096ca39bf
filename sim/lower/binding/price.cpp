#include "sim/lower/binding/price.h"

#include <algorithm>

namespace sgsim::lower {
namespace {

// Communicators whose traffic runs beside computation; tensor-parallel traffic mostly stands alone.
bool overlaps(Slot slot) { return slot != Slot::tensor && slot != Slot::context && slot != Slot::expert; }

bool is_communication(TaskKind kind) { return kind == TaskKind::collective || kind == TaskKind::send || kind == TaskKind::receive; }

}  // namespace

void price_communication(Program& program, const std::vector<CommUse>& uses, const std::vector<Slot>& slots, const std::vector<cluster::GroupShape>& shapes, const TaskCosts& costs) {
  if (uses.empty()) return;
  std::vector<Seconds> times;
  bool any = false, any_inter = false, beside = false, beside_inter = false;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    Comm& comm = program.comms[i];
    comm.transfer = costs.collective(uses[i].op, uses[i].payload, shapes[comm.slot]);
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
  const cost::Interference slowing = costs.interference(beside ? beside_inter : any && any_inter);
  program.compute_slowdown = std::max(1.0, slowing.compute_slowdown);
  program.transfer_slowdown = std::max(1.0, slowing.transfer_slowdown);
}

}  // namespace sgsim::lower

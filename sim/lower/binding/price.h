#pragma once

#include <vector>

#include "sim/lower/program/piece.h"
#include "sim/lower/program/task_costs.h"

namespace sgsim::lower {

/// Fills in the transfers of `program` (made from `skeleton`) for communicators of the given shapes, by slot, and how
/// computation and communication slow each other.
void price_communication(Program& program, const std::vector<CommUse>& uses, const std::vector<Slot>& slots,
                         const std::vector<cluster::GroupShape>& shapes, const TaskCosts& costs);

/// Whether a run with merged collectives (Part) could wait for the host behind its first part, so that its parts would not
/// follow each other without a gap. Of a priced program.
[[nodiscard]] bool host_holds_back_middle(const Program& program);

}  // namespace sgsim::lower

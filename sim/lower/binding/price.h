#pragma once

#include <vector>

#include "sim/lower/program/piece.h"
#include "sim/lower/program/task_costs.h"

namespace sgsim::lower {

/// Fills in the transfers of `program` (made from `skeleton`) for communicators of the given shapes, by slot, and how
/// computation and communication slow each other.
void price_communication(Program& program, const std::vector<CommUse>& uses, const std::vector<Slot>& slots,
                         const std::vector<cluster::GroupShape>& shapes, const TaskCosts& costs);

}  // namespace sgsim::lower

#pragma once

#include <optional>

#include "sim/check/record.h"
#include "sim/check/row.h"

namespace sgsim::check {

/// The step time of a record: as printed; else from a rate by the record's batch; else from a rate of floating-point
/// operations by the convention that the record states ("96*B*s*l*h^2*(1+s/(6h)+V/(16lh))" and its 72 sibling); else what
/// the record's author derived. Nothing when the record has no time.
[[nodiscard]] std::optional<double> measured_step(const Record& record);

struct MeasuredMemory {
  double bytes = 0.0;
  MemoryKind kind = MemoryKind::allocated;
};
/// `reserved`: the framework's logs print what its allocator holds.
[[nodiscard]] std::optional<MeasuredMemory> measured_memory(const Record& record, bool reserved);

}  // namespace sgsim::check

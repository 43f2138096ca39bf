#pragma once

#include <optional>
#include <vector>

#include "planner/split/work_graph.h"

namespace sgsim::split {

/// One layer of a chain that FSDP gathers.
struct UnitLayer {
  Seconds time;      // its computation in one pass
  Bytes parameters;  // whole
  bool operator==(const UnitLayer&) const = default;
};

struct UnitSplit {
  std::vector<int> unit_of;          // by layer
  Seconds exposed;                   // gathers that computation does not hide
  Bytes most_gathered;               // of two neighbouring units: what is whole at once
};

/// FSDP units (and so the graph breaks between them) of least exposed communication: unit u + 1 is gathered beside unit u's kernels, the first
/// beside nothing; a gather takes `link`'s time. Two neighbouring units must fit in `capacity`. Exact, by dynamic programming over pairs of
/// boundaries; of equal splits the one with the least memory. Nothing: not even single layers fit.
[[nodiscard]] std::optional<UnitSplit> split_units(const std::vector<UnitLayer>& layers, const Link& link, Bytes capacity);

}  // namespace sgsim::split

#pragma once

#include <vector>

#include "sim/lower/workload.h"

namespace sgsim::testing {

struct OracleTimes {
  std::vector<std::vector<double>> start, end;  // s, by rank and task
  double step = 0.0;
};

/// The meaning of a workload read off its definition (sim/lower/workload.h), by recursion with memory, for workloads
/// without interference: the longest path through stream order, dependencies, host and group operations.
[[nodiscard]] OracleTimes oracle(const lower::Workload& workload);

}  // namespace sgsim::testing

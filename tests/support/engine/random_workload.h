#pragma once

#include <cstdint>

#include "sim/lower/workload.h"

namespace sgsim::testing {

/// A random job that cannot deadlock: `stages` x `data` x `tensor` ranks, all ranks of a stage with one program, written
/// action by action in one global order. Actions: kernels, copies and host synchronisations; collectives over the tensor
/// and data groups; transfers to the next stage (to the same or to a rotated rank); a ring shift within a tensor group,
/// whose groups have both members in one class.
struct RandomSize {
  std::uint64_t seed = 0;
  int stages = 2, data = 2, tensor = 2, actions = 20, streams = 3;
  bool interference = false;
  bool inter_node = false;   // some communications cross the network
};
[[nodiscard]] lower::Workload random_workload(const RandomSize& size);

/// Makes some ranks differ: slow GPUs, and ranks with a program of their own with other times.
void perturb(lower::Workload& workload, std::uint64_t seed, int changes);

/// Every time multiplied by k (a power of two keeps the result exact).
void scale(lower::Workload& workload, double k);

/// Rank r becomes rank places[r]; groups keep their ring order.
[[nodiscard]] lower::Workload permute(const lower::Workload& workload, const std::vector<std::uint32_t>& places);

}  // namespace sgsim::testing

#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/error.h"
#include "sim/lower/workload.h"

namespace sgsim::engine {

/// Throws InputError unless an engine can run the workload: indices in range, times finite and not negative, slowdowns
/// at least 1, dependencies only on tasks issued earlier, every member of a group bound to it and nobody else.
/// What only shows while running (members that disagree on count or order) is reported by the engines.
void check_workload(const lower::Workload& workload);

/// A task that a rank has reached and cannot finish.
struct Stuck {
  std::uint32_t rank = 0;
  std::uint32_t task = 0;    // index in its program
  bool arrived = false;      // communication: it waits for the other members; else it waits for its own rank
};

/// "rank 5 (stage 1) task 17 \"all_reduce tp\"" for messages.
[[nodiscard]] std::string describe_task(const lower::Workload& workload, std::uint32_t rank, std::uint32_t task);

/// The operation as its members would have to agree on it: "use 3 of group 12 (tp) in slot 0".
[[nodiscard]] std::string describe_use(const lower::Workload& workload, std::uint32_t rank, std::uint32_t task);

/// Nothing runs and something is left: names the first member that waits, its group and use, and what a member that has
/// not come does instead.
[[nodiscard]] InputError deadlock(const lower::Workload& workload, const std::vector<Stuck>& stuck);

/// Two members bring different operations to the same use of a group.
[[nodiscard]] InputError mismatch(const lower::Workload& workload, std::uint32_t first_rank, std::uint32_t first_task,
                                  std::uint32_t second_rank, std::uint32_t second_task);

/// A send or receive in a group that is not one sender and one receiver.
[[nodiscard]] InputError not_a_pair(const lower::Workload& workload, std::uint32_t rank, std::uint32_t task);

}  // namespace sgsim::engine

#pragma once

#include <vector>

#include "sim/core/ids.h"
#include "sim/lower/program/actions.h"
#include "sim/plan/plan.h"

namespace sgsim::lower {

/// Where a rank stands. Rank order, fastest first: tp, cp, dp, pp (plan.h).
struct Coordinates {
  int tp = 0, cp = 0, dp = 0, pp = 0;
  bool operator==(const Coordinates&) const = default;
};
[[nodiscard]] Coordinates coordinates_of(const plan::Plan& plan, RankId rank);
[[nodiscard]] RankId rank_at(const plan::Plan& plan, const Coordinates& at);

/// Members of the communicator that `slot` means for the rank at `at`, in ring order; point-to-point: sender, receiver.
/// data: dp x cp, cp fastest; expert: `ep` neighbours in data; expert_data: the others (hybrid shard: the others of the shard group); shard: `shard_group` neighbours in data; replicate:
/// the others. forward_out goes to the next stage, from the last to the first (interleaved chunks).
[[nodiscard]] std::vector<RankId> members_of(const plan::Plan& plan, int shard_group, Slot slot, const Coordinates& at);

/// A number that all members of a communicator agree on, unique among those of its kind.
[[nodiscard]] RankId leader_of(const plan::Plan& plan, int shard_group, Slot slot, const Coordinates& at);

/// forward_in and forward_out name one communicator seen from its two ends, as do backward_in and backward_out.
[[nodiscard]] Slot communicator_kind(Slot slot);
[[nodiscard]] const char* to_text(Slot slot);

/// Ranks of one copy under hybrid shard: fsdp.shard_group, or as many data-parallel ranks as one node has (plan.h).
[[nodiscard]] int resolved_shard_group(const plan::Plan& plan, int gpus_per_node);

}  // namespace sgsim::lower

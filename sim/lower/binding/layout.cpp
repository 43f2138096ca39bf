#include "sim/lower/binding/layout.h"

#include <algorithm>

#include "sim/core/error.h"

namespace sgsim::lower {
namespace {

// Index among the dp x cp ranks that hold the same parameters, and back.
int data_index(const plan::Plan& plan, const Coordinates& at) { return at.cp + plan.cp * at.dp; }
Coordinates with_data_index(const plan::Plan& plan, Coordinates at, int index) {
  at.cp = index % plan.cp;
  at.dp = index / plan.cp;
  return at;
}

// Neighbours in data among which the experts are sharded: all, or those of a hybrid shard group.
int expert_range(const plan::Plan& plan, int shard_group) { return plan.sharding == plan::Sharding::hybrid ? shard_group : plan.dp * plan.cp; }

// `count` ranks from data index `first` on, `stride` apart.
std::vector<RankId> data_ranks_of(const plan::Plan& plan, const Coordinates& at, int first, int count, int stride) {
  std::vector<RankId> members;
  for (int i = 0; i < count; ++i) members.push_back(rank_at(plan, with_data_index(plan, at, first + i * stride)));
  return members;
}

Coordinates at_stage(Coordinates at, int stage) {
  at.pp = stage;
  return at;
}

}  // namespace

Coordinates coordinates_of(const plan::Plan& plan, RankId rank) {
  int r = static_cast<int>(rank.value);
  Coordinates at;
  at.tp = r % plan.tp;
  r /= plan.tp;
  at.cp = r % plan.cp;
  r /= plan.cp;
  at.dp = r % plan.dp;
  at.pp = r / plan.dp;
  return at;
}

RankId rank_at(const plan::Plan& plan, const Coordinates& at) {
  return RankId{static_cast<std::uint32_t>(at.tp + plan.tp * (at.cp + plan.cp * (at.dp + plan.dp * at.pp)))};
}

std::vector<RankId> members_of(const plan::Plan& plan, int shard_group, Slot slot, const Coordinates& at) {
  const int index = data_index(plan, at), all = plan.dp * plan.cp;
  const int next = (at.pp + 1) % plan.pp, previous = (at.pp + plan.pp - 1) % plan.pp;
  const RankId self = rank_at(plan, at);
  std::vector<RankId> members;
  switch (slot) {
    case Slot::tensor:
      for (int t = 0; t < plan.tp; ++t) members.push_back(rank_at(plan, {.tp = t, .cp = at.cp, .dp = at.dp, .pp = at.pp}));
      return members;
    case Slot::context:
      for (int c = 0; c < plan.cp; ++c) members.push_back(rank_at(plan, {.tp = at.tp, .cp = c, .dp = at.dp, .pp = at.pp}));
      return members;
    case Slot::model:
      for (int s = 0; s < plan.pp; ++s) {
        for (int t = 0; t < plan.tp; ++t) members.push_back(rank_at(plan, {.tp = t, .cp = at.cp, .dp = at.dp, .pp = s}));
      }
      return members;
    case Slot::data: return data_ranks_of(plan, at, 0, all, 1);
    case Slot::expert: return data_ranks_of(plan, at, index / plan.ep * plan.ep, plan.ep, 1);
    case Slot::expert_data: {
      const int range = expert_range(plan, shard_group);
      return data_ranks_of(plan, at, index / range * range + index % plan.ep, range / plan.ep, plan.ep);
    }
    case Slot::shard: return data_ranks_of(plan, at, index / shard_group * shard_group, shard_group, 1);
    case Slot::replicate: return data_ranks_of(plan, at, index % shard_group, all / shard_group, shard_group);
    case Slot::forward_out: return {self, rank_at(plan, at_stage(at, next))};
    case Slot::forward_in: return {rank_at(plan, at_stage(at, previous)), self};
    case Slot::backward_out: return {self, rank_at(plan, at_stage(at, previous))};
    case Slot::backward_in: return {rank_at(plan, at_stage(at, next)), self};
    case Slot::embedding: return {rank_at(plan, at_stage(at, 0)), rank_at(plan, at_stage(at, plan.pp - 1))};
  }
  return members;
}

RankId leader_of(const plan::Plan& plan, int shard_group, Slot slot, const Coordinates& at) {
  const int index = data_index(plan, at);
  switch (slot) {
    case Slot::tensor: return rank_at(plan, {.tp = 0, .cp = at.cp, .dp = at.dp, .pp = at.pp});
    case Slot::context: return rank_at(plan, {.tp = at.tp, .cp = 0, .dp = at.dp, .pp = at.pp});
    case Slot::model: return rank_at(plan, {.tp = 0, .cp = at.cp, .dp = at.dp, .pp = 0});
    case Slot::data: return rank_at(plan, with_data_index(plan, at, 0));
    case Slot::expert: return rank_at(plan, with_data_index(plan, at, index / plan.ep * plan.ep));
    case Slot::expert_data: {
      const int range = expert_range(plan, shard_group);
      return rank_at(plan, with_data_index(plan, at, index / range * range + index % plan.ep));
    }
    case Slot::shard: return rank_at(plan, with_data_index(plan, at, index / shard_group * shard_group));
    case Slot::replicate: return rank_at(plan, with_data_index(plan, at, index % shard_group));
    case Slot::forward_out:
    case Slot::backward_out: return rank_at(plan, at);
    case Slot::forward_in: return rank_at(plan, at_stage(at, (at.pp + plan.pp - 1) % plan.pp));
    case Slot::backward_in: return rank_at(plan, at_stage(at, (at.pp + 1) % plan.pp));
    case Slot::embedding: return rank_at(plan, at_stage(at, 0));
  }
  fail_check("known slot", __FILE__, __LINE__, "unknown slot");
}

Slot communicator_kind(Slot slot) {
  if (slot == Slot::forward_in) return Slot::forward_out;
  if (slot == Slot::backward_in) return Slot::backward_out;
  return slot;
}

const char* to_text(Slot slot) {
  switch (slot) {
    case Slot::tensor: return "tp";
    case Slot::context: return "cp";
    case Slot::expert: return "ep";
    case Slot::data: return "dp";
    case Slot::expert_data: return "expert dp";
    case Slot::shard: return "shard";
    case Slot::replicate: return "replicate";
    case Slot::forward_out:
    case Slot::forward_in: return "pp forward";
    case Slot::backward_out:
    case Slot::backward_in: return "pp backward";
    case Slot::embedding: return "embedding";
    case Slot::model: return "model";
  }
  return "";
}

int resolved_shard_group(const plan::Plan& plan, int gpus_per_node) {
  if (plan.sharding != plan::Sharding::hybrid) return 1;
  if (plan.fsdp.shard_group > 0) return plan.fsdp.shard_group;
  return std::min(std::max(1, gpus_per_node / (plan.tp * plan.cp)) * plan.cp, plan.dp * plan.cp);
}

}  // namespace sgsim::lower

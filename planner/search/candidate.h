#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/core/quantity.h"
#include "sim/plan/plan.h"

namespace sgsim::search {

/// One way to run the job: a plan on that many nodes of the scenario's cluster.
struct Candidate {
  int nodes = 1;
  plan::Plan plan;
  bool operator==(const Candidate&) const = default;
};

/// What a plan takes.
struct Figures {
  Seconds step_time;
  Bytes reserved;       // of the fullest rank, as lower::Memory::reserved: what the GPU shows
  Bytes needed;         // of the fullest rank: `reserved` without the blocks that the allocator holds unused and gives back when the GPU is full
  bool operator==(const Figures&) const = default;
};

/// When a plan counts as fitting: what it needs, and `margin` of that on top, is within the GPU's memory.
struct MemoryRule {
  Bytes capacity;         // of the GPU
  double margin = 0.0;
  [[nodiscard]] Bytes limit() const { return capacity / (1.0 + margin); }  // of Figures::needed
  [[nodiscard]] bool fits(const Figures& figures) const { return figures.needed <= limit(); }
};

/// Plans that fell out under one rule.
struct Rejection {
  std::uint64_t plans = 0;
  std::string example;  // the first, in words
  bool operator==(const Rejection&) const = default;
};
/// By rule: those of plan legality ("tp_divides_heads"), "memory*", "dp_fills_cluster", and what cannot win ("*_not_needed", "slower").
using Rejections = std::map<std::string, Rejection>;

/// A layout without its data-parallel options: what decides the kernels of a rank and the order of its passes.
/// `plan.sharding` and the options below it are those of no data parallelism.
struct Layout {
  int nodes = 1;
  plan::Plan plan;
  auto operator<=>(const Layout&) const = default;
};

/// Data-parallel options of a plan.
struct StateOption {
  plan::Sharding sharding = plan::Sharding::ddp;
  plan::FsdpOptions fsdp;
  plan::BucketOptions buckets;
  bool offload_optimizer = false;
  bool operator==(const StateOption&) const = default;
};

[[nodiscard]] inline Candidate candidate_of(const Layout& layout, const StateOption& option) {
  Candidate candidate{.nodes = layout.nodes, .plan = layout.plan};
  candidate.plan.sharding = option.sharding;
  candidate.plan.fsdp = option.fsdp;
  candidate.plan.buckets = option.buckets;
  candidate.plan.offload.optimizer = option.offload_optimizer;
  return candidate;
}

/// candidate_of() backwards.
[[nodiscard]] inline StateOption option_of(const Candidate& candidate) {
  const plan::Plan& p = candidate.plan;
  return {.sharding = p.sharding, .fsdp = p.fsdp, .buckets = p.buckets, .offload_optimizer = p.offload.optimizer};
}
[[nodiscard]] inline Layout layout_of(const Candidate& candidate) {
  Layout layout{.nodes = candidate.nodes, .plan = candidate.plan};
  layout.plan.sharding = plan::Sharding::ddp;
  layout.plan.fsdp = {};
  layout.plan.buckets = {};
  layout.plan.offload.optimizer = false;
  return layout;
}

}  // namespace sgsim::search

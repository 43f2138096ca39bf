#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/compile/fuse/fuse.h"

namespace sgsim::compile::fuse {

/// A set of nests that has become one kernel, while fusion runs.
struct FusionNode {
  std::vector<std::uint32_t> nests;       // in order
  std::vector<Dependency> reads, writes;  // of all nests, each dependency once; reads of own writes included
  std::int64_t kept = 1, reduced = 1;
  std::uint32_t first = 0, last = 0;      // lowest and highest nest
  std::uint32_t piece = 0;
  bool backward = false, reduces = false, fixed = false, alive = true;
  bool mixed = false;                     // sums along rows and along columns
};

/// Fusion in progress.
class Fuser {
 public:
  explicit Fuser(LoopProgram& program);
  std::vector<Group> run(bool enabled);

 private:
  struct Candidate {
    std::uint32_t a = 0, b = 0;
    bool same_kind = false;
    double bytes = 0.0;
    std::int64_t proximity = 0;
  };

  bool fuse_once(bool reductions_only);
  std::vector<Candidate> find_candidates(bool reductions_only) const;
  [[nodiscard]] bool may_fuse(const FusionNode& a, const FusionNode& b) const;
  [[nodiscard]] bool paths_allow(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] bool makes_for(const FusionNode& maker, const FusionNode& reader) const;
  [[nodiscard]] bool reads_match(const FusionNode& producer, const FusionNode& consumer) const;
  [[nodiscard]] bool reaches(std::uint32_t from, std::uint32_t to, std::uint32_t lowest, bool skip_direct) const;
  [[nodiscard]] double shared_bytes(const FusionNode& a, const FusionNode& b) const;
  [[nodiscard]] std::uint32_t maker_of(std::uint32_t buffer) const { return maker_[buffer] == kNone ? kNone : node_of_[maker_[buffer]]; }
  void join(std::uint32_t a, std::uint32_t b);
  std::vector<Group> ordered() const;

  // fuse_mixed.cpp
  void join_mixed_orders();
  [[nodiscard]] bool is_mixed_pair(const FusionNode& rows, const FusionNode& columns) const;
  void absorb_row_results(std::uint32_t mixed);

  LoopProgram& program_;
  std::vector<FusionNode> nodes_;
  std::vector<std::uint32_t> node_of_;  // by nest
  std::vector<std::uint32_t> maker_;    // nest that writes each buffer
  mutable std::vector<std::uint32_t> stack_, visited_;
  mutable std::uint32_t stamp_ = 0;
};

}  // namespace sgsim::compile::fuse

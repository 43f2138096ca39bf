#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/property/lower/plan_case.h"

namespace sgsim::testing {

/// Trained elements that one rank of a pipeline stage holds, after tensor and expert division, vocabulary padding and the
/// copies of tied tables on other stages included. From the models' shapes and Megatron-LM's division (Shoeybi et al. 2019),
/// not from any graph.
struct Held {
  double dense = 0.0, expert = 0.0;
  double replicated = 0.0;  // of `dense`: on every tensor-parallel rank
  double tied = 0.0;        // of `dense`: also on another stage
  [[nodiscard]] double all() const { return dense + expert; }
};
[[nodiscard]] Held held_by(const PlanCase& c, int stage);

/// Flops of matrix products and attention of one step over all ranks: the unsharded model's, what vocabulary padding adds, products
/// that every tensor-parallel rank repeats (a router, BERT's head transform), and the recomputed ones.
[[nodiscard]] double product_flops(const PlanCase& c);

/// Tensor-parallel collectives of one layer and micro-batch, by "pass operation": Shoeybi et al. 2019, figure 4; with sequence
/// parallelism Korthikanti et al. 2022, figure 5. Not for mixtral.
[[nodiscard]] std::map<std::string, int> layer_collectives(const PlanCase& c);

/// Layers of each stage's chunks in all.
[[nodiscard]] int layers_of_stage(const PlanCase& c, int stage);

}  // namespace sgsim::testing

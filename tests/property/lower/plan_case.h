#pragma once

#include <string>

#include "sim/cluster/cluster.h"
#include "sim/graph/graph.h"
#include "sim/lower/lower_segmented.h"
#include "sim/plan/plan.h"

namespace sgsim::testing {

enum class Family { llama, gpt2, bert, mixtral, captured_llama, captured_gpt2 };

/// A model, a plan and how it is trained.
struct PlanCase {
  Family family = Family::llama;
  int layers = 4;
  bool flash = true;
  plan::Plan plan;
  lower::Training training;
};

/// What the cases have in common: the smallest models that every division used here divides. hidden 64, 8 heads (4 for keys
/// and values in llama and mixtral), feed-forward 128, vocabulary 1,000 (so that it is padded), 64 tokens, 4 experts of which
/// a token takes 2. Captured graphs are the real ones, stacked to `layers`.
struct PlanModel {
  plan::ModelShape shape;
  graph::OperatorGraph graph;
};
/// Built once for each family, number of layers, micro-batch and kind of attention.
[[nodiscard]] const PlanModel& model_of(const PlanCase& c);

/// As many GPUs as the plan has ranks, in nodes of 8 or one smaller node.
[[nodiscard]] cluster::Cluster cluster_of(const plan::Plan& plan);

/// A kernel counts the flops of matrix products, attention and convolutions only (so that sums over programs can be compared
/// with closed forms); times are simple and positive.
[[nodiscard]] lower::TaskCosts product_costs();

/// A random legal case (rapidcheck); captured graphs only if asked for.
[[nodiscard]] PlanCase draw_case(bool captured);

[[nodiscard]] std::string to_text(const PlanCase& c);

}  // namespace sgsim::testing

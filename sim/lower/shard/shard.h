#pragma once

#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/graph/graph.h"
#include "sim/plan/plan.h"

namespace sgsim::lower::shard {

/// How tensor parallelism is done where frameworks differ.
struct Options {
  int tp = 1;
  bool sequence_parallel = false;
  bool vocabulary_parallel = true;   // embedding, head and cross entropy divided over the vocabulary; false: whole on every rank
  bool reduce_each_product = false;  // backward: q, k and v (gate and up) reduce their input gradients one by one, as DTensor's
                                     // parallel linear layers do; false: their sum once, as Megatron's fused layers do
  bool overlap_weight_gradients = false;  // overlap.h
};

struct Sharded {
  graph::OperatorGraph graph;         // what one rank runs; group name "tp"
  std::vector<bool> tensor_sharded;   // by node of `graph`: parameter divided over the group
  std::vector<plan::Note> notes;      // vocabulary padding, with what it adds
  Diagnostics diagnostics;            // "lower.shard.kept_whole": products that every rank computes whole
};

/// Divides a graph over a tensor-parallel group, by propagation from its matrix products (Shoeybi et al. 2019; with
/// sequence parallel Korthikanti et al. 2022). Works on captured and generated graphs alike and needs no module names.
/// The first products of a replicated activation are column-parallel, products of a divided activation are row-parallel;
/// what lies between (views, heads of attention, pointwise operators) carries the divided dimension. Sums over ranks
/// stand where the first operator needs them, on the type of the product. With sequence parallel, activations between
/// the products are divided over tokens: gathered before column-parallel products (again in the backward pass, for the
/// weight gradient) and reduce-scattered after row-parallel ones; gradients of whole parameters (norms, biases after a
/// row-parallel product) stay partial sums.
/// The vocabulary is padded to a multiple of 128 tp (Megatron-LM, make-vocab-size-divisible-by 128), with a note.
/// Throws InputError where an operator cannot be divided whatever is kept whole, or tp does not divide the sequence.
[[nodiscard]] Sharded shard_tensor_parallel(const graph::OperatorGraph& graph, const plan::ModelShape& model, const Options& options);

}  // namespace sgsim::lower::shard

#pragma once

#include "sim/core/diagnostics.h"
#include "sim/graph/graph.h"

namespace sgsim::lower::shard {

/// How context parallelism is done where frameworks differ.
struct ContextOptions {
  int cp = 1;
  bool all_gather = false;  // keys and values are gathered before the first block (torchtitan's rotate method "allgather");
                            // false: they go round the ring block by block (Liu et al. 2023; Megatron-LM's "p2p")
};

struct ContextSharded {
  graph::OperatorGraph graph;  // what one rank runs: 1 / cp of every sequence; group name "cp"
  Diagnostics diagnostics;     // "lower.shard.sequence_gathered": operators that work on whole sequences only
};

/// Divides the tokens of every sequence over `cp` ranks, from the embedding on (Liu et al. 2023, Ring Attention). Batch
/// inputs, position tables and masks stay whole and are cut where activations read them; parameters stay whole, their
/// gradients are sums over the own tokens (data parallelism reduces them over dp x cp). Fused attention becomes cp blocks
/// of the own queries on one rank's keys and values each, merged by their log-sum-exp. Causal attention is balanced: a
/// rank holds chunks r and 2 cp - 1 - r of 2 cp, its own block is causal, every other is half as large (all queries on half of
/// the keys, or half of the queries on all keys; the former is taken for all). Forward: keys and values are sent cp - 1 times,
/// each beside the block before it; backward: cp - 1 times again, and their gradients cp times.
/// The graph's sequence must be a multiple of 2 cp and its attention fused (SGSIM_CHECKed; graph_violations() says so first).
[[nodiscard]] ContextSharded shard_context(const graph::OperatorGraph& graph, const ContextOptions& options);

}  // namespace sgsim::lower::shard

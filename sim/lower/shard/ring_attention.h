#pragma once

#include <optional>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/lower/shard/context.h"
#include "sim/lower/shard/draft.h"

namespace sgsim::lower::shard {

/// Where a fused attention operator has its tensors (ATen native_functions.yaml).
struct AttentionPlaces {
  bool backward = false;
  std::size_t query = 0;              // key and value follow
  std::optional<std::size_t> mask;
  std::size_t causal = 0;             // flag; may be left out
};
/// Nothing for other operators.
[[nodiscard]] std::optional<AttentionPlaces> attention_places(const graph::Node& node);

/// An attention call whose operands lie on one rank: queries, keys and values of the own tokens, [batch, heads, tokens, size];
/// a mask, if any, of the own queries and all keys.
struct RingCall {
  const graph::Node& by;              // the old call
  AttentionPlaces places;
  std::vector<graph::Argument> args;  // of the own block
  std::int64_t sequence = 0;          // tokens of all ranks
};

/// Appends the blocks of a forward call and their merge. Results as of the call, merged; further ones are the own block's.
[[nodiscard]] std::vector<graph::ValueRef> ring_forward(Draft& draft, const RingCall& call, const ContextOptions& options);
/// Appends the blocks of a backward call: gradients of the own queries, keys and values.
[[nodiscard]] std::vector<graph::ValueRef> ring_backward(Draft& draft, const RingCall& call, const ContextOptions& options);

inline constexpr const char* kContextGroup = "cp";

}  // namespace sgsim::lower::shard

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/graph/graph.h"

namespace sgsim::lower::shard {

enum class Spread : std::uint8_t {
  replicated,  // every rank holds all of it
  sharded,     // each rank holds its part of one dimension
  partial,     // each rank holds a term; the value is their sum
};

/// How a value lies on the ranks of one tensor-parallel group.
struct Placement {
  Spread spread = Spread::replicated;
  int dim = -1;              // sharded: the dimension divided; partial: the one over which tokens run, -1 if none
  std::int64_t outer = 1;    // the dimension is [outer, rest] flattened and `rest` is what is divided (batch x sequence)
  bool tokens = false;       // sharded over the sequence (sequence parallel), not over features
  bool vocabulary = false;   // the dimension is the vocabulary, padded
  bool mixed = false;        // partial: a summed value is already added to the terms
  graph::DType summed = graph::DType::float32;  // partial: type of the products whose sum it is

  [[nodiscard]] bool replicated() const { return spread == Spread::replicated; }
  [[nodiscard]] bool sharded() const { return spread == Spread::sharded; }
  [[nodiscard]] bool partial() const { return spread == Spread::partial; }
  /// Divided over features (heads, columns, vocabulary), not over tokens.
  [[nodiscard]] bool features() const { return sharded() && !tokens; }
  bool operator==(const Placement&) const = default;
};

[[nodiscard]] inline Placement whole() { return {}; }
[[nodiscard]] inline Placement split(int dim, bool tokens = false, std::int64_t outer = 1) {
  return {.spread = Spread::sharded, .dim = dim, .outer = outer, .tokens = tokens};
}
[[nodiscard]] inline Placement term(int token_dim, std::int64_t outer, graph::DType summed) {
  return {.spread = Spread::partial, .dim = token_dim, .outer = outer, .summed = summed};
}
/// The same kind of placement on another dimension.
[[nodiscard]] inline Placement on(Placement placement, int dim) {
  placement.dim = dim;
  return placement;
}

/// Sizes that the passes of this folder share.
struct Mesh {
  int tp = 1;
  bool sequence_parallel = false;
  std::int64_t vocabulary = 0;         // rows of the embedding; 0: no vocabulary-parallel embedding and head
  std::int64_t padded_vocabulary = 0;  // multiple of 128 * tp
  std::int64_t whole_columns = 0;      // products with so many columns stay whole (a head that is not divided); 0: none
  std::int64_t batch = 1, sequence = 0;
  bool reduce_each_product = false;    // input gradients are reduced product by product

  [[nodiscard]] std::int64_t tokens() const { return batch * sequence; }
};

/// Size that one rank holds of a dimension of global size `size`. SGSIM_CHECKs that it divides.
[[nodiscard]] std::int64_t local_size(const Mesh& mesh, const Placement& placement, std::int64_t size);
[[nodiscard]] std::vector<std::int64_t> local_shape(const Mesh& mesh, const Placement& placement, std::vector<std::int64_t> shape);
/// Whether a dimension of this size can be divided that way.
[[nodiscard]] bool divides(const Mesh& mesh, const Placement& placement, std::int64_t size);

/// Where the tokens run in an activation of this shape: [batch, sequence, ...], [sequence, batch, ...] or
/// [batch x sequence, ...]; dim -1 where they do not.
struct TokenDim {
  int dim = -1;
  std::int64_t outer = 1;
};
[[nodiscard]] TokenDim token_dim(const Mesh& mesh, const std::vector<std::int64_t>& shape);

/// What a partial value becomes when it is summed: divided over tokens under sequence parallel, else whole.
[[nodiscard]] Placement summed(const Mesh& mesh, const Placement& partial);

[[nodiscard]] std::string to_text(const Placement& placement);

}  // namespace sgsim::lower::shard

#include "sim/lower/shard/placement.h"

#include "sim/core/error.h"

namespace sgsim::lower::shard {

bool divides(const Mesh& mesh, const Placement& placement, std::int64_t size) {
  if (placement.vocabulary) return size == mesh.vocabulary;
  return size % placement.outer == 0 && (size / placement.outer) % mesh.tp == 0;
}

std::int64_t local_size(const Mesh& mesh, const Placement& placement, std::int64_t size) {
  SGSIM_CHECK(divides(mesh, placement, size), std::to_string(size) + " over " + std::to_string(mesh.tp) + " ranks");
  return placement.vocabulary ? mesh.padded_vocabulary / mesh.tp : size / mesh.tp;
}

std::vector<std::int64_t> local_shape(const Mesh& mesh, const Placement& placement, std::vector<std::int64_t> shape) {
  if (!placement.sharded()) return shape;
  std::int64_t& size = shape.at(static_cast<std::size_t>(placement.dim));
  size = local_size(mesh, placement, size);
  return shape;
}

TokenDim token_dim(const Mesh& mesh, const std::vector<std::int64_t>& shape) {
  if (mesh.sequence == 0 || shape.empty()) return {};
  if (shape.size() >= 2 && shape[0] == mesh.batch && shape[1] == mesh.sequence) return {1, 1};
  if (shape.size() >= 3 && shape[0] == mesh.sequence && shape[1] == mesh.batch) return {0, 1};
  if (shape[0] == mesh.tokens()) return {0, mesh.batch};
  return {};
}

Placement summed(const Mesh& mesh, const Placement& partial) {
  if (!mesh.sequence_parallel || partial.dim < 0) return whole();
  return split(partial.dim, true, partial.outer);
}

std::string to_text(const Placement& placement) {
  switch (placement.spread) {
    case Spread::replicated: return "replicated";
    case Spread::sharded: return std::string(placement.tokens ? "tokens" : "features") + " in dimension " + std::to_string(placement.dim);
    case Spread::partial: return "partial sum";
  }
  return {};
}

}  // namespace sgsim::lower::shard

#include "sim/compile/fuse/access.h"

#include <algorithm>
#include <bit>

namespace sgsim::compile::fuse {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return (std::rotl(a, 9) ^ (b + 0x9e3779b97f4a7c15ULL)) * 0xbf58476d1ce4e5b9ULL;
}

namespace {

std::uint64_t hash(const Dims& dims) {
  std::uint64_t key = dims.rank;
  for (std::uint32_t d = 0; d < dims.rank; ++d) key = mix(key, static_cast<std::uint64_t>(dims[d]));
  return key | 1U;
}

/// Strides over the new shape, when the old dimensions that a new one mixes are laid out one inside the other.
bool reshape(const Dims& from, const Dims& strides, const Dims& to, Dims& result) {
  Dims sizes, steps;  // dimensions of size 1 say nothing
  for (std::uint32_t d = 0; d < from.rank; ++d) {
    if (from[d] == 1) continue;
    sizes.push_back(from[d]);
    steps.push_back(strides[d]);
  }
  result.rank = to.rank;
  std::int64_t target = static_cast<std::int64_t>(to.rank) - 1;
  auto take_ones = [&] {
    while (target >= 0 && to[static_cast<std::size_t>(target)] == 1) result[static_cast<std::size_t>(target--)] = 0;
  };
  for (std::uint32_t d = sizes.rank; d-- > 0;) {
    std::int64_t run = sizes[d], base = steps[d];
    while (d > 0 && steps[d - 1] == run * base) run *= sizes[--d];
    std::int64_t covered = 1;
    take_ones();
    while (target >= 0 && covered < run) {
      result[static_cast<std::size_t>(target)] = covered * base;
      covered *= to[static_cast<std::size_t>(target--)];
      take_ones();
    }
    if (covered != run) return false;
  }
  take_ones();
  return target < 0;
}

}  // namespace

Read elsewhere(Read read, std::uint64_t salt, double elements, std::uint32_t rank) {
  read.place = mix(read.place ^ hash(read.strides), salt) | 1U;
  read.touched = elements;
  read.strides = {};
  read.strides.rank = rank;
  return read;
}

Read placed(Read read, std::uint32_t dimension, std::int64_t start, double elements) {
  read.offset -= start * read.strides[dimension];
  read.most = std::min(read.most, elements);
  read.masked = true;
  return read;
}

Read through_view(Read read, const View& view, const Dims& from, const Dims& to) {
  const double share = from.product() > 0 ? static_cast<double>(to.product()) / static_cast<double>(from.product()) : 1.0;
  if (read.place != 0) {
    if (view.kind == ViewKind::alias) return read;
    read.place = mix(read.place, mix(hash(from), hash(to)) + static_cast<std::uint64_t>(view.start)) | 1U;
    if (view.kind == ViewKind::permute) read.place = mix(read.place, hash(view.permutation)) | 1U;
    read.touched *= std::min(share, 1.0);
    read.strides.rank = to.rank;
    return read;
  }
  switch (view.kind) {
    case ViewKind::alias: return read;
    case ViewKind::permute: {
      const Dims old = read.strides;
      for (std::uint32_t d = 0; d < to.rank; ++d) read.strides[d] = old[static_cast<std::size_t>(view.permutation[d])];
      return read;
    }
    case ViewKind::expand: return broadcast(read, from, to);
    case ViewKind::slice: {
      read.offset += view.start * read.strides[view.dimension];
      read.strides[view.dimension] *= view.step;
      if (view.drops_dimension) {
        for (std::uint32_t d = view.dimension; d + 1 < read.strides.rank; ++d) read.strides[d] = read.strides[d + 1];
        --read.strides.rank;
      }
      return read;
    }
    case ViewKind::reshape: {
      Dims strides;
      if (reshape(from, read.strides, to, strides)) {
        read.strides = strides;
        return read;
      }
      double elements = 1.0;
      for (std::uint32_t d = 0; d < from.rank; ++d) elements *= read.strides[d] != 0 ? static_cast<double>(from[d]) : 1.0;
      return elsewhere(read, mix(hash(from), hash(to)), elements, to.rank);
    }
  }
  return read;
}

Read broadcast(Read read, const Dims& from, const Dims& to) {
  if (from == to) return read;
  if (read.place != 0) {
    read.place = mix(read.place, mix(hash(from), hash(to))) | 1U;
    read.strides.rank = to.rank;
    return read;
  }
  Dims strides;
  strides.rank = to.rank;
  for (std::uint32_t i = 1; i <= to.rank; ++i) {
    const bool has = i <= from.rank;
    const bool spread = has && from[from.rank - i] == 1 && to[to.rank - i] != 1;
    strides[to.rank - i] = has && !spread ? read.strides[from.rank - i] : 0;
  }
  read.strides = strides;
  return read;
}

void describe(Dependency& dependency, std::span<const Loop> loops, std::int64_t offset, std::uint64_t place) {
  Loop merged[2 * kMaxRank];
  std::size_t n = 0;
  dependency.whole = place == 0;
  for (const Loop& loop : loops) {
    if (loop.size == 1) continue;
    if (loop.stride == 0) dependency.whole = false;
    if (n > 0 && merged[n - 1].stride == loop.stride * loop.size) {
      merged[n - 1] = {merged[n - 1].size * loop.size, loop.stride};
    } else {
      merged[n++] = loop;
    }
  }
  while (n > 0 && merged[n - 1].stride == 0) --n;
  std::uint64_t key = mix(static_cast<std::uint64_t>(offset), place);
  std::size_t runs = 0;
  for (std::size_t i = 0; i < n; ++i) {
    key = mix(mix(key, static_cast<std::uint64_t>(merged[i].size)), static_cast<std::uint64_t>(merged[i].stride));
    if (merged[i].stride != 0) ++runs;
  }
  dependency.signature = key;
  dependency.contiguous = place == 0 && offset == 0 && runs <= 1 && (n == 0 || merged[n - 1].stride == 1);
}

}  // namespace sgsim::compile::fuse

#include "sim/compile/fuse/reduction_split.h"

#include <algorithm>
#include <cstdlib>

namespace sgsim::compile::fuse {

namespace {

constexpr std::int64_t kMultiprocessors = 132;
constexpr std::int64_t kLeastPerThread = 32, kMostPerThread = 512, kThreadsPerMultiprocessor = 2048;
constexpr std::int64_t kLeastPerDevice = kLeastPerThread * kMultiprocessors * kThreadsPerMultiprocessor;
constexpr std::int64_t kMostPerDevice = kMostPerThread * kMultiprocessors * kThreadsPerMultiprocessor;
constexpr std::int64_t kThreads = 8 * 32;  // eight warps a block

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The divisor of `n` nearest to `wanted`; `wanted` itself when none is within 30.
std::int64_t near_divisor(std::int64_t n, std::int64_t wanted, std::int64_t least) {
  for (std::int64_t distance = 0; distance < 30; ++distance) {
    for (const std::int64_t candidate : {wanted - distance, wanted + distance}) {
      if (candidate > 0 && n % candidate == 0) return std::max(candidate, least);
    }
  }
  return wanted;
}

std::int64_t inner_parts(std::int64_t kept, std::int64_t reduced) {
  constexpr std::int64_t kLongestUncut = 8192;
  if (kept >= 2 * kMultiprocessors || reduced <= kLongestUncut) return 1;
  std::int64_t each = kLeastPerThread;
  if (kept * reduced > kLeastPerDevice) {
    const std::int64_t blocks = ceil_div(kMultiprocessors * kThreadsPerMultiprocessor / (2 * kThreads), kept);
    each = kept * reduced < kMostPerDevice ? near_divisor(reduced, ceil_div(reduced, kThreads * blocks), kLeastPerThread)
                                           : near_divisor(reduced, kMostPerThread, 1);
  }
  return ceil_div(reduced, each * kThreads);
}

std::int64_t outer_parts(std::int64_t kept, std::int64_t reduced) {
  constexpr std::int64_t kRowsPerThread = 4, kColumnsPerBlock = 128;
  std::int64_t each = kLeastPerThread;
  if (kept * reduced >= kLeastPerDevice) {
    const std::int64_t blocks = ceil_div(kMultiprocessors * kThreadsPerMultiprocessor / kThreads, ceil_div(kept, kColumnsPerBlock));
    each = kept * reduced < kMostPerDevice ? near_divisor(reduced, ceil_div(reduced, kRowsPerThread * blocks), kLeastPerThread)
                                           : near_divisor(reduced, kMostPerThread, 1);
  }
  return ceil_div(reduced, kRowsPerThread * each);
}

}  // namespace

std::int64_t reduction_parts(std::int64_t kept, std::int64_t reduced, bool outer) {
  if (kept == 1) return inner_parts(kept, reduced);
  if (reduced <= kLeastPerThread || kept >= kMultiprocessors * 2 * 32) return 1;
  return outer ? outer_parts(kept, reduced) : inner_parts(kept, reduced);
}

bool sums_both_ways(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kLeastElements = 5 * (std::int64_t{1} << 20), kLeastRows = 4096, kMostColumns = 1024 * 16;
  return rows * columns >= kLeastElements && rows >= 2 * columns && rows >= kLeastRows && columns <= kMostColumns;
}

bool is_persistent(std::int64_t reduced, bool outer) {
  constexpr std::int64_t kInnerRow = 1024, kOuterColumn = 64;
  return reduced <= (outer ? kOuterColumn : kInnerRow);
}

}  // namespace sgsim::compile::fuse

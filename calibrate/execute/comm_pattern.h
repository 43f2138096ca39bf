#pragma once

#include <algorithm>
#include <cstddef>

#include "sim/graph/collective.h"

#ifdef __CUDACC__
#define SGSIM_BOTH __host__ __device__
#else
#define SGSIM_BOTH
#endif

namespace sgsim::calibrate {

/// What ranks put into communications: small whole numbers, so that sums are exact in bfloat16 (8 bits) and every element of a result has
/// one right value. Element `i` of the rank at `place` of its group, in [0, most).
[[nodiscard]] SGSIM_BOTH inline int comm_pattern(int place, std::size_t i, int most) {
  return static_cast<int>((i * 7 + i / 1021 + static_cast<std::size_t>(place) * 13) % static_cast<std::size_t>(most));
}
/// Of a group: sums stay at most 256, the largest whole number below which bfloat16 has them all.
[[nodiscard]] inline int comm_pattern_most(int members) { return std::max(2, 256 / std::max(16, members)); }

/// What element `i` of a result must be, on the rank at `place` among `members`; `part`: elements of one rank's share (the count of the
/// whole buffer over the members). send_receive: the other of a pair has sent.
struct ExpectedResult {
  graph::CollectiveOp op = graph::CollectiveOp::all_reduce;
  int place = 0, members = 1, most = 16;
  std::size_t part = 1;
  [[nodiscard]] SGSIM_BOTH int operator()(std::size_t i) const {
    const int from = static_cast<int>(i / part);
    switch (op) {
      case graph::CollectiveOp::all_reduce:
      case graph::CollectiveOp::reduce_scatter: {
        const std::size_t at = op == graph::CollectiveOp::all_reduce ? i : static_cast<std::size_t>(place) * part + i;
        int sum = 0;
        for (int m = 0; m < members; ++m) sum += comm_pattern(m, at, most);
        return sum;
      }
      case graph::CollectiveOp::all_gather: return comm_pattern(from, i % part, most);
      case graph::CollectiveOp::all_to_all: return comm_pattern(from, static_cast<std::size_t>(place) * part + i % part, most);
      case graph::CollectiveOp::broadcast: return comm_pattern(0, i, most);
      case graph::CollectiveOp::send_receive: return comm_pattern(1 - place, i, most);
    }
    return -1;
  }
};

}  // namespace sgsim::calibrate

#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace sgsim::search {

/// One piece of work on one rank. Times in seconds.
struct StreamOp {
  std::uint8_t stream = 0;      // 0: computation; kCopies: kernels beside it; others: transfers
  double work = 0.0;            // alone
  std::array<std::int32_t, 2> waits{-1, -1};  // earlier operations that must have ended
  double issued = 0.0;          // it does not start before
  double last_launch = 0.0;     // it does not end before: a run of kernels whose last one the host launches late
};

/// How computation and transfers of a rank slow each other (>= 1), as lower::Program has it.
struct Slowdown {
  double compute = 1.0, transfer = 1.0;
};

inline constexpr std::size_t kStreams = 4;
inline constexpr std::uint8_t kCopies = 3;   // small kernels on a stream of their own: neither slowed nor slowing

/// Ends of the operations, from time 0. Streams run in the order of `ops`; while both run, computation advances at 1 / slowdown.compute and
/// every transfer at 1 / slowdown.transfer.
void run_streams(const std::vector<StreamOp>& ops, const Slowdown& slowdown, std::vector<double>& ends);

}  // namespace sgsim::search

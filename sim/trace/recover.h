#pragma once

#include <vector>

#include "sim/trace/dependencies.h"

namespace sgsim::trace {

/// Ends of device operations reach the host, and starts follow what they waited for, within this (measured on A100 and H200
/// traces: 1 to 5 us between streams, up to 20 us to the host).
inline constexpr Nanoseconds kStartsAfter = 8'000;
inline constexpr Nanoseconds kHostWakesAfter = 60'000;
/// A start this much later than stream and launch allow has another reason.
inline constexpr Nanoseconds kUnexplained = 4'000;
/// Least time from the begin of a launch to the start of its kernel seen on A100 and H200.
inline constexpr Nanoseconds kLeastLaunch = 4'000;

/// A launch that takes longer did something else too (a usual one takes 3 to 15 us).
inline constexpr Nanoseconds kSlowLaunch = 40'000;

[[nodiscard]] inline Nanoseconds end_of(const DeviceOp& op) { return op.start + op.duration; }
[[nodiscard]] inline Nanoseconds end_of(const HostCall& call) { return call.start + call.duration; }

/// Fills order, issue and stream_before.
void recover_order(const RankTrace& rank, Dependencies& result);
/// Fills edges.
void recover_edges(const ImportedRun& run, const RankTrace& rank, Dependencies& result);
/// Fills waits.
void recover_waits(const ImportedRun& run, const RankTrace& rank, Dependencies& result);
/// Counts device operations that nothing waits for: no later one of their stream, no edge, no host wait. In a sound trace these are the last of each stream.
void count_without_dependants(const ImportedRun& run, const RankTrace& rank, Dependencies& result);

}  // namespace sgsim::trace

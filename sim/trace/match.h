#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/trace/imported_run.h"

namespace sgsim::trace {

/// One member of one operation.
struct Member {
  std::uint32_t rank = 0, collective = 0;  // ImportedRun::ranks, RankTrace::collectives
  auto operator<=>(const Member&) const = default;
};

/// One operation of a communicator over the imported ranks that took part.
struct Matched {
  std::uint32_t group = 0, sequence = 0;
  CommKind kind = CommKind::other;
  double bytes = -1.0;
  std::vector<Member> members;             // by rank; of a send and its receive: both
  std::uint32_t channel = 0;               // 0: of the whole group; else the pair of ranks within the group that sends and receives (match_pairs.cpp)
  Nanoseconds transfer = 0;                // least duration over the members: the last to arrive waits for nobody
  Nanoseconds waiting = 0;                 // sum over the members of duration beyond that
};

/// A clock against that of the first rank: time = first_rank_time + offset + drift * (first_rank_time - from).
struct Clock {
  Nanoseconds offset = 0, from = 0;
  double drift = 0.0;                      // seconds a second; 0 unless the fit is better by half
  Nanoseconds skew = 0;                    // greatest difference of a collective's ends that is left
  std::uint32_t collectives = 0;           // compared; 0: the rank shares no operation with others, and its clock is as it was
};

/// A time of this clock on the first rank's.
[[nodiscard]] Nanoseconds to_first_clock(const Clock& clock, Nanoseconds time);

struct Matching {
  std::vector<Matched> operations;         // by first start
  std::vector<Clock> clocks;               // by rank
  Nanoseconds raw_skew = 0, skew = 0;      // greatest difference of ends over all operations, before and after alignment
  Diagnostics report;                      // "import.match.<what>"; differing operations are errors that name rank, group, index and both
};

/// Matches collectives over ranks by group and order, and sends with receives by group, the pair of ranks and order; checks kind and size,
/// and estimates the clocks from their ends. Of kernels without start times only the durations count; where not one has any, `transfer` is 0.
[[nodiscard]] Matching match_collectives(const ImportedRun& run);

/// Matches sends with receives: the k-th from one rank to another of a group with the k-th that the other receives from it. Where a file names no
/// peer, a group of two has only one; a fused send and receive (NCCL's SendRecv kernel) is matched in order. `lists`: by rank of the run, its
/// sends and receives of group `group`.
void match_pairs(const ImportedRun& run, std::uint32_t group, const std::map<std::uint32_t, std::vector<std::uint32_t>>& lists, Matching& result);

/// Whether communications last as long as their transfer alone in the file: timelines of sgsim tell waiting apart, but for replays of runs where it was not known.
[[nodiscard]] bool waiting_apart(const ImportedRun& run);

/// The device operation of a member, or nothing where it has none with times.
[[nodiscard]] const DeviceOp* kernel_of(const ImportedRun& run, const Member& member);
/// "all_reduce of 2048 bytes (allreduce)"; "rank 3", or the file of a rank without number.
[[nodiscard]] std::string operation_name(const ImportedRun& run, const Collective& collective);
[[nodiscard]] std::string rank_name(const RankTrace& rank);

/// Moves every rank onto the first rank's clock.
void align_clocks(ImportedRun& run, const Matching& matching);

/// Sum of `transfer` over the operations.
[[nodiscard]] Nanoseconds total_transfer(const Matching& matching);

}  // namespace sgsim::trace

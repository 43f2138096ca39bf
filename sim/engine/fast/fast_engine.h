#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/engine/fast/event_heap.h"
#include "sim/engine/fast/fast_program.h"
#include "sim/engine/rank_clock.h"

namespace sgsim::engine {

/// The fast engine with its buffers, for callers that simulate many workloads one after another. Not thread-safe: one a
/// thread. `run` gives what run_fast gives, whatever ran before.
class FastEngine {
 public:
  [[nodiscard]] timeline::Timeline run(const Folded& folded, const Options& options);

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint16_t kNoStream = std::numeric_limits<std::uint16_t>::max();

  enum class State : std::uint8_t { waiting, launching, running, arrived, transferring, finished };

  /// One stream of one rank; its current task is tasks[next] of the rank's program. Small: all of them are walked through
  /// all the time.
  struct Stream {
    std::uint32_t next = 0, end = 0;
    std::uint32_t rank = 0;
    std::uint32_t transfer = kNone;          // while transferring
    std::uint32_t part = 0;                  // while a run with parts is running: FastProgram::parts
    std::uint16_t first_waiter = kNoStream;  // streams of the rank that wait for this one
    std::uint16_t next_waiter = kNoStream;   // in the list that this stream waits in
    State state = State::waiting;
  };

  /// Of the current task of a stream; only kept where spans are asked for.
  struct TaskTimes {
    double ready = 0.0, start = 0.0;
  };

  struct Rank {
    const FastProgram* program = nullptr;
    std::uint32_t first_stream = 0;
    std::uint32_t first_group = 0;         // in groups_of_
    std::uint32_t first_host = 0;          // in host_
    std::uint32_t syncs = 0;               // host_syncs done
    std::uint16_t streams = 0;
    std::uint16_t sync_waiter = kNoStream; // streams that wait for the host's next synchronisation
    bool spans = false, dirty = false;
    bool computing = false, transferring = false;  // as the rates in force assume
    double slowness = 1.0;                 // 1 / speed
    std::uint32_t alone = kNone;           // stream whose run has nothing beside it: its event is the end of the run,
    double alone_since = 0.0;              // and its part the one that began then
    RankClock clock;
  };

  struct GroupState {
    std::uint32_t expected = 0;            // (member, slot) pairs
    std::uint32_t pending = kNone;         // transfers not yet over, a list
    std::uint32_t spare = kNone;
  };

  struct Arrival {
    std::uint32_t stream = 0;
    double time = 0.0;
  };

  /// One operation of a group.
  struct Transfer {
    std::uint32_t group = 0, use = 0, operation = 0;
    std::uint32_t arrived = 0;
    std::uint32_t first_arrival = 0;       // in arrivals_
    std::uint32_t next = kNone;
    std::uint32_t computing = 0;           // arrivals whose rank computes
    double device = 0.0;
    double slowdown = 1.0;                 // while a member computes
  };

  void load(const Folded& folded, const Options& options);
  void load_ranks(const lower::Workload& workload);
  void simulate();
  void handle_stream(std::uint32_t stream);
  void finish_transfer(std::uint32_t index);

  void advance(std::uint32_t stream);      // to its next task
  void start_next(std::uint32_t stream);
  void begin(std::uint32_t stream, const FastTask& task);
  void start_part(std::uint32_t stream);
  [[nodiscard]] bool end_part(std::uint32_t stream);
  void interrupt(Rank& rank);
  void synchronise(std::uint32_t stream, const FastTask& task);
  void arrive(std::uint32_t stream, const FastTask& task);
  void start_transfer(std::uint32_t index);
  void wake(std::uint32_t first_stream, std::uint16_t waiter);
  void note_ready(std::uint32_t stream, double time);
  void note_start(std::uint32_t stream, double time);
  void finish_task(std::uint32_t stream);
  [[nodiscard]] std::uint32_t transfer_of(std::uint32_t group, std::uint32_t use);
  void mark_dirty(std::uint32_t rank);
  void settle();
  void settle_computations(Rank& rank, bool transferring);
  void settle_transfers(Rank& rank, bool computing);
  [[nodiscard]] bool in_collective_part(const Stream& stream) const;
  [[nodiscard]] double slowdown(const Transfer& transfer) const { return transfer.computing > 0 ? transfer.slowdown : 1.0; }
  [[nodiscard]] timeline::Timeline collect(const Folded& folded);
  void check_finished() const;

  double now_ = 0.0;
  bool interference_ = false;
  const lower::Workload* workload_ = nullptr;
  OperationNumbers numbers_;
  std::vector<FastProgram> programs_;
  std::vector<Rank> ranks_;
  std::vector<Stream> streams_;
  std::vector<TaskTimes> times_;           // by stream; empty without spans
  std::vector<std::uint32_t> groups_of_;   // group of each rank's slot
  std::vector<double> host_;               // host clock after each host_sync of each rank
  std::vector<GroupState> groups_;
  std::vector<Transfer> transfers_;
  std::vector<Arrival> arrivals_;
  std::vector<std::uint32_t> dirty_;
  std::vector<timeline::Span> spans_;
  EventHeap events_;
};

}  // namespace sgsim::engine

// Rates while computation and transfers overlap. An event changes what a rank runs; rates follow once the event is done.
// What is left of an activity stands in its event: its end, at the rate in force. A new rate stretches that time.
#include "sim/engine/fast/fast_engine.h"

#include <algorithm>

namespace sgsim::engine {

void FastEngine::mark_dirty(std::uint32_t rank) {
  if (!interference_ || ranks_[rank].dirty) return;
  ranks_[rank].dirty = true;
  dirty_.push_back(rank);
}

void FastEngine::settle() {
  for (const std::uint32_t index : dirty_) {
    Rank& rank = ranks_[index];
    rank.dirty = false;
    const bool computing = rank.clock.computing();
    const bool transferring = rank.clock.transferring();
    if (transferring != rank.transferring) settle_computations(rank, transferring);
    if (computing != rank.computing) settle_transfers(rank, computing);
  }
  dirty_.clear();
}

void FastEngine::settle_computations(Rank& rank, bool transferring) {
  rank.transferring = transferring;
  const double slow = rank.program->compute_slowdown;
  if (slow == 1.0 || !rank.clock.computing()) return;
  for (std::uint32_t stream = rank.first_stream; stream < rank.first_stream + rank.streams; ++stream) {
    const Stream& s = streams_[stream];
    if (s.state != State::running || rank.program->tasks[s.next].kind() != lower::TaskKind::compute || in_collective_part(s)) continue;
    events_.stretch(now_, transferring ? slow : 1.0 / slow, stream);
  }
}

void FastEngine::settle_transfers(Rank& rank, bool computing) {
  rank.computing = computing;
  if (!rank.clock.transferring()) return;
  for (std::uint32_t stream = rank.first_stream; stream < rank.first_stream + rank.streams; ++stream) {
    if (in_collective_part(streams_[stream])) {
      const double slow = rank.program->transfer_slowdown;
      if (slow != 1.0) events_.stretch(now_, computing ? slow : 1.0 / slow, stream);
      continue;
    }
    if (streams_[stream].state != State::transferring) continue;
    Transfer& transfer = transfers_[streams_[stream].transfer];
    const double before = slowdown(transfer);
    transfer.computing += computing ? 1u : -1u;
    const double after = slowdown(transfer);
    if (before == after) continue;
    events_.stretch(now_, after / before, static_cast<std::uint32_t>(streams_.size()) + streams_[stream].transfer);
  }
}

}  // namespace sgsim::engine

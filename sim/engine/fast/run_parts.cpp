// Runs with merged collectives (lower::Part). Beside other work of the rank each part is an activity of its own: a computation or a
// transfer, at the rates of interference.cpp. While nothing else runs on the rank, the run as a whole is one event; what begins
// beside it interrupts it in the part in which it then is.
#include <algorithm>

#include "sim/engine/fast/fast_engine.h"

namespace sgsim::engine {
namespace {

/// From the beginning of `from` to that of `to` with nothing beside them.
double kernels_between(const FastPart& from, const FastPart& to, double slowness) { return (to.kernels_before - from.kernels_before) * slowness; }
double between(const FastPart& from, const FastPart& to, double slowness) {
  return kernels_between(from, to, slowness) + (to.collectives_before - from.collectives_before);
}

void begin_part(RankClock& clock, const FastPart& part, double now) {
  if (part.collective) {
    clock.begin_transfer(now, now);
  } else {
    clock.begin_compute(now);
  }
}

void end_part(RankClock& clock, const FastPart& part, double now) {
  if (part.collective) {
    clock.end_transfer(now);
  } else {
    clock.end_compute(now);
  }
}

const FastPart& end_of(const FastPart& part) { return (&part)[part.rest]; }

}  // namespace

bool FastEngine::in_collective_part(const Stream& stream) const {
  if (stream.state != State::running) return false;
  const FastProgram& program = *ranks_[stream.rank].program;
  const FastTask& task = program.tasks[stream.next];
  return task.kind() == lower::TaskKind::compute && task.comm != 0 && program.parts[stream.part].collective;
}

void FastEngine::start_part(std::uint32_t stream) {
  Stream& s = streams_[stream];
  Rank& rank = ranks_[s.rank];
  const FastPart& part = rank.program->parts[s.part];
  const bool alone = rank.clock.idle();
  begin_part(rank.clock, part, now_);
  if (alone) {
    rank.alone = stream;
    rank.alone_since = now_;
    rank.computing = !part.collective;  // nothing else is there whose rate would follow
    rank.transferring = part.collective;
    events_.push(now_ + between(part, end_of(part), rank.slowness), stream);
    return;
  }
  mark_dirty(s.rank);
  const double time = part.collective ? part.device * (rank.computing ? rank.program->transfer_slowdown : 1.0)
                                      : part.device * rank.slowness * (rank.transferring ? rank.program->compute_slowdown : 1.0);
  events_.push(now_ + time, stream);
}

/// Whether it was the last.
bool FastEngine::end_part(std::uint32_t stream) {
  Stream& s = streams_[stream];
  Rank& rank = ranks_[s.rank];
  const FastPart* part = &rank.program->parts[s.part];
  mark_dirty(s.rank);
  if (rank.alone == stream) {
    rank.alone = kNone;
    rank.clock.pass_run(now_, kernels_between(*part, end_of(*part), rank.slowness));
    engine::end_part(rank.clock, *part, now_);
    return true;
  }
  engine::end_part(rank.clock, *part, now_);
  ++s.part;
  if (part[1].rest == 0) return true;
  start_part(stream);
  return false;
}

void FastEngine::interrupt(Rank& rank) {
  if (rank.alone == kNone) return;
  Stream& s = streams_[rank.alone];
  const FastPart& first = rank.program->parts[s.part];
  const double elapsed = now_ - rank.alone_since;
  const FastPart* part = std::partition_point(&first + 1, &first + first.rest, [&](const FastPart& p) { return between(first, p, rank.slowness) <= elapsed; }) - 1;
  const double inside = part->collective ? 0.0 : elapsed - between(first, *part, rank.slowness);
  rank.clock.pass_run(now_, kernels_between(first, *part, rank.slowness) + inside);
  if (part->collective != first.collective) {
    engine::end_part(rank.clock, first, now_);
    begin_part(rank.clock, *part, now_);
  }
  events_.move(rank.alone_since + between(first, part[1], rank.slowness), rank.alone);
  rank.computing = !part->collective;
  rank.transferring = part->collective;
  s.part += static_cast<std::uint32_t>(part - &first);
  mark_dirty(s.rank);
  rank.alone = kNone;
}

}  // namespace sgsim::engine

#include "sim/engine/fast/fast_engine.h"

#include <algorithm>
#include <utility>

#include "sim/core/stop.h"
#include "sim/engine/check/check.h"

namespace sgsim::engine {

using lower::TaskKind;

timeline::Timeline FastEngine::run(const Folded& folded, const Options& options) {
  check_workload(folded.workload);
  load(folded, options);
  simulate();
  check_finished();
  return collect(folded);
}

void FastEngine::simulate() {
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) start_next(stream);
  settle();
  for (StopWatch watch; !events_.empty(); watch.turn()) {
    const EventHeap::Event event = events_.top();
    events_.pop();
    now_ = event.time;
    if (event.activity < streams_.size()) {
      handle_stream(event.activity);
    } else {
      finish_transfer(event.activity - static_cast<std::uint32_t>(streams_.size()));
    }
    settle();
  }
}

void FastEngine::handle_stream(std::uint32_t stream) {
  Stream& s = streams_[stream];
  Rank& rank = ranks_[s.rank];
  const FastTask& task = rank.program->tasks[s.next];
  if (s.state == State::launching) {
    begin(stream, task);
    return;
  }
  switch (task.kind()) {
    case TaskKind::compute:
      if (task.comm != 0) {
        if (!end_part(stream)) return;
        break;
      }
      rank.clock.end_compute(now_);
      mark_dirty(s.rank);
      break;
    case TaskKind::copy: rank.clock.end_copy(now_); break;
    case TaskKind::host_sync: {
      host_[rank.first_host + ++rank.syncs] = now_;
      finish_task(stream);
      const std::uint16_t waiter = std::exchange(rank.sync_waiter, kNoStream);
      advance(stream);
      wake(rank.first_stream, waiter);
      return;
    }
    default: break;
  }
  finish_task(stream);
  advance(stream);
}

void FastEngine::finish_task(std::uint32_t stream) {
  const Stream& s = streams_[stream];
  Rank& rank = ranks_[s.rank];
  rank.clock.end_task(now_);
  if (rank.spans) {
    spans_.push_back({.rank = s.rank, .task = rank.program->index[s.next], .stream = static_cast<std::uint16_t>(stream - rank.first_stream),
                      .arrival = Seconds(times_[stream].ready), .start = Seconds(times_[stream].start), .end = Seconds(now_)});
  }
}

void FastEngine::note_ready(std::uint32_t stream, double time) {
  if (!times_.empty()) times_[stream].ready = time;
}

void FastEngine::note_start(std::uint32_t stream, double time) {
  if (!times_.empty()) times_[stream].start = time;
}

void FastEngine::advance(std::uint32_t stream) {
  Stream& s = streams_[stream];
  ++s.next;
  s.state = State::waiting;
  const std::uint16_t waiter = std::exchange(s.first_waiter, kNoStream);
  start_next(stream);
  if (waiter != kNoStream) wake(ranks_[streams_[stream].rank].first_stream, waiter);
}

void FastEngine::wake(std::uint32_t first_stream, std::uint16_t waiter) {
  while (waiter != kNoStream) {
    const std::uint32_t stream = first_stream + waiter;
    waiter = std::exchange(streams_[stream].next_waiter, kNoStream);
    start_next(stream);
  }
}

void FastEngine::start_next(std::uint32_t stream) {
  Stream& s = streams_[stream];
  if (s.next == s.end) {
    s.state = State::finished;
    return;
  }
  Rank& rank = ranks_[s.rank];
  const FastTask& task = rank.program->tasks[s.next];
  const auto local = static_cast<std::uint16_t>(stream - rank.first_stream);
  if (task.sync > rank.syncs) {
    s.next_waiter = std::exchange(rank.sync_waiter, local);
    return;
  }
  const FastDependency* dependency = rank.program->dependencies.data() + (&task)[-1].dependency_end;
  const FastDependency* end = rank.program->dependencies.data() + task.dependency_end;
  for (; dependency != end; ++dependency) {
    Stream& other = streams_[rank.first_stream + dependency->stream];
    if (other.next < dependency->target) {
      s.next_waiter = std::exchange(other.first_waiter, local);
      return;
    }
  }
  note_ready(stream, now_);
  if (task.kind() == TaskKind::host_sync) {
    synchronise(stream, task);
    return;
  }
  const double launch = host_[rank.first_host + task.sync] + task.launch;
  if (launch > now_) {
    s.state = State::launching;
    events_.push(launch, stream);
  } else {
    begin(stream, task);
  }
}

void FastEngine::synchronise(std::uint32_t stream, const FastTask& task) {
  streams_[stream].state = State::running;
  const double start = std::max(now_, host_[ranks_[streams_[stream].rank].first_host + task.sync] + task.launch);
  note_start(stream, start);
  events_.push(start + task.device, stream);
}

void FastEngine::begin(std::uint32_t stream, const FastTask& task) {
  Stream& s = streams_[stream];
  Rank& rank = ranks_[s.rank];
  note_start(stream, now_);
  s.state = State::running;
  switch (task.kind()) {
    case TaskKind::compute:
      interrupt(rank);
      if (task.comm != 0) {
        s.part = task.comm;
        start_part(stream);
        break;
      }
      rank.clock.begin_compute(now_);
      mark_dirty(s.rank);
      events_.push(now_ + task.device * rank.slowness * (rank.transferring ? rank.program->compute_slowdown : 1.0), stream);
      break;
    case TaskKind::copy:
      interrupt(rank);
      rank.clock.begin_copy(now_);
      events_.push(now_ + task.device, stream);
      break;
    default: arrive(stream, task); break;
  }
}

void FastEngine::arrive(std::uint32_t stream, const FastTask& task) {
  Stream& s = streams_[stream];
  const Rank& rank = ranks_[s.rank];
  const FastComm& comm = rank.program->comms[task.comm];
  const std::uint32_t group = groups_of_[rank.first_group + comm.slot];
  const std::uint32_t index = transfer_of(group, task.use);
  Transfer& transfer = transfers_[index];
  s.state = State::arrived;
  note_ready(stream, now_);
  s.transfer = index;
  const bool collective = task.kind() == TaskKind::collective;
  if (!collective && groups_[group].expected != 2) throw not_a_pair(*workload_, s.rank, rank.program->index[s.next]);
  if (transfer.arrived == 0) {
    transfer.operation = comm.operation;
    transfer.device = task.device;
    transfer.slowdown = rank.program->transfer_slowdown;
  } else {
    if (transfer.operation != (collective ? comm.operation : comm.operation ^ 1u)) {
      const Stream& first = streams_[arrivals_[transfer.first_arrival].stream];
      throw mismatch(*workload_, first.rank, ranks_[first.rank].program->index[first.next], s.rank, rank.program->index[s.next]);
    }
    transfer.device = std::max(transfer.device, task.device);
    transfer.slowdown = std::max(transfer.slowdown, rank.program->transfer_slowdown);
  }
  arrivals_[transfer.first_arrival + transfer.arrived] = {.stream = stream, .time = now_};
  if (++transfer.arrived == groups_[group].expected) start_transfer(index);
}

void FastEngine::start_transfer(std::uint32_t index) {
  Transfer& transfer = transfers_[index];
  transfer.computing = 0;
  for (std::uint32_t a = 0; a < transfer.arrived; ++a) {
    const Arrival& arrival = arrivals_[transfer.first_arrival + a];
    Stream& s = streams_[arrival.stream];
    Rank& rank = ranks_[s.rank];
    s.state = State::transferring;
    interrupt(rank);
    note_start(arrival.stream, now_);
    rank.clock.begin_transfer(now_, arrival.time);
    transfer.computing += rank.computing ? 1 : 0;
    mark_dirty(s.rank);
  }
  const auto activity = static_cast<std::uint32_t>(streams_.size()) + index;
  events_.push(now_ + transfer.device * slowdown(transfer), activity);
}

void FastEngine::finish_transfer(std::uint32_t index) {
  const std::uint32_t group = transfers_[index].group;
  std::uint32_t* link = &groups_[group].pending;
  while (*link != index) link = &transfers_[*link].next;
  *link = transfers_[index].next;
  const std::uint32_t first = transfers_[index].first_arrival;
  const std::uint32_t count = transfers_[index].arrived;
  for (std::uint32_t a = first; a < first + count; ++a) {
    Stream& s = streams_[arrivals_[a].stream];
    ranks_[s.rank].clock.end_transfer(now_);
    mark_dirty(s.rank);
    finish_task(arrivals_[a].stream);
    advance(arrivals_[a].stream);
  }
  // Only now: what the members have gone on to must not take this transfer's arrivals.
  transfers_[index].next = std::exchange(groups_[group].spare, index);
}

std::uint32_t FastEngine::transfer_of(std::uint32_t group, std::uint32_t use) {
  GroupState& g = groups_[group];
  for (std::uint32_t t = g.pending; t != kNone; t = transfers_[t].next) {
    if (transfers_[t].use == use) return t;
  }
  std::uint32_t index = g.spare;
  if (index == kNone) {
    index = static_cast<std::uint32_t>(transfers_.size());
    transfers_.push_back({.first_arrival = static_cast<std::uint32_t>(arrivals_.size())});
    arrivals_.resize(arrivals_.size() + g.expected);
    events_.reserve_activities(streams_.size() + transfers_.size());
  } else {
    g.spare = transfers_[index].next;
  }
  Transfer& transfer = transfers_[index];
  transfer.group = group;
  transfer.use = use;
  transfer.arrived = 0;
  transfer.next = std::exchange(g.pending, index);
  return index;
}

}  // namespace sgsim::engine

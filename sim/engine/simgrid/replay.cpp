#include "sim/engine/simgrid/replay.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "sim/core/error.h"
#include "sim/engine/check/check.h"

namespace sgsim::engine {
namespace {

using lower::TaskKind;

constexpr std::uint32_t kDone = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Replay::Replay(const Folded& folded, const cluster::Cluster& cluster, const Options& options) : folded_(folded), workload_(folded.workload) {
  for (const lower::Program& program : workload_.programs) scripts_.push_back(make_script(program));
  groups_.resize(workload_.groups.size());
  for (const lower::RankBinding& binding : workload_.ranks) {
    Rank rank;
    rank.script = &scripts_[binding.program.value];
    rank.speed = binding.speed;
    rank.spans = options.all_spans;
    rank.ready_at.assign(rank.script->program->streams.size(), 0.0);
    rank.started_at = rank.ready_at;
    rank.host_free.assign(rank.script->syncs + 1, 0.0);
    rank.first_count = waiting_for_.size();
    for (const Script::Node& node : rank.script->nodes) waiting_for_.push_back(node.predecessors);
    ranks_.push_back(std::move(rank));
    for (const GroupId group : binding.groups) {
      if (group.valid()) ++groups_[group.value].bindings;
    }
  }
  for (const std::uint32_t rank : options.spans_of) {
    SGSIM_CHECK(rank < ranks_.size(), "spans of a rank that is not simulated");
    ranks_[rank].spans = true;
  }
  add_channels(cluster);
}

timeline::Timeline Replay::run() {
  start_all();
  for (;;) {
    const double local = events_.empty() ? Network::kNever : events_.top().time;
    const double flows = network_ ? network_->next_end() : Network::kNever;
    if (local == Network::kNever && flows == Network::kNever) break;
    if (flows <= local) {
      network_->advance(flows);
      now_ = std::max(now_, network_->now());
    } else {
      const Event event = events_.top();
      events_.pop();
      handle(event);
    }
    if (network_) end_flows(network_->take_ended());  // an event may have moved the clock to where flows end as well
  }
  check_finished();
  return collect();
}

void Replay::start_all() {
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const auto& nodes = ranks_[r].script->nodes;
    for (std::uint32_t t = 0; t < nodes.size(); ++t) {
      if (nodes[t].predecessors == 0) ready(r, t);
    }
  }
}

std::uint32_t Replay::schedule(double time, Event::Kind kind, std::uint32_t owner, std::uint32_t item) {
  events_.push({.time = time, .ticket = ++tickets_, .kind = kind, .owner = owner, .item = item});
  return tickets_;
}

void Replay::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::launch:
      now_ = event.time;
      launch(event.owner, event.item);
      break;
    case Event::Kind::task_end: {
      if (task_of(event.owner, event.item).kind == TaskKind::compute) {
        const auto& running = ranks_[event.owner].running;
        const auto current = std::find_if(running.begin(), running.end(), [&](const Running& r) { return r.ticket == event.ticket; });
        if (current == running.end()) return;
      }
      now_ = event.time;
      end_task(event.owner, event.item);
      break;
    }
    case Event::Kind::operation: {
      GroupState& group = groups_[event.owner];
      if (event.item < group.first_use) return;
      Operation& current = operation(event.owner, event.item);
      if (current.ticket != event.ticket) return;
      now_ = event.time;
      if (current.flow_seconds > 0.0) {
        start_flows(event.owner, event.item);
      } else {
        end_operation(event.owner, event.item);
      }
      break;
    }
  }
}

void Replay::end_flows(const std::vector<std::uint32_t>& channels) {
  for (const std::uint32_t channel : channels) {
    const auto [group, use] = on_channel_[channel];
    groups_[group].free_channels[channel_pattern_[channel]].push_back(channel);
    end_operation(group, use);
  }
}

/// All before it on this rank is done; the host decides when it may begin.
void Replay::ready(std::uint32_t rank, std::uint32_t task) {
  Rank& r = ranks_[rank];
  const Script::Node& node = r.script->nodes[task];
  const lower::Task& t = r.script->program->tasks[task];
  const double issue = r.host_free[node.sync] + node.host_before;
  r.ready_at[node.stream] = now_;
  if (node.kind == TaskKind::host_sync) {
    r.started_at[node.stream] = std::max(now_, issue);
    (void)schedule(r.started_at[node.stream] + t.host.value(), Event::Kind::task_end, rank, task);
    return;
  }
  const double start = issue + (t.issue_to_end.value() - t.device.value());
  if (start > now_) {
    (void)schedule(start, Event::Kind::launch, rank, task);
  } else {
    launch(rank, task);
  }
}

void Replay::launch(std::uint32_t rank, std::uint32_t task) {
  const Script::Node& node = ranks_[rank].script->nodes[task];
  ranks_[rank].started_at[node.stream] = now_;
  switch (node.kind) {
    case TaskKind::compute: begin_compute(rank, task); break;
    case TaskKind::copy:
      ranks_[rank].clock.begin_copy(now_);
      (void)schedule(now_ + task_of(rank, task).device.value(), Event::Kind::task_end, rank, task);
      break;
    default: arrive(rank, task); break;
  }
}

void Replay::complete(std::uint32_t rank, std::uint32_t task) {
  Rank& r = ranks_[rank];
  r.clock.end_task(now_);
  const Script::Node& node = r.script->nodes[task];
  if (r.spans) {
    spans_.push_back({.rank = rank, .task = task, .stream = node.stream, 
                      .arrival = Seconds(r.ready_at[node.stream]), .start = Seconds(r.started_at[node.stream]), .end = Seconds(now_)});
  }
  waiting_for_[r.first_count + task] = kDone;
  for (std::uint32_t s = node.first_successor; s < node.last_successor; ++s) {
    const std::uint32_t next = r.script->successors[s];
    if (--waiting_for_[r.first_count + next] == 0) ready(rank, next);
  }
}

void Replay::begin_compute(std::uint32_t rank, std::uint32_t task) {
  Rank& r = ranks_[rank];
  const bool was_computing = r.clock.computing();
  r.clock.begin_compute(now_);
  Running running{.task = task, .ticket = 0, .left = task_of(rank, task).device.value() / r.speed, .since = now_};
  const double slow = r.clock.transferring() ? r.script->program->compute_slowdown : 1.0;
  running.ticket = schedule(now_ + running.left * slow, Event::Kind::task_end, rank, task);
  r.running.push_back(running);
  update_operations(r, was_computing);
}

void Replay::end_task(std::uint32_t rank, std::uint32_t task) {
  Rank& r = ranks_[rank];
  const lower::Task& t = task_of(rank, task);
  if (t.kind == TaskKind::compute) {
    std::erase_if(r.running, [&](const Running& running) { return running.task == task; });
    r.clock.end_compute(now_);
    update_operations(r, true);
  } else if (t.kind == TaskKind::copy) {
    r.clock.end_copy(now_);
  } else {
    r.host_free[r.script->nodes[task].sync + 1] = now_;
  }
  complete(rank, task);
}

void Replay::check_finished() const {
  std::vector<Stuck> stuck;
  for (const GroupState& group : groups_) {
    for (const Operation& operation : group.operations) {
      for (const Member& member : operation.members) {
        if (operation.phase != Operation::Phase::over) stuck.push_back({.rank = member.rank, .task = member.task, .arrived = true});
      }
    }
  }
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const std::uint32_t* counts = waiting_for_.data() + ranks_[r].first_count;
    const auto tasks = static_cast<std::uint32_t>(ranks_[r].script->nodes.size());
    const auto first = static_cast<std::uint32_t>(std::find_if(counts, counts + tasks, [](std::uint32_t count) { return count != kDone; }) - counts);
    if (first < tasks) stuck.push_back({.rank = r, .task = first, .arrived = false});
  }
  if (!stuck.empty()) throw deadlock(workload_, stuck);
}

timeline::Timeline Replay::collect() {
  timeline::Timeline result;
  double step = 0.0;
  for (const Rank& rank : ranks_) step = std::max(step, rank.clock.end());
  result.step_time = Seconds(step);
  for (const Rank& rank : ranks_) {
    result.ranks.push_back(rank.clock.close(step));
    result.tasks += rank.script->nodes.size();
  }
  std::sort(spans_.begin(), spans_.end(), [](const timeline::Span& a, const timeline::Span& b) {
    return std::tuple(a.rank, a.start, a.task) < std::tuple(b.rank, b.start, b.task);
  });
  result.spans = std::move(spans_);
  if (network_) {
    result.engine_settings = network_->settings();
  } else {
    result.engine_settings = {"no transfer crosses the fabric: no link is shared"};
  }
  return result;
}

}  // namespace sgsim::engine

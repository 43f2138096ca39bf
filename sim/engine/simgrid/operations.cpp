// Communication in the replay: members gather, a timed phase passes (all of a transfer inside a node; the latency of one
// between nodes), then flows run until the last has ended.
#include <algorithm>
#include <set>

#include "sim/core/error.h"
#include "sim/engine/check/check.h"
#include "sim/engine/simgrid/replay.h"

namespace sgsim::engine {

using lower::TaskKind;

void Replay::add_channels(const cluster::Cluster& cluster) {
  bool crosses = false;
  for (const lower::Program& program : workload_.programs) {
    for (const lower::Comm& comm : program.comms) crosses = crosses || (comm.transfer.inter_node && comm.transfer.wire_bytes.value() > 0.0);
  }
  if (!crosses) return;
  const bool folded = std::any_of(folded_.multiplicity.begin(), folded_.multiplicity.end(), [](std::uint32_t m) { return m > 1; });
  SGSIM_CHECK(!folded, "the simgrid engine needs every rank where transfers share links; pass an unfolded workload");
  if (cluster.nodes > 1 && cluster.fabric.kind == cluster::FabricKind::none) {
    throw InputError({.file = "cluster " + cluster.name, .where = "fabric", .found = "no fabric between its nodes", .expected = "a fabric that carries the workload's transfers between nodes", .hint = ""});
  }
  for (std::size_t r = 0; r < workload_.ranks.size(); ++r) {
    const auto gpus = static_cast<std::uint32_t>(cluster.gpus());
    if (workload_.ranks[r].gpu.value < gpus) continue;
    throw InputError({.file = "workload", .where = "rank " + std::to_string(r), .found = "GPU " + std::to_string(workload_.ranks[r].gpu.value), .expected = "one of the cluster's " + std::to_string(gpus) + " GPUs", .hint = ""});
  }
  network_ = load_network(cluster);
  for (std::uint32_t g = 0; g < groups_.size(); ++g) add_channels_of(g, cluster);
}

/// A channel for each operation that a group can have in flight at once: one a stream that uses it.
void Replay::add_channels_of(std::uint32_t group, const cluster::Cluster& cluster) {
  std::map<Pattern, std::set<std::uint16_t>> streams;
  std::vector<GpuId> gpus;
  std::set<const Script*> seen;
  for (const RankId member : workload_.groups[group].members) {
    const lower::RankBinding& binding = workload_.ranks[member.value];
    gpus.push_back(binding.gpu);
    const Script* script = ranks_[member.value].script;
    const bool pair = workload_.groups[group].members.size() == 2;
    if (!pair && !seen.insert(script).second) continue;
    for (std::uint32_t t = 0; t < script->nodes.size(); ++t) {
      const lower::Task& task = script->program->tasks[t];
      if (task.kind != TaskKind::collective && task.kind != TaskKind::send) continue;
      const lower::Comm& comm = script->program->comms[task.comm];
      if (!comm.transfer.inter_node || comm.transfer.wire_bytes.value() == 0.0 || binding.groups[comm.slot].value != group) continue;
      streams[pattern_of(group, member.value, t)].insert(task.stream);
    }
  }
  for (const auto& [pattern, users] : streams) {
    const std::vector<FlowPath> paths = flow_paths(cluster, gpus, pattern);
    if (paths.empty()) continue;
    for (std::size_t lane = 0; lane < users.size(); ++lane) {
      groups_[group].free_channels[pattern].push_back(network_->add_channel(paths));
      channel_pattern_.push_back(pattern);
      on_channel_.emplace_back();
    }
  }
}

Pattern Replay::pattern_of(std::uint32_t group, std::uint32_t rank, std::uint32_t task) const {
  if (task_of(rank, task).kind != TaskKind::collective) {
    const bool first = workload_.groups[group].members.front().value == rank;
    const bool sends = task_of(rank, task).kind == TaskKind::send;
    return first == sends ? Pattern::forward : Pattern::backward;
  }
  switch (comm_of(rank, task).op) {
    case graph::CollectiveOp::all_to_all: return Pattern::pairwise;
    case graph::CollectiveOp::broadcast: return Pattern::chain;
    default: return Pattern::ring;
  }
}

void Replay::arrive(std::uint32_t rank, std::uint32_t task) {
  const std::uint32_t group = workload_.ranks[rank].groups[comm_of(rank, task).slot].value;
  const std::uint32_t use = ranks_[rank].script->nodes[task].use;
  GroupState& g = groups_[group];
  SGSIM_CHECK(use >= g.first_use, "an operation that is over gets another member");
  while (g.first_use + g.operations.size() <= use) g.operations.emplace_back();
  Operation& op = operation(group, use);
  const Member member{.rank = rank, .task = task, .arrival = now_};
  check_agreement(group, op, member);
  op.members.push_back(member);
  op.slowdown = std::max(op.slowdown, ranks_[rank].script->program->transfer_slowdown);
  const Member& longest = op.members[op.longest];
  if (task_of(rank, task).device > task_of(longest.rank, longest.task).device) op.longest = static_cast<std::uint32_t>(op.members.size() - 1);
  if (op.members.size() == g.bindings) begin_operation(group, use);
}

void Replay::check_agreement(std::uint32_t group, const Operation& op, const Member& member) const {
  const lower::Task& task = task_of(member.rank, member.task);
  if (task.kind != TaskKind::collective && groups_[group].bindings != 2) throw not_a_pair(workload_, member.rank, member.task);
  if (op.members.empty()) return;
  const Member& first = op.members.front();
  const lower::Task& other = task_of(first.rank, first.task);
  const lower::Comm& a = comm_of(member.rank, member.task);
  const lower::Comm& b = comm_of(first.rank, first.task);
  bool agree = false;
  if (task.kind == TaskKind::collective) {
    agree = other.kind == TaskKind::collective && a.op == b.op && (a.payload == b.payload || a.op == graph::CollectiveOp::all_to_all);
  } else {
    agree = other.kind == (task.kind == TaskKind::send ? TaskKind::receive : TaskKind::send) && a.payload == b.payload;
  }
  if (!agree) throw mismatch(workload_, first.rank, first.task, member.rank, member.task);
}

/// Splits the closed-form time into latency and flows. What a task takes beyond its wire time counts as latency.
void Replay::plan_phases(std::uint32_t group, Operation& op) const {
  const Member& longest = op.members[op.longest];
  const double device = task_of(longest.rank, longest.task).device.value();
  const cost::TransferEstimate& transfer = comm_of(longest.rank, longest.task).transfer;
  op.left = device;
  const auto free = groups_[group].free_channels.find(pattern_of(group, longest.rank, longest.task));
  if (!transfer.inter_node || transfer.wire_bytes.value() == 0.0 || free == groups_[group].free_channels.end()) return;
  op.bytes = transfer.wire_bytes.value();
  op.flow_seconds = (transfer.wire_bytes / transfer.bandwidth).value();
  op.left = std::max(0.0, device - op.flow_seconds);
  if (device < op.flow_seconds * (1.0 - 1e-9)) {
    throw InputError({.file = "workload", .where = describe_task(workload_, longest.rank, longest.task), .found = std::to_string(device) + " s on the device",
                      .expected = "at least the " + std::to_string(op.flow_seconds) + " s that its bytes take at its bandwidth", .hint = ""});
  }
}

void Replay::begin_operation(std::uint32_t group, std::uint32_t use) {
  Operation& op = operation(group, use);
  op.phase = Operation::Phase::timed;
  op.since = now_;
  plan_phases(group, op);
  op.computing = 0;
  for (const Member& member : op.members) op.computing += ranks_[member.rank].clock.computing() ? 1 : 0;
  for (const Member& member : op.members) {
    Rank& rank = ranks_[member.rank];
    const bool was_transferring = rank.clock.transferring();
    rank.clock.begin_transfer(now_, member.arrival);
    rank.transferring.emplace_back(group, use);
    const std::uint16_t stream = rank.script->nodes[member.task].stream;
    rank.ready_at[stream] = member.arrival;
    rank.started_at[stream] = now_;
    update_computations(rank, member.rank, was_transferring);
  }
  if (op.left == 0.0 && op.flow_seconds > 0.0) {
    start_flows(group, use);
  } else {
    op.ticket = schedule(now_ + op.left * slowness(op), Event::Kind::operation, group, use);
  }
}

void Replay::start_flows(std::uint32_t group, std::uint32_t use) {
  Operation& op = operation(group, use);
  op.phase = Operation::Phase::flowing;
  op.ticket = 0;
  auto& free = groups_[group].free_channels[pattern_of(group, op.members[op.longest].rank, op.members[op.longest].task)];
  SGSIM_CHECK(!free.empty(), "more operations of a group at once than it has streams");
  op.channel = free.back();
  free.pop_back();
  on_channel_[op.channel] = {group, use};
  network_->advance(now_);
  network_->start(op.channel, op.bytes, op.flow_seconds);
  if (slowness(op) != 1.0) network_->slow_down(op.channel, slowness(op));
}

void Replay::end_operation(std::uint32_t group, std::uint32_t use) {
  Operation& op = operation(group, use);
  op.phase = Operation::Phase::over;
  const std::vector<Member> members = std::move(op.members);
  GroupState& g = groups_[group];
  while (!g.operations.empty() && g.operations.front().phase == Operation::Phase::over) {
    g.operations.pop_front();
    ++g.first_use;
  }
  for (const Member& member : members) {
    Rank& rank = ranks_[member.rank];
    rank.clock.end_transfer(now_);
    const auto entry = std::find(rank.transferring.begin(), rank.transferring.end(), std::pair(group, use));
    rank.transferring.erase(entry);
    update_computations(rank, member.rank, true);
  }
  for (const Member& member : members) complete(member.rank, member.task);
}

void Replay::update_computations(Rank& rank, std::uint32_t index, bool was_transferring) {
  const double slow = rank.script->program->compute_slowdown;
  const bool transferring = rank.clock.transferring();
  if (slow == 1.0 || transferring == was_transferring) return;
  for (Running& running : rank.running) {
    running.left = std::max(0.0, running.left - (now_ - running.since) / (was_transferring ? slow : 1.0));
    running.since = now_;
    running.ticket = schedule(now_ + running.left * (transferring ? slow : 1.0), Event::Kind::task_end, index, running.task);
  }
}

void Replay::update_operations(Rank& rank, bool was_computing) {
  const bool computing = rank.clock.computing();
  if (computing == was_computing) return;
  for (const auto& [group, use] : rank.transferring) {
    Operation& op = operation(group, use);
    const double before = slowness(op);
    op.computing += computing ? 1u : -1u;
    if (slowness(op) != before) reschedule(group, use, before);
  }
}

void Replay::reschedule(std::uint32_t group, std::uint32_t use, double before) {
  Operation& op = operation(group, use);
  if (op.phase == Operation::Phase::flowing) {
    network_->advance(now_);
    network_->slow_down(op.channel, slowness(op));
    return;
  }
  op.left = std::max(0.0, op.left - (now_ - op.since) / before);
  op.since = now_;
  op.ticket = schedule(now_ + op.left * slowness(op), Event::Kind::operation, group, use);
}

}  // namespace sgsim::engine

#include "sim/replay/stage_builder.h"

#include <algorithm>

#include "sim/trace/beside.h"

namespace sgsim::replay {
namespace {

using lower::Task;
using lower::TaskKind;
using trace::kNone;

Seconds seconds(Nanoseconds t) { return Seconds(static_cast<double>(t) * 1e-9); }

}  // namespace

StageBuilder::StageBuilder(const trace::ImportedRun& run, const trace::RankTrace& rank, const Overlaps& overlaps, std::string name) : run_(run), rank_(rank), overlaps_(overlaps) {
  program_.name = std::move(name);
  for (const trace::Stream& s : rank.streams) program_.streams.push_back("device " + std::to_string(s.device) + " stream " + std::to_string(s.stream));
  for (const std::uint32_t stream : overlaps.lane_stream) program_.streams.push_back(program_.streams[stream] + std::string(trace::kBeside));
  position_.assign(program_.streams.size(), 0);
  edges_.resize(rank.device_ops.size());
  place_.assign(rank.device_ops.size(), 0);
  pass_of_.assign(rank.device_ops.size(), 0);
  for (const trace::StreamEdge& e : overlaps.dependencies.edges) edges_[e.to].push_back(e.from);
}

std::uint16_t StageBuilder::slot(Way way) {
  auto& known = slots_[static_cast<std::size_t>(way)];
  if (!known) known = next_slot_++;
  return *known;
}

std::uint16_t StageBuilder::stream_of(std::uint32_t device_op) const {
  const std::uint32_t lane = overlaps_.lane[device_op];
  return static_cast<std::uint16_t>(lane == kNone ? rank_.device_ops[device_op].stream : rank_.streams.size() + lane);
}

/// A pass begins on a stream when what was on it, and beside it, in the pass before has ended: `before`, by stream of the program.
void StageBuilder::follow_stream(Task& task, std::uint32_t device_op, const std::vector<std::uint32_t>& before) {
  const std::uint32_t stream = rank_.device_ops[device_op].stream;
  depend(task, static_cast<std::uint16_t>(stream), before[stream]);
  for (std::size_t lane = 0; lane < overlaps_.lane_stream.size(); ++lane) {
    const std::size_t on = rank_.streams.size() + lane;
    if (overlaps_.lane_stream[lane] == stream) depend(task, static_cast<std::uint16_t>(on), before[on]);
  }
}

std::uint16_t StageBuilder::stream(const char* name) {
  const auto found = std::find(program_.streams.begin(), program_.streams.end(), name);
  if (found != program_.streams.end()) return static_cast<std::uint16_t>(found - program_.streams.begin());
  program_.streams.emplace_back(name);
  position_.push_back(0);
  return static_cast<std::uint16_t>(program_.streams.size() - 1);
}

NameId StageBuilder::name(const std::string& text) {
  const auto [found, is_new] = names_.try_emplace(text, static_cast<std::uint32_t>(program_.names.size()));
  if (is_new) program_.names.push_back(text);
  return NameId{found->second};
}

std::uint32_t StageBuilder::segment(const std::string& text) {
  const auto [found, is_new] = segments_.try_emplace(text, static_cast<std::uint32_t>(program_.segments.size()));
  if (is_new) program_.segments.push_back({.name = name(text), .recompute = Seconds(0.0)});
  return found->second;
}

void StageBuilder::depend(Task& task, std::uint16_t stream, std::uint32_t position) {
  if (position == 0 || stream == task.stream) return;
  if (task.dependency_count == 0) task.first_dependency = static_cast<std::uint32_t>(program_.dependencies.size());
  program_.dependencies.push_back({.stream = stream, .position = position});
  ++task.dependency_count;
}

std::uint32_t StageBuilder::add(Task task, TaskNote note) {
  program_.tasks.push_back(task);
  notes_.push_back(note);
  return ++position_[task.stream];
}

Task StageBuilder::message(bool sends, bool forward, Nanoseconds transfer, Bytes bytes, std::int32_t micro_batch) {
  const char* text = sends ? (forward ? "send activation" : "send gradient") : forward ? "receive activation" : "receive gradient";
  Task task;
  task.kind = sends ? TaskKind::send : TaskKind::receive;
  task.stream = stream(text);
  task.device = task.issue_to_end = seconds(transfer);
  task.micro_batch = micro_batch;
  task.segment = segment(text);
  task.comm = static_cast<std::uint32_t>(program_.comms.size());
  const Way way = forward ? (sends ? Way::forward_out : Way::forward_in) : sends ? Way::backward_out : Way::backward_in;
  program_.comms.push_back({.slot = slot(way), .name = name(text), .transfer = {.latency = seconds(transfer), .wire_bytes = Bytes(0.0), .bandwidth = BytesPerSecond(0.0), .algorithm = "direct", .protocol = "measured", .source = cost::Source::measured},
                            .payload = bytes, .op = graph::CollectiveOp::send_receive});
  return task;
}

void StageBuilder::write(const Template::Entry& entry, std::int32_t micro_batch, Task& task) {
  const trace::DeviceOp& op = rank_.device_ops[entry.op];
  task.kind = op.kind == trace::DeviceKind::copy ? TaskKind::copy : TaskKind::compute;
  task.stream = stream_of(entry.op);
  task.device = entry.device;
  task.issue_to_end = entry.device + entry.latency;
  task.host = entry.host;
  task.micro_batch = micro_batch;
  task.segment = segment(run_.strings.at(op.name));
  if (!entry.transfer) return;
  const trace::Collective& c = rank_.collectives[op.collective];
  task.kind = TaskKind::collective;
  task.comm = static_cast<std::uint32_t>(program_.comms.size());
  program_.comms.push_back({.slot = slot(entry.role == Role::tensor ? Way::tensor : Way::data), .name = name(run_.strings.at(c.name)),
                            .transfer = {.latency = seconds(*entry.transfer), .wire_bytes = Bytes(0.0), .bandwidth = BytesPerSecond(0.0), .algorithm = "measured", .protocol = "measured", .source = cost::Source::measured},
                            .payload = Bytes(std::max(0.0, c.bytes)), .op = trace::collective_op(c.kind).value_or(graph::CollectiveOp::all_reduce)});
}

void StageBuilder::append(const Template& pass, std::int32_t micro_batch, DataCollectives keeps, bool after_everything, const Neighbours& n) {
  ++passes_;
  std::vector<std::pair<std::uint16_t, std::uint32_t>> before;
  if (after_everything) {
    for (std::size_t s = 0; s < position_.size(); ++s) before.emplace_back(static_cast<std::uint16_t>(s), position_[s]);
  } else if (n.receive) {
    const Task received = message(false, n.forward, *n.receive, n.bytes, micro_batch);
    before.emplace_back(received.stream, add(received, {.work = received.device, .communication = true}));
  } else if (!n.forward) {
    before = previous_;  // the last stage goes back from where it came
  }
  std::map<std::uint16_t, std::uint32_t> ends;  // of streams that the next stage's data comes from
  std::vector<bool> begun(position_.size(), false);
  const std::vector<std::uint32_t> done = position_;
  for (const Template::Entry& entry : pass.entries) {
    if (entry.transfer && entry.role == Role::data && keeps != DataCollectives::all) {
      const bool gathers = rank_.collectives[rank_.device_ops[entry.op].collective].kind == trace::CommKind::all_gather;
      if (keeps == DataCollectives::none || !gathers) continue;
    }
    Task task;
    write(entry, micro_batch, task);
    if (!begun[task.stream]) {
      for (const auto& [s, position] : before) depend(task, s, position);
      follow_stream(task, entry.op, done);
      begun[task.stream] = true;
    }
    for (const std::uint32_t from : edges_[entry.op]) {
      if (pass_of_[from] == passes_) depend(task, stream_of(from), place_[from]);
    }
    place_[entry.op] = add(task, {.work = entry.work, .device_op = entry.op, .communication = rank_.device_ops[entry.op].collective != kNone});
    pass_of_[entry.op] = passes_;
    if (!entry.transfer || entry.role != Role::data) ends[task.stream] = place_[entry.op];
  }
  previous_.assign(ends.begin(), ends.end());
  if (!n.send) return;
  Task sent = message(true, n.forward, *n.send, n.bytes, micro_batch);
  for (const auto& [s, position] : previous_) depend(sent, s, position);
  add(sent, {.work = sent.device, .communication = true});
}

}  // namespace sgsim::replay

#include "sim/replay/program_builder.h"

#include <algorithm>
#include <utility>

#include "sim/replay/overlaps.h"
#include "sim/replay/steps.h"
#include "sim/replay/timing.h"
#include "sim/trace/beside.h"
#include "sim/trace/recover.h"

namespace sgsim::replay {
namespace {

using lower::Task;
using lower::TaskKind;
using trace::kNone;

Seconds seconds(Nanoseconds t) { return Seconds(static_cast<double>(t) * 1e-9); }

/// Something the host does: issue a device operation, or wait.
struct Item {
  Nanoseconds at = 0;
  std::uint32_t index = 0;  // of the device operation, or of Dependencies::waits
  bool waits = false;
};

std::vector<bool> matched(const trace::RankTrace& rank, const ProgramInput& input) {
  std::vector<bool> result(rank.device_ops.size(), false);
  for (const auto& [collective, transfer] : input.transfers) {
    if (rank.collectives[collective].device_op != kNone) result[rank.collectives[collective].device_op] = true;
  }
  return result;
}

class ProgramBuilder {
 public:
  ProgramBuilder(const trace::ImportedRun& run, std::uint32_t rank, const trace::Dependencies& d, const ProgramInput& input, Built& built)
      : run_(run), rank_(run.ranks[rank]), overlaps_(separate_overlaps(rank_, d)), d_(overlaps_.dependencies), input_(input), built_(built), classes_(classes_of(rank_)), timing_(measure_timing(rank_, d_, classes_, matched(rank_, input), overlaps_.beside)) {
    program_.name = rank_.rank >= 0 ? "rank " + std::to_string(rank_.rank) : rank_.file;
    for (const trace::Stream& s : rank_.streams) program_.streams.push_back("device " + std::to_string(s.device) + " stream " + std::to_string(s.stream));
    host_stream_ = static_cast<std::uint16_t>(program_.streams.size());
    program_.streams.push_back("host");
    for (const std::uint32_t stream : overlaps_.lane_stream) program_.streams.push_back(program_.streams[stream] + std::string(trace::kBeside));
    position_.assign(program_.streams.size(), 0);
    edges_.assign(rank_.device_ops.size(), {});
    for (const trace::StreamEdge& e : d_.edges) edges_[e.to].push_back(e.from);
    place_.assign(rank_.device_ops.size(), 0);
    task_of_.assign(rank_.device_ops.size(), kNoTask);
    notes_.rank = rank;
    notes_.steps = find_steps(run, rank_, built.report);
  }

  BuiltProgram build() {
    const std::vector<Item> items = chain();
    const Nanoseconds first = items.empty() ? built_.origin : items.front().at;
    if (first > built_.origin) {
      Task late = host_task();  // this rank's host began later than the first one
      late.host = input_.host * seconds(first - built_.origin);
      add(late);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      const bool last = i + 1 == items.size();
      const Nanoseconds next = last ? items[i].at : items[i + 1].at;
      if (items[i].waits) wait(items[i], last ? trace::end_of(rank_.calls[d_.waits[items[i].index].call]) : next);
      else issue(items[i], next);
    }
    tell_overlaps(overlaps_, program_.name, built_.report);
    if (timing_.unexplained_count > 0) {
      built_.report.add("import.replay.idle_without_reason", Severity::warning, std::to_string(static_cast<double>(timing_.unexplained) * 1e-6) + " ms in all on " + program_.name + ", kept as measured",
                        timing_.unexplained_count);
    }
    return {std::move(program_), std::move(task_of_), std::move(notes_)};
  }

 private:
  std::vector<Item> chain() const {
    std::vector<bool> queue_full(rank_.calls.size(), false);
    for (const trace::HostWait& w : d_.waits) queue_full[w.call] = queue_full[w.call] || w.kind == trace::WaitKind::queue_full;
    std::vector<Item> items;
    for (const std::uint32_t op : d_.order) {
      const std::uint32_t call = rank_.device_ops[op].call;
      const bool after_wait = call != kNone && queue_full[call];
      items.push_back({after_wait ? std::max(d_.issue[op], trace::end_of(rank_.calls[call])) : d_.issue[op], op, false});
    }
    std::vector<Nanoseconds> last(rank_.streams.size(), trace::kNoTime);
    for (Item& item : items) {  // operations of a stream stay in order
      Nanoseconds& before = last[rank_.device_ops[item.index].stream];
      item.at = before = std::max(before, item.at);
    }
    for (std::uint32_t w = 0; w < d_.waits.size(); ++w) items.push_back({rank_.calls[d_.waits[w].call].start, w, true});
    std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.at < b.at; });
    return items;
  }

  std::uint16_t stream_of(std::uint32_t device_op) const {
    const std::uint32_t lane = overlaps_.lane[device_op];
    return static_cast<std::uint16_t>(lane == kNone ? rank_.device_ops[device_op].stream : host_stream_ + 1 + lane);
  }

  Task host_task() const {
    Task task;
    task.kind = TaskKind::host_sync;
    task.stream = host_stream_;
    return task;
  }

  void add(Task task, TaskNote note = {}) {
    ++position_[task.stream];
    program_.tasks.push_back(task);
    notes_.tasks.push_back(note);
  }

  void depend(Task& task, std::uint32_t device_op) {
    const std::uint32_t place = place_[device_op];
    if (place == 0) return;  // not issued yet: no such thing can be waited for
    if (task.dependency_count == 0) task.first_dependency = static_cast<std::uint32_t>(program_.dependencies.size());
    program_.dependencies.push_back({.stream = stream_of(device_op), .position = place});
    ++task.dependency_count;
  }

  void wait(const Item& item, Nanoseconds next) {
    const trace::HostWait& w = d_.waits[item.index];
    const trace::HostCall& call = rank_.calls[w.call];
    Task task = host_task();
    Nanoseconds wake = call.start;
    for (const std::uint32_t op : w.device_ops) {
      depend(task, op);
      wake = std::max(wake, trace::end_of(rank_.device_ops[op]));
    }
    // From there on the host's own: waking up, and what it does until the next thing it issues.
    task.host = input_.host * seconds(std::max<Nanoseconds>(0, next - wake));
    add(task);
  }

  void issue(const Item& item, Nanoseconds next) {
    const trace::DeviceOp& op = rank_.device_ops[item.index];
    const OpClass c = classes_[item.index];
    Task task;
    task.kind = op.kind == trace::DeviceKind::copy ? TaskKind::copy : TaskKind::compute;
    task.stream = stream_of(item.index);
    const auto transfer = op.collective == kNone ? input_.transfers.end() : input_.transfers.find(op.collective);
    const bool matched = transfer != input_.transfers.end();
    const double factor = input_.factor.empty() ? 1.0 : input_.factor[item.index];
    const Nanoseconds work = matched ? transfer->second : factor == 1.0 ? op.duration : static_cast<Nanoseconds>(static_cast<double>(op.duration) * factor);
    const Nanoseconds gap = matched ? 0 : timing_.keeps_own[item.index] ? timing_.own_gap[item.index] : timing_.gap.at(c);
    const Nanoseconds latency = c == OpClass::graph_next ? 0 : timing_.latency.at(c);
    task.device = seconds(std::max<Nanoseconds>(0, work + gap));
    task.issue_to_end = task.device + seconds(std::max<Nanoseconds>(0, latency - gap));
    task.host = input_.host * seconds(std::max<Nanoseconds>(0, next - item.at));
    if (matched) {
      task.kind = TaskKind::collective;
      task.comm = comm(op, work);
    }
    for (const std::uint32_t from : edges_[item.index]) depend(task, from);
    task.segment = segment(op);
    task_of_[item.index] = static_cast<std::uint32_t>(program_.tasks.size());
    add(task, {.work = seconds(std::max<Nanoseconds>(0, work)), .device_op = item.index, .step = trace::step_of(notes_.steps, rank_, op), .communication = op.collective != kNone});
    place_[item.index] = position_[task.stream];
  }

  std::uint32_t comm(const trace::DeviceOp& op, Nanoseconds transfer) {
    const trace::Collective& c = rank_.collectives[op.collective];
    lower::Comm comm{.slot = input_.slots.at(op.collective), .name = name(run_.strings.at(c.name)), .transfer = {.latency = seconds(transfer), .wire_bytes = Bytes(0.0), .bandwidth = BytesPerSecond(0.0), .algorithm = "measured", .protocol = "measured", .source = cost::Source::measured},
                     .payload = Bytes(std::max(0.0, c.bytes)), .op = trace::collective_op(c.kind).value_or(graph::CollectiveOp::all_reduce)};
    program_.comms.push_back(comm);
    return static_cast<std::uint32_t>(program_.comms.size() - 1);
  }

  NameId name(const std::string& text) {
    const auto [found, is_new] = names_.try_emplace(text, static_cast<std::uint32_t>(program_.names.size()));
    if (is_new) program_.names.push_back(text);
    return NameId{found->second};
  }

  std::uint32_t segment(const trace::DeviceOp& op) {
    const auto [found, is_new] = segments_.try_emplace(op.name, static_cast<std::uint32_t>(program_.segments.size()));
    if (is_new) program_.segments.push_back({.name = name(run_.strings.at(op.name)), .recompute = Seconds(0.0)});
    return found->second;
  }

  const trace::ImportedRun& run_;
  const trace::RankTrace& rank_;
  const Overlaps overlaps_;
  const trace::Dependencies& d_;  // those of overlaps_
  const ProgramInput& input_;
  Built& built_;
  std::vector<OpClass> classes_;
  Timing timing_;
  lower::Program program_;
  std::uint16_t host_stream_ = 0;
  std::vector<std::uint32_t> position_, place_;
  std::vector<std::vector<std::uint32_t>> edges_;
  std::vector<std::uint32_t> task_of_;
  ProgramNotes notes_;
  std::map<std::string, std::uint32_t> names_;
  std::map<trace::Text, std::uint32_t> segments_;
};

}  // namespace

BuiltProgram build_program(const trace::ImportedRun& run, std::uint32_t rank, const trace::Dependencies& dependencies, const ProgramInput& input, Built& built) {
  return ProgramBuilder(run, rank, dependencies, input, built).build();
}

}  // namespace sgsim::replay

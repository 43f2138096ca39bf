#include <algorithm>
#include <limits>
#include <map>

#include "sim/core/error.h"
#include "sim/replay/channels.h"
#include "sim/replay/program_builder.h"
#include "sim/replay/replay.h"
#include "sim/trace/no_times.h"
#include "sim/trace/recover.h"

namespace sgsim::replay {
namespace {

using trace::kNone;

constexpr std::size_t kMostStreams = 60'000;  // a program counts its streams in 16 bits

// All members were at it at one time, as far as their clocks agree: else waiting for each other would be another run than the measured one.
bool together(const trace::ImportedRun& run, const trace::Matched& m, Nanoseconds skew) {
  Nanoseconds last = std::numeric_limits<Nanoseconds>::min(), first_end = std::numeric_limits<Nanoseconds>::max();
  for (const trace::Member& member : m.members) {
    if (const trace::DeviceOp* op = trace::kernel_of(run, member)) last = std::max(last, op->start), first_end = std::min(first_end, trace::end_of(*op));
  }
  if (first_end == std::numeric_limits<Nanoseconds>::max()) return false;  // none has a start time
  return last <= first_end + skew;
}

// Groups whose every member has the same operations become communicators; the others' kernels stay as long as measured.
std::vector<ProgramInput> bind_groups(const trace::ImportedRun& run, const trace::Matching& matching, lower::Workload& workload, Diagnostics& report) {
  std::vector<ProgramInput> inputs(run.ranks.size());
  const Channels channels = add_channels(run, matching, workload);
  for (const trace::Matched& m : matching.operations) {
    const auto* slots = channels.slots_of(m);
    if (slots == nullptr) continue;
    if (!together(run, m, matching.skew + 1'000)) {
      report.add("import.replay.members_never_together", Severity::warning, run.strings.at(run.groups[m.group].name));
      continue;
    }
    for (const trace::Member& member : m.members) {
      inputs[member.rank].transfers[member.collective] = m.transfer;
      inputs[member.rank].slots[member.collective] = (*slots)[member.rank];
    }
  }
  return inputs;
}

}  // namespace

Built build_programs(const trace::ImportedRun& run, const trace::Matching& matching, const std::vector<trace::Dependencies>& dependencies) {
  Built built;
  built.origin = std::numeric_limits<Nanoseconds>::max();
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    if (dependencies[r].order.empty()) throw trace::no_device_times(run, run.ranks[r]);
    if (run.ranks[r].streams.size() > kMostStreams) {
      throw InputError({.file = run.ranks[r].file, .where = "", .found = std::to_string(run.ranks[r].streams.size()) + " streams", .expected = "at most " + std::to_string(kMostStreams), .hint = "a GPU has hundreds at most: if the file holds several runs, split it"});
    }
    for (const std::uint32_t op : dependencies[r].order) built.origin = std::min(built.origin, dependencies[r].issue[op]);
    for (const trace::HostWait& w : dependencies[r].waits) built.origin = std::min(built.origin, run.ranks[r].calls[w.call].start);
    built.workload.ranks.push_back({.program = ProgramId{static_cast<std::uint32_t>(r)}, .gpu = GpuId{static_cast<std::uint32_t>(r)}, .speed = 1.0, .groups = {}});
  }
  const std::vector<ProgramInput> inputs = bind_groups(run, matching, built.workload, built.report);
  built.task_of.resize(run.ranks.size());
  for (std::uint32_t r = 0; r < run.ranks.size(); ++r) {
    const trace::RankTrace& rank = run.ranks[r];
    BuiltProgram one = build_program(run, r, dependencies[r], inputs[r], built);
    built.workload.programs.push_back(std::move(one.program));
    built.task_of[r] = std::move(one.task_of);
    built.notes.push_back(std::move(one.notes));
    Nanoseconds end = 0;
    for (const std::uint32_t op : dependencies[r].order) end = std::max(end, trace::end_of(rank.device_ops[op]));
    for (const trace::HostWait& w : dependencies[r].waits) end = std::max(end, trace::end_of(rank.calls[w.call]));
    built.end.push_back(end);
    std::uint64_t alone = 0;
    for (const trace::Collective& c : rank.collectives) alone += c.device_op != kNone && inputs[r].transfers.count(static_cast<std::uint32_t>(&c - rank.collectives.data())) == 0 ? 1 : 0;
    if (alone > 0) built.report.add("import.replay.collectives_with_unknown_waiting", Severity::warning, built.workload.programs.back().name + ": their other members are not imported; transfer and waiting stay as measured together", alone);
  }
  count_collectives(run, built);
  return built;
}

}  // namespace sgsim::replay

#include "sim/replay/rescale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <vector>

#include "sim/core/error.h"
#include "sim/replay/captured_gpu.h"
#include "sim/replay/kernel_factors.h"
#include "sim/replay/pipeline.h"
#include "sim/replay/program_builder.h"
#include "sim/replay/scaling.h"
#include "sim/trace/no_times.h"

namespace sgsim::replay {
namespace {

// The captured programs on the wanted ranks, one after the other and over again: no pipeline, and the micro-batches as captured.
class Rescaler {
 public:
  Rescaler(const trace::ImportedRun& run, const trace::Matching& matching, const std::vector<trace::Dependencies>& d, const Rescale& request) : run_(run), d_(d), request_(request), scaling_(run, matching, request) {}

  Rescaled make() {
    scaling_.check_sizes();
    by_kind_ = scaling_.kernel_factors(result_.report);
    // Timelines of sgsim simulate draw one rank of a class: the others are not in between.
    const std::size_t count = run_.format == "own_timeline" ? 1 : run_.ranks.size();
    Built built;
    built.origin = std::numeric_limits<Nanoseconds>::max();
    for (std::size_t r = 0; r < count; ++r) {
      if (d_[r].order.empty()) throw trace::no_device_times(run_, run_.ranks[r]);
      for (const std::uint32_t op : d_[r].order) built.origin = std::min(built.origin, d_[r].issue[op]);
      for (const trace::HostWait& w : d_[r].waits) built.origin = std::min(built.origin, run_.ranks[r].calls[w.call].start);
    }
    for (std::uint32_t r = 0; r < count; ++r) add_program(r, built);
    if (!call_the_same()) {
      result_.report.add("import.rescale.ranks_alike", Severity::warning, "captured ranks call collectives in differing order: every rank runs the program of the first", count);
      result_.workload.programs.resize(1);
      result_.notes.resize(1);
    }
    result_.report.merge(built.report);
    bind();
    return std::move(result_);
  }

 private:
  void add_program(std::uint32_t r, Built& built) {
    const trace::RankTrace& rank = run_.ranks[r];
    ProgramInput input;
    input.host = request_.host;
    input.factor = kernel_factors(run_, rank, by_kind_, request_, result_.report);
    for (std::uint32_t c = 0; c < rank.collectives.size(); ++c) {
      if (rank.collectives[c].device_op == trace::kNone) continue;
      const auto transfer = scaling_.transfer(r, c, result_.report);
      if (!transfer) continue;
      input.transfers[c] = *transfer;
      input.slots[c] = static_cast<std::uint16_t>(scaling_.role_of(rank.collectives[c]));
    }
    auto [program, task_of, notes] = build_program(run_, r, d_[r], input, built);
    program.name = "as " + program.name;
    result_.notes.push_back(std::move(notes));
    result_.workload.programs.push_back(std::move(program));
  }

  // The k-th use of a communicator is one operation: programs that call others in its place cannot run together.
  bool call_the_same() const {
    const auto calls = [](const lower::Program& program) {
      std::array<std::vector<graph::CollectiveOp>, 2> result;
      for (const lower::Task& task : program.tasks) {
        if (task.kind == lower::TaskKind::collective) result.at(program.comms[task.comm].slot).push_back(program.comms[task.comm].op);
      }
      return result;
    };
    const auto& programs = result_.workload.programs;
    const auto first = calls(programs.front());
    return std::all_of(programs.begin() + 1, programs.end(), [&](const lower::Program& p) { return calls(p) == first; });
  }

  void bind() {
    const Sizes& sizes = request_.wanted;
    lower::Workload& w = result_.workload;
    const bool used[2] = {uses(Role::tensor), uses(Role::data)};
    for (int r = 0; r < sizes.ranks(); ++r) w.ranks.push_back({.program = ProgramId{static_cast<std::uint32_t>(static_cast<std::size_t>(r) % w.programs.size())}, .gpu = GpuId{static_cast<std::uint32_t>(r)}, .speed = 1.0, .groups = std::vector<GroupId>(2)});
    for (const Role role : {Role::tensor, Role::data}) {
      if (!used[static_cast<int>(role)]) continue;
      const int groups = role == Role::tensor ? sizes.dp : sizes.tp;
      for (int g = 0; g < groups; ++g) {
        lower::Group group{.kind = role == Role::tensor ? "tp" : "dp", .members = {}};
        for (const GpuId gpu : members(sizes, role, g)) {
          group.members.push_back(RankId{gpu.value});
          w.ranks[gpu.value].groups[static_cast<std::size_t>(role)] = GroupId{static_cast<std::uint32_t>(w.groups.size())};
        }
        w.groups.push_back(std::move(group));
      }
    }
  }

  bool uses(Role role) const {
    for (const lower::Comm& comm : result_.workload.programs.front().comms) {
      if (comm.slot == static_cast<std::uint16_t>(role)) return true;
    }
    return false;
  }

  const trace::ImportedRun& run_;
  const std::vector<trace::Dependencies>& d_;
  const Rescale& request_;
  Scaling scaling_;
  std::array<double, trace::kKernelKinds> by_kind_{};
  Rescaled result_;
};

}  // namespace

std::optional<Sizes> sizes_in(const trace::ImportedRun& run) {
  constexpr std::string_view kMark = "sizes: ";
  std::string text;
  for (const trace::HostOp& op : run.ranks.front().ops) {
    const std::string& name = run.strings.at(op.name);
    if (run.format == "own_timeline" && name.starts_with(kMark)) text = name.substr(kMark.size());
  }
  if (text.empty()) return std::nullopt;
  std::map<std::string, int> found;
  char word[32] = {};
  int value = 0, used = 0;
  for (const char* at = text.c_str(); std::sscanf(at, " %31s %9d%n", word, &value, &used) == 2; at += used) found[word] = value;
  if (found["cp"] > 1 || found["ep"] > 1 || found["virtual_stages"] > 1) {
    throw InputError({.file = run.ranks.front().file, .where = "sizes", .found = text, .expected = "cp 1, ep 1 and virtual_stages 1", .hint = "context and expert parallel and interleaved runs are not rescaled: simulate the scenario instead"});
  }
  return Sizes{.dp = found["dp"], .tp = found["tp"], .pp = found["pp"], .micro_batches = found["micro_batches"]};
}

bool made_of_passes(const Rescale& request) { return request.captured.pp != 1 || request.wanted.pp != 1 || request.captured.micro_batches != request.wanted.micro_batches; }

Rescaled rescale(const trace::ImportedRun& run, const trace::Matching& matching, const std::vector<trace::Dependencies>& dependencies, const Rescale& request) {
  Diagnostics machine;
  check_captured_gpu(run, request.from.cluster, machine);
  if (made_of_passes(request)) {
    Rescaled result = build_pipeline(run, matching, dependencies, request);
    result.report.merge(machine);
    return result;
  }
  Rescaled result = Rescaler(run, matching, dependencies, request).make();
  result.report.merge(machine);
  return result;
}

}  // namespace sgsim::replay

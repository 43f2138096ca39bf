#include "sim/replay/rescale.h"

#include <fmt/format.h>

#include <algorithm>
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

namespace sgsim::replay {
namespace {

// One captured program on every rank: no pipeline, and the micro-batches as captured.
class Rescaler {
 public:
  Rescaler(const trace::ImportedRun& run, const trace::Matching& matching, const trace::Dependencies& d, const Rescale& request)
      : rank_(run.ranks.front()), run_(run), d_(d), request_(request), scaling_(run, matching, request) {}

  Rescaled make() {
    scaling_.check_sizes();
    ProgramInput input;
    input.host = request_.host;
    input.factor = kernel_factors(run_, rank_, scaling_.kernel_factors(result_.report), request_, result_.report);
    for (std::uint32_t c = 0; c < rank_.collectives.size(); ++c) scale_collective(c, input);
    Built built;
    built.origin = std::numeric_limits<Nanoseconds>::max();
    for (const std::uint32_t op : d_.order) built.origin = std::min(built.origin, d_.issue[op]);
    for (const trace::HostWait& w : d_.waits) built.origin = std::min(built.origin, rank_.calls[w.call].start);
    auto [program, task_of, notes] = build_program(run_, 0, d_, input, built);
    program.name = "as " + program.name;
    result_.notes.push_back(std::move(notes));
    result_.report.merge(built.report);
    result_.workload.programs.push_back(std::move(program));
    bind();
    return std::move(result_);
  }

 private:
  void scale_collective(std::uint32_t index, ProgramInput& input) {
    const trace::Collective& c = rank_.collectives[index];
    if (c.device_op == trace::kNone) return;
    const auto transfer = scaling_.transfer(0, index, result_.report);
    if (!transfer) return;
    input.transfers[index] = *transfer;
    input.slots[index] = static_cast<std::uint16_t>(scaling_.role_of(c));
  }

  void bind() {
    const Sizes& sizes = request_.wanted;
    lower::Workload& w = result_.workload;
    const bool used[2] = {uses(Role::tensor), uses(Role::data)};
    for (int r = 0; r < sizes.ranks(); ++r) w.ranks.push_back({.program = ProgramId{0}, .gpu = GpuId{static_cast<std::uint32_t>(r)}, .speed = 1.0, .groups = std::vector<GroupId>(2)});
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

  const trace::RankTrace& rank_;
  const trace::ImportedRun& run_;
  const trace::Dependencies& d_;
  const Rescale& request_;
  Scaling scaling_;
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

Rescaled rescale(const trace::ImportedRun& run, const trace::Matching& matching, const std::vector<trace::Dependencies>& dependencies, const Rescale& request) {
  Diagnostics machine;
  check_captured_gpu(run, request.from.cluster, machine);
  const bool pipeline = request.captured.pp != 1 || request.wanted.pp != 1 || request.captured.micro_batches != request.wanted.micro_batches;
  if (pipeline) {
    Rescaled result = build_pipeline(run, matching, dependencies, request);
    result.report.merge(machine);
    return result;
  }
  if (dependencies.front().order.empty()) throw InputError({.file = run.ranks.front().file, .where = "", .found = "no device operation with times", .expected = "a trace of a GPU", .hint = ""});
  Rescaled result = Rescaler(run, matching, dependencies.front(), request).make();
  result.report.merge(machine);
  return result;
}

}  // namespace sgsim::replay

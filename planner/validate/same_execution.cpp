#include "planner/validate/same_execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "calibrate/execute/work_key.h"

namespace sgsim::validate {
namespace {

using calibrate::ExecutableProgram;
using calibrate::MeasuredProgram;
using calibrate::ProgramTask;
using calibrate::ProgramTaskKind;
using calibrate::RankProgram;

const RankProgram& of(const ExecutableProgram& program, std::size_t rank) { return program.programs[program.ranks[rank].program]; }

/// Launches of each work in a step of all ranks.
std::map<std::uint32_t, int> launches(const ExecutableProgram& program) {
  std::map<std::uint32_t, int> count;
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    for (const ProgramTask& task : of(program, r).tasks) {
      if (task.kind != ProgramTaskKind::compute) continue;
      for (const std::uint32_t work : of(program, r).segments[task.segment].kernels) ++count[work];
    }
  }
  return count;
}

/// What the executor says of the buffers and kernels that it checks on a rank.
std::set<std::string> kernels(const ExecutableProgram& program, std::size_t rank) {
  std::set<std::string> texts;
  for (const ProgramTask& task : of(program, rank).tasks) {
    if (task.kind != ProgramTaskKind::compute) continue;
    for (const std::uint32_t work : of(program, rank).segments[task.segment].kernels) {
      texts.insert(fmt::format("rank {}: {}", rank, calibrate::to_text(calibrate::key_of(program.works[work], program.row, program.vocabulary))));
    }
  }
  return texts;
}

constexpr double kLaunchOnly = 4096.0;  // bytes: fewer are a launch

/// Kernels that take the same time: the same text, or bytes that differ by rounding, or so few that only the launch counts.
bool alike(const std::string& a, const std::string& b, double optimizer_bytes) {
  if (a == b) return true;
  constexpr std::string_view kBytes = " bytes=";
  const double rounding = a.find(" kind=optimizer ") != std::string::npos ? optimizer_bytes : kRounding;
  const std::size_t at = a.find(kBytes);
  if (at == std::string::npos || a.compare(0, at + kBytes.size(), b, 0, at + kBytes.size()) != 0) return false;
  const double x = std::strtod(a.c_str() + at + kBytes.size(), nullptr), y = std::strtod(b.c_str() + at + kBytes.size(), nullptr);
  return std::max(x, y) <= kLaunchOnly || std::abs(x - y) <= rounding * std::max(x, y);
}

std::set<std::string> results(const ExecutableProgram& program, std::size_t rank) {
  std::set<std::string> texts;
  for (const ProgramTask& task : of(program, rank).tasks) {
    if (task.kind == ProgramTaskKind::compute || task.kind == ProgramTaskKind::send) continue;
    const calibrate::ProgramComm& comm = of(program, rank).comms[task.comm];
    texts.insert(fmt::format("rank {}: {}, {} bytes", rank, comm.name, comm.bytes));
  }
  return texts;
}

}  // namespace

std::string difference_of_execution(const ExecutableProgram& program, const MeasuredProgram& measured, double optimizer_bytes) {
  if (calibrate::program_id(program) == measured.program) return "";
  if (program.graph != measured.graph) return "one is a CUDA graph";
  if (program.ranks.size() != measured.ranks.size()) return fmt::format("{} ranks against {}", program.ranks.size(), measured.ranks.size());
  std::set<std::string> may_run, must_arrive, ran, arrived;
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const std::size_t tasks = of(program, r).tasks.size();
    if (tasks != measured.ranks[r].size()) return fmt::format("{} tasks of rank {} against {}", tasks, r, measured.ranks[r].size());
    may_run.merge(kernels(program, r));
    must_arrive.merge(results(program, r));
  }
  for (const calibrate::NumberCheck& check : measured.numbers) {
    const std::size_t how = check.what.rfind(" bytes, ");  // of results: ", launched" or ", in the CUDA graph"
    how == std::string::npos ? ran.insert(check.what) : arrived.insert(check.what.substr(0, how + 6));
  }
  const auto launched = launches(program);
  if (launched.size() != measured.works.size()) return fmt::format("{} distinct kernels against {}", launched.size(), measured.works.size());
  for (const auto& [work, count] : launched) {
    const auto seen = measured.works.find(work);
    const int times = seen == measured.works.end() ? 0 : seen->second.count;
    if (times != count * measured.steps.traced) return fmt::format("kernel {} ran {} times in {} steps against {} in one", work, times, measured.steps.traced, count);
  }
  for (const std::string& kernel : ran) {
    if (std::none_of(may_run.begin(), may_run.end(), [&](const std::string& k) { return alike(kernel, k, optimizer_bytes); })) return "it ran " + kernel;
  }
  if (arrived != must_arrive) {
    for (const std::string& result : must_arrive) {
      if (!arrived.contains(result)) return "it did not have " + result;
    }
    return "it had communications that are not there now";
  }
  return "";
}

OtherOptimizer other_optimizer(const ExecutableProgram& program, const MeasuredProgram& measured) {
  OtherOptimizer out;
  for (const auto& [work, seen] : measured.works) {
    const auto* bound = std::get_if<graph::MemoryBound>(&program.works.at(work));
    if (bound == nullptr || bound->kind != graph::MemoryKind::optimizer) continue;
    const double now = (bound->read + bound->written).value();
    double nearest = kOptimizerBytes;  // of the kernels that ran the one that is most like it
    double change = 0.0;
    for (const calibrate::NumberCheck& check : measured.numbers) {
      const std::size_t at = check.what.find(" bytes=");
      if (at == std::string::npos || check.what.find(" kind=optimizer ") == std::string::npos || now < kLaunchOnly) continue;
      const double more = now / std::strtod(check.what.c_str() + at + 7, nullptr) - 1.0;
      if (std::abs(more) > nearest) continue;
      nearest = std::abs(more);
      change = more;
    }
    if (nearest <= kRounding || change == 0.0) continue;
    ++out.kernels;
    out.most = std::max(out.most, std::abs(change));
    out.longer_s += seen.median_s * seen.count / measured.steps.traced / static_cast<double>(program.ranks.size()) * change;
  }
  return out;
}

}  // namespace sgsim::validate

#include "sim/trace/summary.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "sim/core/units_text.h"
#include "sim/trace/kernel_kind.h"

namespace sgsim::trace {
namespace {

std::string printable(std::string_view text, std::size_t most) {
  std::string result;
  for (const char c : text.substr(0, most)) result += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f ? '.' : c;
  return result;
}

}  // namespace

std::string summary_text(const ImportedRun& run) {
  std::string text = fmt::format("{}: {} rank{}\n", run.format, run.ranks.size(), run.ranks.size() == 1 ? "" : "s");
  std::map<CommKind, std::pair<std::uint64_t, double>> collectives;
  for (const RankTrace& rank : run.ranks) {
    std::uint64_t kernels = 0, copies = 0, sets = 0;
    for (const DeviceOp& op : rank.device_ops) ++(op.kind == DeviceKind::kernel ? kernels : op.kind == DeviceKind::copy ? copies : sets);
    const std::string name = rank.rank < 0 ? "rank unknown" : rank.world_size > 0 ? fmt::format("rank {} of {}", rank.rank, rank.world_size) : fmt::format("rank {}", rank.rank);
    text += fmt::format("  {}: {}{} kernels, {} copies, {} memsets, {} collectives; {} operators, {} calls; {} streams; {} steps marked\n", name,
                        rank.gpu.empty() ? "" : printable(rank.gpu, 60) + ", ", kernels, copies, sets, rank.collectives.size(), rank.ops.size(), rank.calls.size(), rank.streams.size(), rank.steps.size());
    for (const Collective& c : rank.collectives) {
      auto& [count, bytes] = collectives[c.kind];
      ++count;
      bytes += c.bytes > 0.0 ? c.bytes : 0.0;
    }
  }
  for (const auto& [kind, sum] : collectives) text += fmt::format("  {}: {} over all ranks, {}\n", name_of(kind), sum.first, to_text(Bytes(sum.second)));
  return text;
}

std::string report_text(const Diagnostics& report, bool all) {
  std::string text;
  constexpr std::array<const char*, 3> kTitles = {"read", "repaired, guessed or worth a look", "dropped or contradictory"};
  for (const Severity severity : {Severity::error, Severity::warning, Severity::info}) {
    if (severity == Severity::info && !all) continue;
    std::string part;
    for (const auto& [key, d] : report.entries()) {
      if (d.severity != severity) continue;
      part += fmt::format("  {:>9}  {}{}\n", d.count, key, d.example.empty() ? "" : "  e.g. " + printable(d.example, 140));
    }
    if (!part.empty()) text += std::string(kTitles[static_cast<std::size_t>(severity)]) + "\n" + part;
  }
  return text;
}

}  // namespace sgsim::trace

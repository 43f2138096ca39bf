#include <fmt/format.h>

#include <memory>

#include "planner/cli/progress_bar.h"
#include "planner/cli/subcommand.h"
#include "sim/core/text_file.h"
#include "sim/graph/graph_file.h"
#include "sim/import/format.h"
#include "sim/trace/dependencies.h"
#include "sim/trace/match.h"
#include "sim/trace/no_times.h"
#include "sim/trace/summary.h"

namespace sgsim::cli {
namespace {

struct Flags {
  std::string path, out;
  bool report = false, formats = false;
};

std::string text_of(const trace::ImportedRun& run, bool all = false) {
  std::string text = trace::summary_text(run);
  if (run.ranks.size() < 2) return text;
  const trace::Matching matching = trace::match_collectives(run);
  if (!matching.operations.empty()) {
    const double raw = static_cast<double>(matching.raw_skew) * 1e-3, aligned = static_cast<double>(matching.skew) * 1e-3;
    text += fmt::format("  {} collectives matched over ranks", matching.operations.size());
    if (trace::has_start_times(run)) {
      text += fmt::format(": {:.3f} ms of transfer in all; ends agree within {:.0f} us as recorded{}", static_cast<double>(trace::total_transfer(matching)) * 1e-6, raw,
                          aligned < raw ? fmt::format(", {:.0f} us with clocks aligned", aligned) : ", clocks left so");
    }
    text += "\n";
  }
  return text + trace::report_text(matching.report, all);
}

/// What the recovered order of things says (import --report): kernels that nothing waits for, guessed launches, edges by source.
std::string dependencies_text(const trace::ImportedRun& run) {
  Diagnostics report;
  for (const trace::RankTrace& rank : run.ranks) report.merge(trace::recover_dependencies(run, rank).report);
  return report.empty() ? "" : "order between operations\n" + trace::report_text(report, true);
}

std::string text_of(const import::ImportedGraphs& graphs) {
  std::string text = fmt::format("{}: {} graph{}\n", graphs.format, graphs.graphs.size(), graphs.graphs.size() == 1 ? "" : "s");
  for (const auto& [name, graph] : graphs.graphs) text += fmt::format("  {}: {} nodes\n", name, graph.nodes.size());
  return text;
}

std::string text_of(const import::ImportedTopology& topology) {
  const cluster::Node& node = topology.cluster.node;
  return fmt::format("{}: {}: {} GPUs ({}), {} NICs a node\n", topology.format, topology.cluster.name.empty() ? node.name : topology.cluster.name, node.gpus, node.gpu.name, node.nics);
}

std::string text_of(const import::ImportedFacts& facts) {
  std::string text = facts.format + "\n";
  for (const auto& [what, value] : facts.facts) text += fmt::format("  {}: {}\n", what, value);
  return text;
}

void write_graphs(const import::ImportedGraphs& graphs, const std::string& out) {
  if (graphs.graphs.size() != 1) {
    throw InputError({.file = out, .where = "", .found = fmt::format("{} graphs", graphs.graphs.size()), .expected = "one graph for -o", .hint = "import a file with one graph"});
  }
  graph::write_graph(graphs.graphs.front().second, out);
}

ExitCode import_files(const Flags& flags) {
  if (flags.formats) {
    for (const import::Format& f : import::formats()) fmt::print("{:<16} {}\n", f.name, f.description);
    return ExitCode::good;
  }
  if (flags.path.empty()) throw InputError({.file = "sgsim import", .where = "", .found = "no FILE", .expected = "a file or a folder", .hint = "sgsim import --formats lists what can be read"});
  ProgressBar bar;
  std::uint64_t total = 0;
  const auto imported = import::import_path(flags.path, [&](std::uint64_t done, std::uint64_t bytes) {
    total = bytes;
    if (bytes > (std::uint64_t{64} << 20)) bar.show(done >> 20, 0, bytes >> 20, "MiB of " + flags.path);
  });
  if (total > (std::uint64_t{64} << 20)) bar.finish();
  std::string text;
  for (const import::Imported& one : imported) {
    if (const auto* run = std::get_if<trace::ImportedRun>(&one)) {
      text += text_of(*run, flags.report) + (flags.report ? dependencies_text(*run) : "");
    } else {
      text += std::visit([](const auto& content) { return text_of(content); }, one);
    }
    text += trace::report_text(import::report_of(one), flags.report);
  }
  fmt::print("{}", text);
  if (flags.out.empty()) return ExitCode::good;
  for (const import::Imported& one : imported) {
    if (const auto* graphs = std::get_if<import::ImportedGraphs>(&one)) return write_graphs(*graphs, flags.out), ExitCode::good;
  }
  write_text_file(flags.out, text);
  return ExitCode::good;
}

}  // namespace

void add_import(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("import", "Read traces, graphs and topologies of other programs, and say what became of every record");
  command->add_option("FILE", flags->path, "File, or folder with the files of one run; formats are recognised by content");
  command->add_option("-o,--out", flags->out, "Write the graph (graph files) or what is printed (everything else) here");
  command->add_flag("--report", flags->report, "Print every counter, not only what was repaired, guessed or dropped");
  command->add_flag("--formats", flags->formats, "List the formats and stop");
  command->callback([flags, &chosen] { chosen = [flags] { return import_files(*flags); }; });
}

}  // namespace sgsim::cli

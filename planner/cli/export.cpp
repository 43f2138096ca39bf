#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "planner/cli/subcommand.h"
#include "sim/core/text_file.h"
#include "sim/export/export.h"
#include "sim/import/format.h"

namespace sgsim::cli {
namespace {

struct Options {
  std::string input, to = "chakra", out;
};

void print_report(const Diagnostics& report) {
  for (const auto& [name, entry] : report.entries()) {
    if (entry.severity != Severity::info) fmt::print(stderr, "{}: {} ({})\n", name, entry.count, entry.example);
  }
}

void write_rank(const trace::ImportedRun& run, std::size_t rank, const Options& options, Diagnostics& report) {
  const std::filesystem::path folder = options.out;
  const std::int32_t number = run.ranks[rank].rank >= 0 ? run.ranks[rank].rank : static_cast<std::int32_t>(rank);
  if (options.to == "chakra") {
    write_text_file((folder / fmt::format("trace.{}.et", number)).string(), exporting::chakra(run, rank, report));
  } else {
    write_text_file((folder / fmt::format("rank-{}.pt.trace.json.gz", number)).string(), exporting::kineto(run, rank, report));
  }
}

ExitCode write_run(const trace::ImportedRun& run, const Options& options) {
  Diagnostics report;
  if (options.to == "perfetto") {
    write_text_file(options.out, exporting::perfetto(run, report));
  } else {
    std::filesystem::create_directories(options.out);
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) write_rank(run, rank, options, report);
    const std::string groups = options.to == "chakra" ? exporting::chakra_groups(run) : std::string();
    if (!groups.empty()) write_text_file((std::filesystem::path(options.out) / "comm_group.json").string(), groups);
  }
  print_report(report);
  fmt::print("{}: {} ranks as {}\n", options.out, run.ranks.size(), options.to);
  return ExitCode::good;
}

ExitCode export_run(const Options& options) {
  for (const import::Imported& imported : import::import_path(options.input, {})) {
    if (const auto* run = std::get_if<trace::ImportedRun>(&imported)) return write_run(*run, options);
  }
  throw InputError({.file = options.input, .where = "", .found = "no run", .expected = "traces of a run", .hint = "graphs and topologies are read by sgsim import"});
}

}  // namespace

void add_export(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("export", "Write a run for other programs: Chakra, Kineto or Perfetto files");
  command->add_option("FILE", options->input, "Trace, or folder with the traces of one run")->required();
  command->add_option("--to", options->to, "chakra (a folder, a file a rank), kineto (likewise), perfetto (one file)")->check(CLI::IsMember({"chakra", "kineto", "perfetto"}))->required();
  command->add_option("-o,--out", options->out, "Folder or file to write")->required();
  command->callback([options, &chosen] { chosen = [options] { return export_run(*options); }; });
}

}  // namespace sgsim::cli

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "planner/cli/imported_run.h"
#include "planner/cli/subcommand.h"
#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/export/export.h"

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

/// Says in words what the file system would say in codes.
void make_folder(const std::string& path) {
  const std::filesystem::path folder = path;
  for (std::filesystem::path part = folder; !part.empty(); part = part.parent_path()) {
    if (std::filesystem::exists(part) && !std::filesystem::is_directory(part)) {
      throw InputError({.file = path, .where = "-o", .found = part == folder ? "a file" : "\"" + part.string() + "\", which is a file", .expected = "a folder, there or to be made: a file a rank is written into it", .hint = "name another folder, or move the file"});
    }
    if (part == part.parent_path()) break;
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InputError({.file = path, .where = "-o", .found = "a folder that cannot be made: " + error.message(), .expected = "a folder that can be written", .hint = ""});
}

void check_file(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return;
  throw InputError({.file = path, .where = "-o", .found = "a folder", .expected = "a file: Perfetto has all ranks in one", .hint = "for example -o " + (std::filesystem::path(path) / "run.perfetto-trace").string()});
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
  Diagnostics report = run.report;
  if (options.to == "perfetto") {
    check_file(options.out);
    write_text_file(options.out, exporting::perfetto(run, report));
  } else {
    make_folder(options.out);
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) write_rank(run, rank, options, report);
    const std::string groups = options.to == "chakra" ? exporting::chakra_groups(run, report) : std::string();
    if (!groups.empty()) write_text_file((std::filesystem::path(options.out) / "comm_group.json").string(), groups);
  }
  print_report(report);
  fmt::print("{}: {} ranks as {}\n", options.out, run.ranks.size(), options.to);
  return ExitCode::good;
}

ExitCode export_run(const Options& options) { return write_run(read_all_of_run(options.input), options); }

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

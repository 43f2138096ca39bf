#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include "planner/cli/engines.h"
#include "planner/cli/subcommand.h"
#include "sim/check/predict.h"
#include "sim/check/record.h"
#include "sim/check/report.h"
#include "sim/core/text_file.h"

namespace sgsim::cli {
namespace {

struct Flags {
  std::vector<std::string> records, ids, profiles;
  std::string suite, junit, html, report;
  bool json = false, summary = false;
  unsigned threads = 0;
};

std::vector<check::Record> read_all(const Flags& flags) {
  std::vector<check::Record> records;
  for (const std::string& path : flags.records) {
    for (check::Record& record : check::read_records(path)) {
      const auto named = [&](const std::string& part) { return record.id.find(part) != std::string::npos; };
      if (flags.ids.empty() || std::any_of(flags.ids.begin(), flags.ids.end(), named)) records.push_back(std::move(record));
    }
  }
  return records;
}

check::PredictOptions options_of(const Flags& flags) {
  check::PredictOptions options;
  options.threads = flags.threads != 0 ? flags.threads : std::max(1u, std::thread::hardware_concurrency());
  for (const std::string& text : flags.profiles) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) throw InputError({.file = "--profile", .where = "", .found = text, .expected = "NAME=FILE, such as h200=my-h200.json", .hint = ""});
    options.profiles[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return options;
}

ExitCode run_check(const Flags& flags) {
  const check::Sources sources = check::shipped_sources();
  check::Report report;
  report.rows = check::predict(read_all(flags), sources, run_engine, options_of(flags));
  if (!flags.suite.empty()) report.breaches = check::breaches_of(check::read_suite(flags.suite), report.rows);
  fmt::print("{}", flags.json ? check::json_report(report) : check::text_report(report, !flags.summary));
  const bool broken = std::any_of(report.breaches.begin(), report.breaches.end(), [](const check::Breach& b) { return b.blocks; });
  return broken ? ExitCode::check_failed : ExitCode::good;
}

}  // namespace

void add_check(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("check", "Compare predictions with measured runs; exit code 1 when a tolerance of the suite is broken");
  command->add_option("RECORDS", flags->records, "Files of records (docs/formats/record.md)")->required()->check(CLI::ExistingFile);
  command->add_flag("--json", flags->json, "Print JSON");
  command->add_flag("--summary", flags->summary, "Print the table by file without a line a row");
  command->add_option("--suite", flags->suite, "Tolerances (docs/check.md)")->type_name("FILE")->check(CLI::ExistingFile);
  command->add_option("--id", flags->ids, "Only rows whose id contains this")->type_name("TEXT");
  command->add_option("--profile", flags->profiles, "A profile in place of the one that ships: h200=FILE")->type_name("NAME=FILE");
  command->add_option("--threads", flags->threads, "Threads; 0: as many as the machine has")->type_name("N");
  command->callback([flags, &chosen] { chosen = [flags] { return run_check(*flags); }; });
}

}  // namespace sgsim::cli

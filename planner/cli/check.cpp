#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "planner/cli/engines.h"
#include "planner/cli/subcommand.h"
#include "sim/check/collectives.h"
#include "sim/check/kernels.h"
#include "sim/check/leave_out.h"
#include "sim/check/predict.h"
#include "sim/check/record.h"
#include "sim/check/report.h"
#include "sim/check/suite.h"
#include "sim/core/text_file.h"
#include "sim/scenario/stack_file.h"

namespace sgsim::cli {
namespace {

struct Flags {
  std::vector<std::string> records, ids, profiles, stacks, left_out;
  std::string suite, junit, html, report, scenarios;
  bool json = false, summary = false, kernels = false;
  unsigned threads = 0;
};

struct Input {
  std::vector<check::Record> records;
  std::vector<check::Row> collectives;
  std::set<std::string> files;  // as suites name them, whatever --id left of them
};

bool chosen_by_id(const Flags& flags, const std::string& id) {
  return flags.ids.empty() || std::any_of(flags.ids.begin(), flags.ids.end(), [&](const std::string& part) { return id.find(part) != std::string::npos; });
}

Input read_all(const Flags& flags, const check::PredictOptions& options) {
  Input input;
  for (const std::string& path : flags.records) {
    const std::string text = read_text_file(path);
    if (check::holds_collectives(text)) {
      for (check::Row& row : check::predict_collectives(text, path, options.profiles)) {
        input.files.insert(row.file);
        if (chosen_by_id(flags, row.id)) input.collectives.push_back(std::move(row));
      }
      continue;
    }
    input.files.insert(check::file_name_of(path));
    for (check::Record& record : check::records_from_text(text, path)) {
      if (chosen_by_id(flags, record.id)) input.records.push_back(std::move(record));
    }
  }
  if (!flags.ids.empty() && input.records.empty() && input.collectives.empty()) {
    throw InputError({.file = "--id", .where = "", .found = fmt::format("no row whose id contains {}", fmt::join(flags.ids, " or ")), .expected = "a part of an id of the records", .hint = ""});
  }
  return input;
}

check::PredictOptions options_of(const Flags& flags) {
  check::PredictOptions options;
  options.threads = flags.threads != 0 ? flags.threads : std::max(1u, std::thread::hardware_concurrency());
  for (const std::string& text : flags.profiles) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) throw InputError({.file = "--profile", .where = "", .found = text, .expected = "NAME=FILE, such as h200=my-h200.json", .hint = ""});
    const std::string path = text.substr(equals + 1);
    if (!std::filesystem::is_regular_file(path)) throw InputError({.file = "--profile", .where = "", .found = "no file " + path, .expected = "NAME=FILE, such as h200=my-h200.json", .hint = ""});
    options.profiles[text.substr(0, equals)] = path;
  }
  return options;
}

/// The user's stacks stand before those that ship: of equally long beginnings the first wins.
check::Sources sources_of(const Flags& flags) {
  check::Sources sources = check::shipped_sources();
  std::vector<scenario::StackFile> own;
  for (const std::string& path : flags.stacks) own.push_back(scenario::read_stack_file(std::filesystem::absolute(path).string(), ""));
  sources.stacks.insert(sources.stacks.begin(), own.begin(), own.end());
  return sources;
}

/// Each record's scenario as a file, for `sgsim simulate` and `sgsim explain`.
void write_scenarios(const std::string& folder, const std::vector<check::Record>& records, const check::Sources& sources) {
  std::filesystem::create_directories(folder);
  for (const check::Record& record : records) {
    const check::Question question = check::question_of(record, sources);
    if (question.skipped.empty()) write_text_file((std::filesystem::path(folder) / (record.id + ".json")).string(), question.text + "\n");
  }
}

/// The page, and its plots in a folder beside it.
void write_accuracy_page(const std::string& path, const check::Report& report) {
  const std::filesystem::path page(path), plots = page.parent_path() / page.stem();
  std::filesystem::create_directories(plots);
  write_text_file(path, check::markdown_report(report, page.stem().string()));
  for (const auto& [file, summary] : check::summaries_by_file(report.rows)) {
    const std::string svg = check::scatter_svg(report.rows, file);
    if (!svg.empty()) write_text_file((plots / (check::plot_name(file) + ".svg")).string(), svg);
  }
}

void write_reports(const Flags& flags, const check::Report& report) {
  if (!flags.junit.empty()) write_text_file(flags.junit, check::junit_report(report));
  if (!flags.html.empty()) write_text_file(flags.html, check::html_report(report));
  if (!flags.report.empty()) write_accuracy_page(flags.report, report);
}

void check_left_out(const Flags& flags, const std::vector<check::Record>& records) {
  for (const std::string& file : flags.left_out) {
    if (std::any_of(records.begin(), records.end(), [&](const check::Record& r) { return r.file == file; })) continue;
    throw InputError({.file = "--leave-out", .where = "", .found = "\"" + file + "\"", .expected = "the name of a file of training records among those that are checked, without .json[.gz]", .hint = ""});
  }
}

/// The rows of each file that is left out, predicted with profiles that owe nothing to it.
void add_left_out(const Flags& flags, const std::vector<check::Record>& records, const check::Sources& sources, const check::PredictOptions& options, check::Report& report) {
  for (const std::string& file : flags.left_out) {
    std::vector<check::Record> rows;
    std::copy_if(records.begin(), records.end(), std::back_inserter(rows), [&](const check::Record& r) { return r.file == file; });
    std::vector<std::string> notes;
    check::PredictOptions without = options;
    without.profiles = check::profiles_without(file, notes);
    for (const std::string& note : notes) fmt::print(stderr, "{}\n", note);
    report.left_out.emplace_back(file, check::predict(rows, sources, run_engine, without));
  }
}

/// A profile that no row would have taken was misspelt.
void check_profiles_taken(const check::PredictOptions& options, const std::vector<check::Row>& rows) {
  std::set<std::string> taken;
  for (const check::Row& row : rows) {
    if (!row.profile.empty()) taken.insert(row.profile);
  }
  for (const auto& [name, path] : options.profiles) {
    if (taken.contains(name)) continue;
    throw InputError({.file = "--profile", .where = "", .found = fmt::format("{}: no row takes a profile of that name", name), .expected = fmt::format("one of those that rows take: {}", fmt::join(taken, ", ")), .hint = ""});
  }
}

/// A gate that compared nothing must not be green.
void check_compared(const std::vector<check::Row>& rows) {
  if (std::any_of(rows.begin(), rows.end(), [](const check::Row& row) { return row.skipped.empty(); })) return;
  throw InputError({.file = "RECORDS", .where = "", .found = rows.empty() ? "no rows" : fmt::format("{}, skipped", rows.size() == 1 ? std::string("one row") : fmt::format("{} rows, all of them", rows.size())), .expected = "a row that can be compared",
                    .hint = rows.empty() ? "" : "The reasons are printed with the rows (without --summary)"});
}

ExitCode run_check(const Flags& flags) {
  const check::Sources sources = sources_of(flags);
  const check::PredictOptions options = options_of(flags);
  const auto [records, collectives, files] = read_all(flags, options);
  if (!flags.scenarios.empty()) write_scenarios(flags.scenarios, records, sources);
  if (flags.kernels) {
    const auto comparisons = check::compare_kernels(records, sources, run_engine, options.profiles);
    fmt::print("{}", flags.json ? check::json_report(comparisons) : check::text_report(comparisons));
    if (std::any_of(comparisons.begin(), comparisons.end(), [](const auto& c) { return c.skipped.empty(); })) return ExitCode::good;
    throw InputError({.file = "--kernels", .where = "", .found = "no record with a trace that could be compared", .expected = "records whose field `trace` names a Kineto trace beside them", .hint = ""});
  }
  std::optional<check::Suite> suite;
  if (!flags.suite.empty()) suite = check::read_suite(flags.suite);
  check_left_out(flags, records);
  check::Report report;
  report.rows = check::predict(records, sources, run_engine, options);
  report.rows.insert(report.rows.end(), collectives.begin(), collectives.end());
  check_profiles_taken(options, report.rows);
  if (suite) check::check_names(*suite, files, report.rows);
  add_left_out(flags, records, sources, options, report);
  std::function<bool(const std::string&)> asked_for;
  if (!flags.ids.empty()) asked_for = [&](const std::string& id) { return chosen_by_id(flags, id); };
  if (suite) report.breaches = check::breaches_of(*suite, report.rows, asked_for);
  write_reports(flags, report);
  fmt::print("{}", flags.json ? check::json_report(report) : check::text_report(report, !flags.summary));
  const bool broken = std::any_of(report.breaches.begin(), report.breaches.end(), [](const check::Breach& b) { return b.blocks; });
  if (broken) return ExitCode::check_failed;
  check_compared(report.rows);
  return ExitCode::good;
}

}  // namespace

void add_check(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("check", "Compare predictions with measured runs; exit code 1 when a tolerance of the suite is broken");
  command->add_option("RECORDS", flags->records, "Files of records (docs/formats/record.md)")->required()->check(CLI::ExistingFile);
  command->add_flag("--json", flags->json, "Print JSON");
  command->add_flag("--summary", flags->summary, "Print the table by file without a line a row");
  CLI::Option* kernels = command->add_flag("--kernels", flags->kernels, "Compare kernel by kernel with the traces that the records name");
  command->add_option("--suite", flags->suite, "Tolerances (docs/check.md)")->type_name("FILE")->check(CLI::ExistingFile);
  command->add_option("--junit", flags->junit, "Write a JUnit file: a case a row")->type_name("FILE");
  command->add_option("--html", flags->html, "Write a page with tables and plots")->type_name("FILE");
  command->add_option("--report", flags->report, "Write docs/accuracy.md and its plots")->type_name("FILE.md");
  command->add_option("--leave-out", flags->left_out, "Also predict this file's rows with profiles that owe nothing to it (name without .json.gz)")->type_name("FILE");
  command->add_option("--id", flags->ids, "Only rows whose id contains this")->type_name("TEXT");
  command->add_option("--profile", flags->profiles, "A profile in place of the one that ships: h200=FILE")->type_name("NAME=FILE");
  command->add_option("--stack", flags->stacks, "A stack of your own beside those that ship (docs/formats/stack.md)")->type_name("FILE")->check(CLI::ExistingFile);
  command->add_option("--scenarios", flags->scenarios, "Write each row's scenario into this folder")->type_name("FOLDER");
  command->add_option("--threads", flags->threads, "Threads; 0: as many as the machine has")->type_name("N");
  for (const char* other : {"--suite", "--junit", "--html", "--report", "--leave-out"}) kernels->excludes(command->get_option(other));
  command->callback([flags, &chosen] { chosen = [flags] { return run_check(*flags); }; });
}

}  // namespace sgsim::cli

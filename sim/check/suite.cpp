#include "sim/check/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/core/json_value.h"
#include "sim/core/text_file.h"

namespace sgsim::check {
namespace {

constexpr int kSuiteVersion = 1;

std::optional<double> share(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  if (!value) return std::nullopt;
  if (!value->json().is_number() || value->number() < 0.0) value->fail("a share of one, such as 0.05 for 5 %");
  return value->number();
}

SuiteEntry read_entry(const JsonValue& value) {
  value.check_object();
  value.check_keys({"file", "mean", "median", "worst", "memory_mean", "memory_worst", "pairs", "coverage", "skipped", "got_worse", "report_only"});
  SuiteEntry entry;
  entry.file = value.at("file").text();
  Tolerances& t = entry.tolerances;
  t.mean = share(value, "mean");
  t.median = share(value, "median");
  t.worst = share(value, "worst");
  t.memory_mean = share(value, "memory_mean");
  t.memory_worst = share(value, "memory_worst");
  t.pairs = share(value, "pairs");
  t.coverage_low = share(value, "coverage");
  t.skipped = share(value, "skipped");
  t.got_worse = share(value, "got_worse");
  if (const auto only = value.find("report_only")) entry.report_only = only->flag();
  return entry;
}

/// Collects what is broken in one file of records.
class Judge {
 public:
  Judge(const Suite& suite, const SuiteEntry& entry, std::string file, std::vector<Breach>& breaches)
      : suite_(suite), entry_(entry), file_(std::move(file)), breaches_(breaches) {}

  void most(const std::optional<double>& limit, double value, const char* what, const std::string& id = {}) {
    if (limit && value > *limit) add(id, fmt::format("{} {:.1f} %, at most {:.1f} %", what, 100.0 * value, 100.0 * *limit));
  }
  void least(const std::optional<double>& limit, double value, const char* what) {
    if (limit && value < *limit) add({}, fmt::format("{} {:.1f} %, at least {:.1f} %", what, 100.0 * value, 100.0 * *limit));
  }
  void row(const Row& row) {
    const Tolerances& t = entry_.tolerances;
    if (const auto error = row.error()) {
      most(t.worst, std::abs(*error), "error of the step time", row.id);
      const auto before = suite_.baseline.find(row.id);
      if (t.got_worse && before != suite_.baseline.end() && std::abs(*error) > std::abs(before->second) + *t.got_worse) {
        add(row.id, fmt::format("error {:+.1f} %, was {:+.1f} %: worse by more than {:.1f} points", 100.0 * *error, 100.0 * before->second, 100.0 * *t.got_worse));
      }
    }
    if (const auto error = row.memory_error()) most(t.memory_worst, std::abs(*error), "error of the peak memory", row.id);
  }

 private:
  void add(const std::string& id, std::string what) { breaches_.push_back({.file = file_, .id = id, .what = std::move(what), .blocks = !entry_.report_only}); }

  const Suite& suite_;
  const SuiteEntry& entry_;
  std::string file_;
  std::vector<Breach>& breaches_;
};

/// All entries of a file, so that some of its tolerances may block and others report; those of "*" where it has none.
std::vector<const SuiteEntry*> entries_of(const Suite& suite, const std::string& file) {
  std::vector<const SuiteEntry*> own, rest;
  for (const SuiteEntry& entry : suite.entries) {
    if (entry.file == file) own.push_back(&entry);
    if (entry.file == "*") rest.push_back(&entry);
  }
  return own.empty() ? rest : own;
}

/// A tolerance that an entry states for a file by name and that no row of it can break.
void add_empty_entries(const Suite& suite, const std::vector<Row>& rows, std::vector<Breach>& breaches) {
  const auto by_file = summaries_by_file(rows);
  for (const SuiteEntry& entry : suite.entries) {
    if (entry.file == "*") continue;
    const auto found = std::find_if(by_file.begin(), by_file.end(), [&](const auto& f) { return f.first == entry.file; });
    const Summary summary = found == by_file.end() ? Summary{} : found->second;
    const Tolerances& t = entry.tolerances;
    const std::string of = fmt::format("of its {} rows", summary.rows);
    const auto add = [&](std::string what) { breaches.push_back({.file = entry.file, .id = {}, .what = std::move(what), .blocks = !entry.report_only}); };
    if ((t.mean || t.median || t.worst || t.got_worse || t.coverage_low) && summary.time.count == 0) add("no step time is compared " + of);
    if ((t.memory_mean || t.memory_worst) && summary.memory.count == 0) add("no peak memory is compared " + of);
  }
}

/// Rows that no baseline holds; they cannot get worse until somebody accepts them.
void report_new_rows(const Suite& suite, const std::string& file, const std::vector<Row>& rows, std::vector<Breach>& breaches) {
  int count = 0;
  std::string first;
  for (const Row& row : rows) {
    if (row.file != file || !row.error() || suite.baseline.contains(row.id)) continue;
    if (++count == 1) first = row.id;
  }
  if (count > 0) breaches.push_back({.file = file, .id = {}, .what = fmt::format("{} rows are not in the baseline (first: {})", count, first), .blocks = false});
}

void judge_file(const Suite& suite, const SuiteEntry& entry, const std::string& file, const Summary& summary, const std::vector<Row>& rows, std::vector<Breach>& breaches) {
  const Tolerances& t = entry.tolerances;
  Judge judge(suite, entry, file, breaches);
  judge.most(t.mean, summary.time.mean, "mean absolute error");
  judge.most(t.median, summary.time.median, "median absolute error");
  judge.most(t.memory_mean, summary.memory.mean, "mean absolute error of the peak memory");
  judge.least(t.pairs, summary.pairs_share(), "pairs of plans ordered rightly");
  judge.least(t.coverage_low, summary.coverage(), "rows inside their 90 % interval");
  judge.most(t.skipped, summary.rows == 0 ? 0.0 : static_cast<double>(summary.skipped) / summary.rows, "rows skipped");
  for (const Row& row : rows) {
    if (row.file == file) judge.row(row);
  }
  if (t.got_worse) report_new_rows(suite, file, rows, breaches);
}

/// Rows that were compared when the suite was accepted and are not now: nothing would tell if they got worse.
void add_lost_rows(const Suite& suite, const std::vector<Row>& rows, const std::function<bool(const std::string&)>& asked_for, std::vector<Breach>& breaches) {
  std::map<std::string, const Row*> by_id;
  for (const Row& row : rows) by_id.emplace(row.id, &row);
  for (const auto& [id, error] : suite.baseline) {
    if (asked_for && !asked_for(id)) continue;
    const auto found = by_id.find(id);
    if (found == by_id.end()) {
      breaches.push_back({.file = kBaselineFile, .id = id, .what = "in the baseline, and no longer among the records"});
    } else if (const Row& row = *found->second; !row.error()) {
      const std::string why = row.skipped.empty() ? "no measured step time" : "skipped: " + row.skipped;
      breaches.push_back({.file = row.file, .id = id, .what = "in the baseline, and not compared now: " + why});
    }
  }
}

}  // namespace

Suite read_suite(const std::string& path) { return suite_from_text(read_text_file(path), path); }

Suite suite_from_text(std::string_view text, const std::string& path) {
  const nlohmann::json tree = parse_json(text, path);
  const JsonValue root(tree, path);
  root.check_object();
  root.check_keys({"schema_version", "description", "tolerances", "baseline"});
  (void)root.at("schema_version").integer_between(kSuiteVersion, kSuiteVersion);
  Suite suite;
  suite.file = path;
  const JsonValue list = root.at("tolerances");
  for (std::size_t i = 0; i < list.list_size(); ++i) suite.entries.push_back(read_entry(list.item(i)));
  if (const auto baseline = root.find("baseline")) {
    baseline->check_object();
    for (const auto& [id, error] : baseline->json().items()) {
      if (!error.is_number()) baseline->at(id).fail("the row's error as `sgsim check --json` prints it, such as 0.031", "Leave a row out that had no error");
      suite.baseline[id] = error.get<double>();
    }
  }
  for (std::size_t i = 0; i < suite.entries.size(); ++i) {
    if (!suite.entries[i].tolerances.got_worse || !suite.baseline.empty()) continue;
    list.item(i).at("got_worse").fail("a member \"baseline\" of the suite with the rows' errors", "Take the errors from `sgsim check --json`");
  }
  return suite;
}

void check_names(const Suite& suite, const std::set<std::string>& files, const std::vector<Row>& rows) {
  const auto fail = [&](const std::string& where, const std::string& found, const std::string& expected, const char* hint) {
    throw InputError({.file = suite.file, .where = where, .found = found, .expected = expected, .hint = hint});
  };
  for (std::size_t i = 0; i < suite.entries.size(); ++i) {
    const std::string& file = suite.entries[i].file;
    if (file == "*" || files.contains(file)) continue;
    fail(fmt::format("$.tolerances[{}].file", i), "\"" + file + "\"", fmt::format("\"*\" or one of the records' files: {}", fmt::join(files, ", ")), "A file is named without folder and .json[.gz]");
  }
  std::map<std::string, int> counts;
  for (const Row& row : rows) {
    if (suite.baseline.contains(row.id) && ++counts[row.id] > 1) fail("$.baseline", fmt::format("several rows of the id \"{}\"", row.id), "an id of its own for each row", "Rename one of them in the records");
  }
}

std::vector<Breach> breaches_of(const Suite& suite, const std::vector<Row>& rows, const std::function<bool(const std::string&)>& asked_for) {
  std::vector<Breach> breaches;
  for (const auto& [file, summary] : summaries_by_file(rows)) {
    for (const SuiteEntry* entry : entries_of(suite, file)) judge_file(suite, *entry, file, summary, rows, breaches);
  }
  if (!asked_for) add_empty_entries(suite, rows, breaches);
  add_lost_rows(suite, rows, asked_for, breaches);
  return breaches;
}

}  // namespace sgsim::check

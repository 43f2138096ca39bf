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
      if (error.is_number()) suite.baseline[id] = error.get<double>();
    }
  }
  return suite;
}

std::vector<Breach> breaches_of(const Suite& suite, const std::vector<Row>& rows) {
  std::vector<Breach> breaches;
  for (const auto& [file, summary] : summaries_by_file(rows)) {
    for (const SuiteEntry* entry : entries_of(suite, file)) judge_file(suite, *entry, file, summary, rows, breaches);
  }
  return breaches;
}

}  // namespace sgsim::check

// The gate: what was compared when a suite was accepted must still be compared, and names must mean something.
#include "sim/check/report.h"
#include "sim/check/suite.h"
#include "sim/core/error.h"
#include "tests/support/catch.h"

using namespace sgsim;

namespace {

check::Row judged(const char* id) {
  check::Row r;
  r.file = "f";
  r.id = id;
  r.predicted_s = 1.0;
  r.measured_s = 1.0;
  return r;
}

check::Suite suite(const std::string& tolerances, const std::string& baseline) {
  return check::suite_from_text(R"({"schema_version": 1, "tolerances": [)" + tolerances + "]" + (baseline.empty() ? "" : R"(, "baseline": )" + baseline) + "}", "s.json");
}

constexpr const char* kWorse = R"({"file": "f", "got_worse": 0.01})";

}  // namespace

TEST_CASE("rows of the baseline that are not compared any more are breaches") {
  const check::Suite s = suite(kWorse, R"({"good": 0.0, "skipped": 0.0, "timeless": 0.0, "gone": 0.0})");
  std::vector<check::Row> rows = {judged("good"), judged("skipped"), judged("timeless")};
  rows[1].skipped = "no model.layers";
  rows[1].predicted_s.reset();
  rows[2].measured_s.reset();
  const auto breaches = check::breaches_of(s, rows);
  REQUIRE(breaches.size() == 3);  // in order of ids
  CHECK(breaches[0].what == "in the baseline, and no longer among the records");
  CHECK(breaches[1].what == "in the baseline, and not compared now: skipped: no model.layers");
  CHECK(breaches[2].what == "in the baseline, and not compared now: no measured step time");
  for (const auto& breach : breaches) CHECK(breach.blocks);
  // A row that was not asked for is not missed.
  CHECK(check::breaches_of(s, {rows[0]}, [](const std::string& id) { return id == "good"; }).empty());

  check::Report report;
  report.rows = rows;
  report.breaches = breaches;
  const std::string junit = check::junit_report(report);
  CHECK(junit.find("name=\"skipped\"><failure") != std::string::npos);
  CHECK(junit.find("<testsuite name=\"baseline\" tests=\"1\" failures=\"1\"") != std::string::npos);
}

TEST_CASE("an entry of a file in which nothing is compared is a breach") {
  const check::Suite s = suite(R"({"file": "f", "mean": 0.05, "memory_mean": 0.05}, {"file": "empty", "worst": 0.1}, {"file": "*", "memory_worst": 0.1})", "");
  std::vector<check::Row> rows = {judged("a")};
  auto breaches = check::breaches_of(s, rows);
  REQUIRE(breaches.size() == 2);
  CHECK(breaches[0].what == "no peak memory is compared of its 1 rows");
  CHECK(breaches[1].file == "empty");
  CHECK(breaches[1].what == "no step time is compared of its 0 rows");
  rows[0].skipped = "no model.layers";
  rows[0].predicted_s.reset();
  breaches = check::breaches_of(s, rows);
  REQUIRE(breaches.size() == 3);
  CHECK(breaches[0].what == "no step time is compared of its 1 rows");
  CHECK(check::breaches_of(s, rows, [](const std::string&) { return true; }).empty());  // --id chose the rows
}

TEST_CASE("a suite that cannot judge is refused") {
  CHECK_THROWS_AS(suite(kWorse, ""), InputError);
  CHECK_THROWS_AS(suite(kWorse, "{}"), InputError);
  CHECK_THROWS_AS(suite(kWorse, R"({"a": "0.1"})"), InputError);
  CHECK_THROWS_AS(suite(kWorse, R"({"a": null})"), InputError);
  CHECK_NOTHROW(suite(kWorse, R"({"a": 0.1})"));
}

TEST_CASE("names of a suite must be among the records, and ids of the baseline stand for one row") {
  const check::Suite s = suite(kWorse, R"({"a": 0.0})");
  CHECK_NOTHROW(check::check_names(s, {"f"}, {judged("a"), judged("b"), judged("b")}));
  CHECK_THROWS_AS(check::check_names(s, {"g"}, {}), InputError);
  CHECK_THROWS_AS(check::check_names(s, {"f"}, {judged("a"), judged("a")}), InputError);
  CHECK_NOTHROW(check::check_names(suite(R"({"file": "*", "mean": 0.1})", ""), {"g"}, {}));
}

// Traces made by others and by our own measurements (shared/files, shared/truth/h200): counts, transfer time, clocks, replay errors.
#include <cstdio>
#include <filesystem>

#include "sim/core/error.h"
#include "sim/engine/engine.h"
#include "sim/import/kineto/kineto.h"
#include "sim/import/own_timeline/own_timeline.h"
#include "sim/replay/report.h"
#include "sim/trace/diff.h"
#include "tests/support/catch.h"

namespace fs = std::filesystem;
using namespace sgsim;

namespace {

const fs::path kShared = fs::path(SGSIM_SOURCE_DIR) / ".." / "shared";

bool absent(const fs::path& path) {
  if (fs::exists(path)) return false;
  std::printf("skipped: %s is not here\n", path.string().c_str());
  return true;
}

std::vector<std::string> files_in(const fs::path& folder, const std::string& part) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().find(part) != std::string::npos) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A run against its own written replay: every kind as long and as often, steps and ranks as many.
void check_drawn(const trace::ImportedRun& run, const replay::Built& built, const timeline::Timeline& timeline) {
  const std::string path = std::string(SGSIM_BINARY_DIR) + "/shared_traces_replay.json";
  replay::write_trace({.run = run, .workload = built.workload, .notes = built.notes, .rescaled = false, .sizes = ""}, timeline, path);
  const trace::Diff diff = trace::diff_runs(run, import::own_timeline::read(path, {}));
  CHECK(diff.steps_a == diff.steps_b);
  CHECK(diff.ranks_a == diff.ranks_b);
  CHECK(diff.step_b == Approx(diff.step_a).epsilon(0.005));
  for (const auto* rows : {&diff.by_kind, &diff.by_stream, &diff.by_rank}) {
    for (const trace::DiffRow& row : *rows) {
      INFO(row.key);
      if (row.key == "waiting for others") {
        CHECK(row.seconds_b == Approx(row.seconds_a).epsilon(0.005));
        continue;
      }
      CHECK(row.operations_a == Approx(row.operations_b));
      CHECK(row.seconds_b == Approx(row.seconds_a).epsilon(1e-4));
    }
  }
}

replay::Result replay_of(trace::ImportedRun& run, trace::Matching& matching) {
  matching = trace::match_collectives(run);
  trace::align_clocks(run, matching);
  std::vector<trace::Dependencies> dependencies;
  for (const trace::RankTrace& rank : run.ranks) dependencies.push_back(trace::recover_dependencies(run, rank));
  const replay::Built built = replay::build_programs(run, matching, dependencies);
  const timeline::Timeline timeline = engine::run_fast(engine::unfolded(built.workload), {.spans_of = {}, .all_spans = true});
  check_drawn(run, built, timeline);
  return replay::compare(run, built, timeline);
}

}  // namespace

TEST_CASE("Megatron, tensor parallel 8 on A100s: kernels, collectives, transfer, clocks, replay") {
  const fs::path folder = kShared / "files/multirank/astra-sim-megatron-tp8";
  if (absent(folder)) return;
  trace::ImportedRun run = import::kineto::read(files_in(folder, "kineto"), {});
  REQUIRE(run.ranks.size() == 8);
  for (const trace::RankTrace& rank : run.ranks) {
    CHECK(std::count_if(rank.device_ops.begin(), rank.device_ops.end(), [](const trace::DeviceOp& op) { return op.kind == trace::DeviceKind::kernel; }) == 690);
    CHECK(rank.collectives.size() == 84);
  }
  trace::Matching matching;
  const replay::Result result = replay_of(run, matching);
  CHECK(matching.operations.size() == 84);
  CHECK(static_cast<double>(trace::total_transfer(matching)) * 1e-6 == Approx(50.1).margin(0.05));
  CHECK(matching.raw_skew <= 49'000);
  std::printf("Megatron tp8: transfer %.3f ms, clocks %.0f us; whole %.3f ms measured, %.3f simulated (%+.2f %%); step %.2f %%\n", static_cast<double>(trace::total_transfer(matching)) * 1e-6,
              static_cast<double>(matching.raw_skew) * 1e-3, result.whole.measured_s * 1e3, result.whole.simulated_s * 1e3, result.whole.error().value_or(0.0) * 100.0, result.worst_error * 100.0);
  CHECK(std::abs(result.whole.error().value()) <= 0.03);
  CHECK(result.worst_error <= 0.03);
}

TEST_CASE("H200 training steps replay") {
  const fs::path folder = kShared / "truth/h200";
  if (absent(folder)) return;
  const auto files = files_in(folder, ".trace.json.gz");
  REQUIRE(files.size() == 14);
  for (const std::string& file : files) {
    trace::ImportedRun run = import::kineto::read({file}, {});
    trace::Matching matching;
    const replay::Result result = replay_of(run, matching);
    std::printf("%-40s %9.3f ms measured, %9.3f simulated; steps %.2f %% mean, %.2f %% worst\n", fs::path(file).filename().c_str(), result.whole.measured_s * 1e3, result.whole.simulated_s * 1e3,
                result.mean_error * 100.0, result.worst_error * 100.0);
    INFO(file);
    CHECK(result.steps.size() == 2);
    CHECK(result.mean_error <= 0.02);
    CHECK(result.worst_error <= 0.04);
  }
}

TEST_CASE("every Kineto file of others is read, with nothing dropped") {
  const fs::path folder = kShared / "files/kineto";
  if (absent(folder)) return;
  int read = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!entry.is_regular_file() || path.find(".json") == std::string::npos || path.find("_et.json") != std::string::npos) continue;
    INFO(path);
    const trace::ImportedRun run = import::kineto::read({path}, {});
    for (const auto& [key, d] : run.report.entries()) {
      INFO(key << " " << d.example);
      CHECK(key.find(".dropped.") == std::string::npos);
    }
    std::size_t collectives = 0, counted = 0;  // counts in = counts out, kind by kind
    for (const trace::RankTrace& rank : run.ranks) collectives += rank.collectives.size();
    for (const auto& [key, d] : run.report.entries()) counted += key.rfind("import.kineto.collectives.", 0) == 0 ? d.count : 0;
    CHECK(collectives == counted);
    ++read;
  }
  CHECK(read == 15);
}

#include "sim/scenario/trace_export.h"

#include <nlohmann/json.hpp>

#include "sim/core/text_file.h"
#include "tests/support/catch.h"
#include "tests/unit/scenario/small_workload.h"

using namespace sgsim;
using namespace sgsim::scenario;
using lower::TaskKind;
using sgsim::testing::ProgramBuilder;
using sgsim::testing::simulate_all;
using sgsim::testing::workload_of;

namespace {

/// Two pipeline stages: the first computes and sends, the second receives and computes; memory of the first.
Run two_stages() {
  Run run;
  run.simulation = simulate_all(workload_of(
      {ProgramBuilder("stage 0").compute("forward", {{"mm", 1e-3}, {"add", 5e-4}}).communicate(TaskKind::send, "send pp", 0, 2e-4).build(),
       ProgramBuilder("stage 1").communicate(TaskKind::receive, "receive pp", 0, 2e-4).after(1).compute("forward", {{"mm", 1e-3}}).build()}));
  run.lowered.memory.resize(2);
  lower::MemoryPoint point{.task = 0, .by_class = {}};
  point.by_class[0] = 2_GiB;
  run.lowered.memory[0].curve = {point};
  return run;
}

}  // namespace

TEST_CASE("a timeline as Perfetto has it: kernels nest in runs, nothing overlaps, sends point at receives") {
  const std::string path = std::string(SGSIM_BINARY_DIR) + "/trace_export_test.json.gz";
  const Run run = two_stages();
  const TraceSize size = trace_size(run.simulation);
  CHECK(size.ranks == 2);
  CHECK(size.slices == 2 + 3 + 2);  // send, receive; a run with two kernels; a run with one
  Scenario scenario;
  scenario.file = "x.json";
  CHECK(write_trace(path, scenario, run).slices == size.slices);
  const auto tree = nlohmann::json::parse(read_text_file(path));
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> threads;
  std::map<std::string, int> names;
  std::vector<nlohmann::json> flows;
  for (const auto& event : tree.at("traceEvents")) {
    const std::string phase = event.at("ph");
    if (phase == "s" || phase == "f") flows.push_back(event);
    if (phase == "C") CHECK(event.at("args").at("parameters") == 2.0);
    if (phase != "X") continue;
    ++names[event.at("name")];
    const auto start = std::llround(event.at("ts").get<double>() * 1000);
    threads[{event.at("pid"), event.at("tid")}].emplace_back(start, start + std::llround(event.at("dur").get<double>() * 1000));
  }
  CHECK(names["mm"] == 2);
  CHECK(names["add"] == 1);
  CHECK(names["forward"] == 2);
  CHECK(names["wait: receive pp"] == 1);  // stage 1 waits 1.5 ms for stage 0
  for (const auto& [thread, slices] : threads) {
    std::vector<std::pair<std::int64_t, std::int64_t>> open;
    std::int64_t last = 0;
    for (const auto& slice : slices) {
      CHECK(slice.first >= last);  // monotone
      CHECK(slice.second >= slice.first);
      last = slice.first;
      while (!open.empty() && open.back().second <= slice.first) open.pop_back();
      if (!open.empty()) CHECK(slice.second <= open.back().second);  // inside its parent, or after it
      open.push_back(slice);
    }
  }
  REQUIRE(flows.size() == 2);
  CHECK(flows[0].at("pid") == 0);
  CHECK(flows[1].at("pid") == 1);
  CHECK(flows[0].at("ts").get<double>() <= flows[1].at("ts").get<double>());
}

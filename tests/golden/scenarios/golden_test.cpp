// What two small scenarios compute, in canonical text: integer nanoseconds, fixed order. A difference means that something
// changed, not that it is wrong; say why in the commit. SGSIM_UPDATE_GOLDEN=1 writes the texts anew.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "planner/cli/engines.h"
#include "sim/core/text_file.h"
#include "sim/scenario/labels.h"
#include "sim/scenario/read.h"
#include "sim/scenario/simulate.h"
#include "tests/support/catch.h"

namespace {

using namespace sgsim;
using namespace sgsim::scenario;

std::int64_t ns(Seconds time) { return std::llround(time.value() * 1e9); }

std::string task_name(const lower::Program& program, const lower::Task& task) {
  switch (task.kind) {
    case lower::TaskKind::collective:
    case lower::TaskKind::send:
    case lower::TaskKind::receive: return program.names.at(program.comms.at(task.comm).name.value);
    case lower::TaskKind::host_sync: return "host";
    default: return program.names.at(program.segments.at(task.segment).name.value);
  }
}

std::string canonical(const Run& run) {
  const Result& r = run.result;
  std::string text = fmt::format("step {} ns\ncompute {} exposed {} overlapped {} bubble {} host {} ns\nmodel {:.0f} hardware {:.0f} flop\n", ns(r.step_time), ns(r.compute),
                                 ns(r.exposed_comm), ns(r.overlapped_comm), ns(r.bubble), ns(r.host_bound), r.model_flops.value(), r.hardware_flops.value());
  for (const ClassResult& c : r.classes) {
    text += fmt::format("class \"{}\" ranks {} peak {:.0f} reserved {:.0f} bytes\n", c.name, c.ranks, c.peak.value(), c.reserved.value());
    for (std::size_t k = 0; k < c.at_peak.size(); ++k) text += fmt::format("  {} {:.0f}\n", label(static_cast<lower::MemoryClass>(k)), c.at_peak[k].value());
  }
  for (const NamedTime& t : r.kernels) text += fmt::format("kernel {} x {} {} ns\n", t.name, t.launches, ns(t.time));
  for (const timeline::Span& span : run.simulation.timeline.spans) {
    const lower::Program& program = run.simulation.workload.programs.at(run.simulation.workload.ranks.at(span.rank).program.value);
    const lower::Task& task = program.tasks.at(span.task);
    text += fmt::format("rank {} stream \"{}\" {} {} {} {} \"{}\"\n", run.simulation.timeline.representative.at(span.rank).value, program.streams.at(span.stream), ns(span.arrival),
                        ns(span.start), ns(span.end), label(task.kind), task_name(program, task));
  }
  return text;
}

/// The first line that differs, both ways: a golden of a thousand lines is no message.
std::string difference(const std::string& expected, const std::string& found) {
  std::size_t at = 0, line = 1, start = 0;
  while (at < expected.size() && at < found.size() && expected[at] == found[at]) {
    if (expected[at] == '\n') {
      ++line;
      start = at + 1;
    }
    ++at;
  }
  if (at == expected.size() && at == found.size()) return "";
  const auto rest = [&](const std::string& text) { return text.substr(start, text.find('\n', start) - start); };
  return fmt::format("line {}:\n  expected {}\n  found    {}", line, rest(expected), rest(found));
}

void check_golden(const std::string& name) {
  const std::string folder = SGSIM_SOURCE_DIR "/tests/golden/scenarios/";
  const Scenario scenario = read_scenario(folder + name + ".json");
  InputCache cache;
  const Outcome outcome = simulate(scenario, cache.load(scenario), cli::run_engine, {.choice = scenario.engine, .record = Record::everything, .ranks = {}});
  const std::string found = canonical(std::get<Run>(outcome));
  const std::string golden = folder + name + ".txt";
  if (const char* update = std::getenv("SGSIM_UPDATE_GOLDEN"); update != nullptr && std::string(update) == "1") {
    std::ofstream(golden) << found;
    WARN("wrote " << golden);
    return;
  }
  CHECK(difference(read_text_file(golden), found) == "");
}

}  // namespace

TEST_CASE("golden: data parallel on two GPUs, CUDA graph") { check_golden("ddp"); }
TEST_CASE("golden: pipeline of two stages, one of them slow") { check_golden("pipeline"); }

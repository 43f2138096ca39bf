// A scenario lowered for execution, and its comparison with a measurement that is made up from the prediction itself.
#include "planner/validate/compare.h"

#include <filesystem>

#include "calibrate/execute/issue.h"
#include "calibrate/execute/work_key.h"
#include "planner/cli/engines.h"
#include "planner/validate/executable.h"
#include "planner/validate/record.h"
#include "sim/check/record.h"
#include "sim/check/to_scenario.h"
#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/scenario/read.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::validate;

namespace {

struct Case {
  scenario::Scenario scenario;
  scenario::Inputs inputs;
  Prepared prepared;
  calibrate::ExecutableProgram program;
};

Case load(const std::string& name, std::vector<scenario::Setting> settings = {}) {
  static scenario::InputCache cache;
  Case c;
  c.scenario = as_executed(scenario::read_scenario(std::string(SGSIM_SOURCE_DIR "/scenarios/validate/") + (name.find('/') == std::string::npos ? "2gpu/" : "") + name + ".json", settings));
  c.inputs = cache.load(c.scenario);
  c.prepared = std::get<Prepared>(prepare(c.scenario, c.inputs, cli::run_engine));
  c.program = executable(c.scenario, c.inputs, c.prepared);
  return c;
}

std::int64_t ns(Seconds s) { return static_cast<std::int64_t>(s.value() * 1e9 + 0.5); }

/// As if everything had run as predicted, `slower` times as slow.
calibrate::MeasuredProgram as_predicted(const Case& c, double slower) {
  calibrate::MeasuredProgram m{.program = calibrate::program_id(c.program), .name = c.program.name, .graph = c.program.graph, .command = "a test"};
  m.machine.gpus.push_back({.name = "NVIDIA H200"});
  m.steps.median_s = c.prepared.simulation.timeline.step_time.value() * slower;
  m.steps.traced_s = m.steps.median_s;
  m.steps.count = 10;
  for (const auto& rank : c.program.ranks) m.ranks.emplace_back(c.program.programs[rank.program].tasks.size());
  for (const timeline::Span& s : c.prepared.simulation.timeline.spans) {
    // A kernel of communication begins when its rank arrives.
    m.ranks[s.rank][s.task] = {.start_ns = ns(s.arrival * slower), .end_ns = ns(s.end * slower), .busy_ns = ns((s.end - s.start) * slower), .records = 1};
  }
  for (const lower::Program& p : c.prepared.simulation.workload.programs) {
    for (const lower::KernelCost& k : p.kernels) m.works[work_of(k)] = {.count = 1, .median_s = k.estimate.time.value() * slower, .least_s = 0.0, .greatest_s = 0.0};
  }
  return m;
}

}  // namespace

TEST_CASE("every shipped program can be executed: shapes with kernels, uses that meet") {
  int programs = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SGSIM_SOURCE_DIR "/scenarios/validate")) {
    if (entry.path().extension() != ".json") continue;
    ++programs;
    const std::string name = entry.path().parent_path().filename().string() + "/" + entry.path().stem().string();
    INFO(name);
    const Case c = load(name);
    for (const graph::Work& work : c.program.works) CHECK_NOTHROW(calibrate::key_of(work, c.program.row, c.program.vocabulary));
    CHECK_NOTHROW(calibrate::program_from_text(calibrate::to_text(c.program), name));
  }
  CHECK(programs >= 24);
}

TEST_CASE("a program has the kernels that were lowered") {
  const Case c = load("gpt2-350m-ddp2");
  double predicted = 0.0, of_works = 0.0;
  for (const lower::Program& p : c.prepared.simulation.workload.programs) {
    for (const lower::KernelCost& k : p.kernels) {
      predicted += k.estimate.flops.value();
      of_works += std::visit([](const auto& w) { return std::is_same_v<std::decay_t<decltype(w)>, graph::MemoryBound> ? 0.0 : graph::flops_of(graph::Work(w)).value(); }, c.program.works.at(work_of(k)));
    }
  }
  CHECK(predicted == Approx(of_works).epsilon(1e-9));
}

TEST_CASE("receives are posted after the kernels before them") {
  const Case c = load("llama-8b-pp2");
  int receives = 0;
  for (const calibrate::RankProgram& p : c.program.programs) {
    std::uint32_t kernels = 0;
    for (const calibrate::ProgramTask& t : p.tasks) {
      if (t.kind == calibrate::ProgramTaskKind::receive && kernels > 0) {
        ++receives;
        const bool after = std::any_of(t.waits.begin(), t.waits.end(), [&](const calibrate::ProgramWait& w) { return w.stream == 0 && w.position == kernels; });
        CHECK(after);
      }
      if (t.stream == 0) ++kernels;
    }
  }
  CHECK(receives > 0);
}

TEST_CASE("a measurement as predicted has no error, a slower one the same error everywhere") {
  for (const char* name : {"gpt2-350m-fsdp2", "llama-8b-pp2-interleaved"}) {
    INFO(name);
    const Case c = load(name);
    const Comparison same = compare(c.program, c.prepared, as_predicted(c, 1.0), "m");
    CHECK(same.step.error() == Approx(0.0).margin(1e-9));
    for (const KindRow& row : same.kinds) {
      INFO(row.name);
      CHECK(row.time.error() == Approx(0.0).margin(1e-3));
    }
    const Comparison slower = compare(c.program, c.prepared, as_predicted(c, 1.25), "m");
    CHECK(slower.step.error() == Approx(-0.2));
    CHECK(slower.compute.error() == Approx(-0.2).margin(1e-3));
    CHECK(slower.exposed.error() == Approx(-0.2).margin(2e-3));
    for (const Comparison& c2 : {same, slower}) {
      const Seconds sum = c2.compute.measured + c2.exposed.measured + c2.waiting.measured + c2.idle.measured;
      CHECK(sum.value() == Approx(c2.step.measured.value()));
    }
    CHECK_FALSE(text_report(slower, as_predicted(c, 1.25)).empty());
  }
}

TEST_CASE("measurements of another program are refused") {
  const Case c = load("gpt2-124m-1");
  calibrate::MeasuredProgram m = as_predicted(c, 1.0);
  m.program = "0000000000000000";
  CHECK_THROWS_AS(compare(c.program, c.prepared, m, "m"), InputError);
  m = as_predicted(c, 1.0);
  m.ranks[0].pop_back();
  CHECK_THROWS_AS(compare(c.program, c.prepared, m, "m"), InputError);
}

TEST_CASE("both timelines go into one trace") {
  const Case c = load("gpt2-350m-ddp2");
  const std::string path = (std::filesystem::temp_directory_path() / "sgsim-validate-test.json").string();
  write_trace(path, compare(c.program, c.prepared, as_predicted(c, 1.0), "m"));
  const std::string text = read_text_file(path);
  CHECK(text.find("rank 1 predicted") != std::string::npos);
  CHECK(text.find("rank 1 measured") != std::string::npos);
  std::filesystem::remove(path);
}

TEST_CASE("a record of a run asks the same question again") {
  // What `sgsim check` makes of the record must be the program that was measured: the same step time to the last digit.
  for (const char* name : {"gpt2-350m-ddp2", "llama-8b-tp2-sp", "llama-8b-fsdp2-recompute", "llama-8b-pp2-interleaved"}) {
    INFO(name);
    const Case c = load(name, {{"training.execution", "cuda_graph"}});
    const std::string path = (std::filesystem::temp_directory_path() / "sgsim-validate-record.json").string();
    std::filesystem::remove(path);
    add_record(path, c.scenario, c.inputs, as_predicted(c, 1.0));
    add_record(path, c.scenario, c.inputs, as_predicted(c, 1.0));  // replaces, does not add
    const std::vector<check::Record> records = check::read_records(path);
    std::filesystem::remove(path);
    REQUIRE(records.size() == 1);
    const check::Question q = check::question_of(records[0], check::shipped_sources());
    REQUIRE(q.skipped == "");
    CHECK(q.scenario.plan == c.scenario.plan);
    CHECK(q.scenario.profile == c.scenario.profile);
    CHECK(q.scenario.training.execution == c.scenario.training.execution);
    scenario::InputCache cache;
    const auto again = prepare(as_executed(q.scenario), cache.load(q.scenario), cli::run_engine);
    CHECK(std::get<Prepared>(again).simulation.timeline.step_time == c.prepared.simulation.timeline.step_time);
  }
}

TEST_CASE("plans of compiled data parallelism become programs: the executor calls no pieces") {
  for (const char* name : {"gpt2-350m-ddp2", "llama-1b-ddp2"}) {
    const Case compiled = load(name, {{"training.execution", "compiled"}}), uncut = load(name, {{"training.execution", "compiled"}, {"training.stack.ddp_cuts_graph", "false"}});
    CHECK(compiled.prepared.simulation.timeline.step_time < uncut.prepared.simulation.timeline.step_time);  // whose reductions follow the backward pass
  }
}

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "planner/cli/engines.h"
#include "planner/cli/scenario_flags.h"
#include "planner/cli/subcommand.h"
#include "sim/scenario/remedies.h"
#include "sim/scenario/report.h"
#include "sim/scenario/simulate.h"
#include "sim/scenario/trace_export.h"

namespace sgsim::cli {
namespace {

constexpr std::size_t kMostRemedies = 5;

struct Flags {
  ScenarioFlags scenario;
  bool json = false;
  std::string trace;
  std::optional<std::int64_t> rank;
};

scenario::EngineRequest request_of(const Flags& flags, const scenario::Scenario& s) {
  scenario::EngineRequest request{.choice = s.engine, .record = scenario::Record::nothing, .ranks = {}};
  if (flags.rank && (*flags.rank < 0 || *flags.rank >= s.cluster.gpus())) {
    throw InputError({.file = fmt::format("--rank {}", *flags.rank), .where = "", .found = std::to_string(*flags.rank),
                      .expected = fmt::format("a rank from 0 to {}", s.cluster.gpus() - 1), .hint = ""});
  }
  if (flags.rank) {
    request.record = scenario::Record::ranks;
    request.ranks = {RankId{static_cast<std::uint32_t>(*flags.rank)}};
  } else if (!flags.trace.empty()) {
    request.record = scenario::Record::one_a_stage;
  } else if (flags.json) {
    request.record = scenario::Record::fullest_rank;  // for memory over time
  }
  return request;
}

void write_trace(const Flags& flags, const scenario::Scenario& s, const scenario::Run& run) {
  const scenario::TraceSize size = scenario::write_trace(flags.trace, s, run);
  const char* what = flags.rank ? "the rank that was asked for" : "the first rank of each stage; --rank R draws another";
  fmt::print(stderr, "timeline: {} ({} rank{}, {} slices: {}); open it at https://ui.perfetto.dev\n", flags.trace, size.ranks, size.ranks == 1 ? "" : "s", size.slices, what);
}

ExitCode simulate(const Flags& flags) {
  const auto started = std::chrono::steady_clock::now();
  const scenario::Scenario s = flags.scenario.read();
  const scenario::EngineRequest request = request_of(flags, s);
  scenario::InputCache cache;
  const scenario::Inputs inputs = cache.load(s);
  const scenario::Outcome outcome = scenario::simulate(s, inputs, run_engine, request);
  if (const auto* violations = std::get_if<std::vector<plan::Violation>>(&outcome)) {
    fmt::print("{}", flags.json ? scenario::json_report(s, *violations) : scenario::text_report(s, *violations));
    return ExitCode::infeasible;
  }
  const auto& run = std::get<scenario::Run>(outcome);
  const Seconds wall(std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
  std::vector<scenario::Remedy> remedies;
  if (!run.result.fits) remedies = scenario::memory_remedies(s, cache, kMostRemedies);
  if (flags.json) {
    fmt::print("{}", scenario::json_report(s, inputs, run.result, wall, remedies));
  } else {
    fmt::print("{}{}", scenario::text_report(s, inputs, run.result, wall), run.result.fits ? "" : "\n" + scenario::text_report(remedies));
  }
  if (!flags.trace.empty()) write_trace(flags, s, run);
  return run.result.fits ? ExitCode::good : ExitCode::infeasible;
}

}  // namespace

void add_simulate(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("simulate", "Predict one training step: time, throughput, memory, where both go");
  flags->scenario.add(*command, true);
  command->add_flag("--json", flags->json, "Print JSON (scenarios/schema/result.schema.json)");
  command->add_option("--trace", flags->trace, "Write a timeline for Perfetto (docs/formats/trace.md)")->type_name("FILE.json[.gz]")->check([](const std::string& path) { return path.empty() ? std::string("an empty file name") : std::string(); }, "");
  command->add_option("--rank", flags->rank, "This rank alone (its class, where ranks are folded): its figures, and with --trace its timeline")->type_name("R");
  command->callback([flags, &chosen] { chosen = [flags] { return simulate(*flags); }; });
}

}  // namespace sgsim::cli

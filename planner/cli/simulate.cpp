#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>

#include "planner/cli/engines.h"
#include "planner/cli/scenario_flags.h"
#include "planner/cli/subcommand.h"
#include "sim/scenario/remedies.h"
#include "sim/scenario/report.h"
#include "sim/scenario/simulate.h"
#include "sim/scenario/trace_export.h"

namespace sgsim::cli {
namespace {

// A timeline of every rank is only asked for on purpose, and only where a browser can show it.
constexpr int kMostRanksInTrace = 64;
constexpr std::size_t kMostRemedies = 5;

struct Flags {
  ScenarioFlags scenario;
  bool json = false;
  std::string trace;
  std::int64_t rank = -1;
};

scenario::EngineRequest request_of(const Flags& flags, const scenario::Scenario& s) {
  scenario::EngineRequest request{.choice = s.engine, .record = scenario::Record::nothing, .rank = {}};
  if (flags.rank >= s.cluster.gpus()) {
    throw InputError({.file = fmt::format("--rank {}", flags.rank), .where = "", .found = fmt::format("{} ranks", s.cluster.gpus()),
                      .expected = fmt::format("a rank from 0 to {}", s.cluster.gpus() - 1), .hint = ""});
  }
  if (flags.rank >= 0) {
    request.record = scenario::Record::one_rank;
    request.rank = RankId{static_cast<std::uint32_t>(flags.rank)};
    return request;
  }
  if (flags.trace.empty()) {
    if (flags.json) request.record = scenario::Record::fullest_rank;  // for memory over time
    return request;
  }
  if (simulates_every_rank(s.cluster, s.engine) && s.cluster.gpus() > kMostRanksInTrace) {
    throw InputError({.file = "--trace " + flags.trace, .where = "", .found = fmt::format("a timeline of all {} ranks", s.cluster.gpus()),
                      .expected = fmt::format("at most {} ranks in one file", kMostRanksInTrace),
                      .hint = "Ask for one with --rank R, or leave --full out: one rank of each class is then drawn"});
  }
  request.record = scenario::Record::everything;
  return request;
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
  if (!flags.trace.empty()) {
    const std::uint64_t events = scenario::write_trace(flags.trace, s, run);
    fmt::print(stderr, "timeline: {} ({} events); open it at https://ui.perfetto.dev\n", flags.trace, events);
  }
  return run.result.fits ? ExitCode::good : ExitCode::infeasible;
}

}  // namespace

void add_simulate(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("simulate", "Predict one training step: time, throughput, memory, where both go");
  flags->scenario.add(*command, true);
  command->add_flag("--json", flags->json, "Print JSON (scenarios/schema/result.schema.json)");
  command->add_option("--trace", flags->trace, "Write a timeline for Perfetto (docs/formats/trace.md)")->type_name("FILE.json[.gz]");
  command->add_option("--rank", flags->rank, "This rank alone (its class, where ranks are folded): its figures, and with --trace its timeline")->type_name("R")->check(CLI::NonNegativeNumber);
  command->callback([flags, &chosen] { chosen = [flags] { return simulate(*flags); }; });
}

}  // namespace sgsim::cli

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "planner/cli/engines.h"
#include "planner/cli/scenario_flags.h"
#include "planner/cli/subcommand.h"
#include "sim/core/units_text.h"
#include "sim/engine/traffic/link_traffic.h"
#include "sim/scenario/live.h"
#include "sim/scenario/remedies.h"
#include "sim/scenario/report.h"
#include "sim/scenario/simulate.h"
#include "sim/scenario/text_table.h"
#include "sim/scenario/trace_export.h"

namespace sgsim::cli {
namespace {

constexpr std::size_t kMostRemedies = 5;
constexpr std::size_t kMostLive = 40, kMostLinks = 20;

struct Flags {
  ScenarioFlags scenario;
  bool json = false;
  std::string trace, live;
  bool links = false;
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
  } else if (!flags.trace.empty() || !flags.live.empty()) {
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

Seconds moment(const std::string& text) {
  try {
    return parse_seconds(text);
  } catch (const InputError& error) {
    InputProblem problem = error.problem();
    problem.file = "--live";
    problem.hint = "Or \"peak\"";
    throw InputError(problem);
  }
}

/// What the asked rank (else the fullest one) holds at a time or at its peak.
void print_live(const Flags& flags, const scenario::Scenario& s, const scenario::Inputs& inputs, const scenario::Run& run) {
  const auto& simulation = run.simulation;
  const auto memory_of = [&](std::uint32_t r) -> const lower::Memory& { return run.lowered.memory.at(simulation.workload.ranks.at(r).program.value); };
  std::uint32_t rank = simulation.timeline.spans.empty() ? 0 : simulation.timeline.spans.front().rank;
  for (const timeline::Span& span : simulation.timeline.spans) {
    if (memory_of(span.rank).reserved > memory_of(rank).reserved) rank = span.rank;
  }
  const auto curve = scenario::memory_curve(simulation, memory_of(rank), rank);
  const scenario::MemoryAt* at = flags.live == "peak" ? scenario::fullest(curve) : scenario::at_time(curve, moment(flags.live));
  if (at == nullptr) return;
  const RankId real = simulation.timeline.representative.at(rank);
  const auto items = scenario::live_at(scenario::memory_log(s, inputs, real), *at);
  fmt::print("\n{}", scenario::live_text(items, fmt::format("live at {} on rank {} ({})", to_text(at->time), real.value, simulation.workload.programs.at(simulation.workload.ranks.at(rank).program.value).name), kMostLive));
}

void print_links(const engine::LinkTraffic& traffic, const scenario::Scenario& s, const scenario::Run& run) {
  std::vector<engine::LinkUse> uses = engine::link_uses(traffic, s.cluster, run.simulation.timeline.step_time);
  std::stable_sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  scenario::TextTable table("lrrr");
  table.row({"link (one direction)", "bytes a step", "bandwidth", "used"});
  for (std::size_t i = 0; i < std::min(kMostLinks, uses.size()); ++i) table.row({uses[i].name, to_text(uses[i].bytes), to_text(uses[i].bandwidth), scenario::percent(uses[i].share)});
  fmt::print("\nbusiest of {} links\n{}", uses.size(), table.text());
}

ExitCode simulate(const Flags& flags) {
  const auto started = std::chrono::steady_clock::now();
  const scenario::Scenario s = flags.scenario.read();
  const scenario::EngineRequest request = request_of(flags, s);
  if (!flags.live.empty() && flags.live != "peak") (void)moment(flags.live);  // refused before anything is simulated
  scenario::InputCache cache;
  const scenario::Inputs inputs = cache.load(s);
  engine::LinkTraffic traffic;
  const scenario::RunEngine engine = [&](lower::Workload workload, const cluster::Cluster& cluster, const scenario::EngineRequest& r) {
    if (flags.links) traffic = engine::link_traffic(workload, cluster);
    return run_engine(std::move(workload), cluster, r);
  };
  const scenario::Outcome outcome = scenario::simulate(s, inputs, engine, request);
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
  if (!flags.live.empty()) print_live(flags, s, inputs, run);
  if (flags.links) print_links(traffic, s, run);
  if (!flags.trace.empty()) write_trace(flags, s, run);
  return run.result.fits ? ExitCode::good : ExitCode::infeasible;
}

}  // namespace

void add_simulate(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("simulate", "Predict one training step: time, throughput, memory, where both go");
  flags->scenario.add(*command, true);
  CLI::Option* json = command->add_flag("--json", flags->json, "Print JSON (scenarios/schema/result.schema.json)");
  command->add_option("--trace", flags->trace, "Write a timeline for Perfetto (docs/formats/trace.md)")->type_name("FILE.json[.gz]")->check([](const std::string& path) { return path.empty() ? std::string("an empty file name") : std::string(); }, "");
  command->add_option("--rank", flags->rank, "This rank alone (its class, where ranks are folded): its figures, and with --trace its timeline")->type_name("R");
  command->add_option("--live", flags->live, "Also what holds memory at a time (\"0.8 s\") or at the peak (\"peak\"), on --rank or the fullest rank")->type_name("TIME")->excludes(json);
  command->add_flag("--links", flags->links, "Also the busiest links: bytes a step, and of what they could carry")->excludes(json);
  command->callback([flags, &chosen] { chosen = [flags] { return simulate(*flags); }; });
}

}  // namespace sgsim::cli

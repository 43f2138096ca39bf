#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "planner/cli/imported_run.h"
#include "planner/cli/replay_machine.h"
#include "planner/cli/subcommand.h"
#include "sim/cluster/builders.h"
#include "sim/core/units_text.h"
#include "sim/engine/engine.h"
#include "sim/replay/account.h"
#include "sim/replay/captured_gpu.h"
#include "sim/replay/report.h"
#include "sim/replay/rescale.h"
#include "sim/replay/steps.h"
#include "sim/replay/untimed.h"
#include "sim/scenario/read.h"
#include "sim/trace/all_ranks.h"
#include "sim/trace/no_times.h"
#include "sim/trace/summary.h"

namespace sgsim::cli {
namespace {

struct Flags {
  std::string path, trace, captured_machine, machine, boundary;
  replay::Sizes captured{.dp = 0, .tp = 0, .pp = 0, .micro_batches = 0}, wanted{.dp = 0, .tp = 0, .pp = 0, .micro_batches = 0};  // 0: not given
  double limit = -1.0;
  bool report = false;
};

constexpr int kMostRanks = 100'000;
/// CLI::Range lets NaN pass, which no error is above.
const auto kLimit = [](const std::string& text) {
  double percent = 0.0;
  return CLI::detail::lexical_cast(text, percent) && percent >= 0.0 && percent <= 1e6 ? std::string() : "\"" + text + "\" is not a number from 0 to 1000000";
};

std::string sizes_text(const replay::Sizes& s) { return fmt::format("dp {} tp {} pp {} cp 1 ep 1 micro_batches {} virtual_stages 1", s.dp, s.tp, s.pp, s.micro_batches); }

ExitCode replay_as_captured(const Flags& flags, const RecoveredRun& run) {
  const replay::Built built = replay::build_programs(run.run, run.matching, run.dependencies);
  const timeline::Timeline timeline = engine::run_fast(engine::unfolded(built.workload), {.spans_of = {}, .all_spans = true});
  const replay::Result result = replay::compare(run.run, built, timeline);
  fmt::print("{}", replay::text_report(result, built, timeline));
  Diagnostics report = built.report;
  report.merge(run.run.report);
  for (const trace::Dependencies& d : run.dependencies) report.merge(d.report);
  report.merge(run.matching.report);
  fmt::print("{}", trace::report_text(report, flags.report));
  if (!flags.trace.empty()) {
    const auto sizes = replay::sizes_in(run.run);
    replay::write_trace({.run = run.run, .workload = built.workload, .notes = built.notes, .rescaled = false, .sizes = sizes ? sizes_text(*sizes) : ""}, timeline, flags.trace);
  }
  return flags.limit >= 0.0 && !result.within(flags.limit / 100.0) ? ExitCode::check_failed : ExitCode::good;
}

/// A workload: nothing was measured, and what has no duration is carried by the network of --machine.
ExitCode replay_untimed(const Flags& flags, const RecoveredRun& run) {
  const bool sizes = flags.wanted != replay::Sizes{.dp = 0, .tp = 0, .pp = 0, .micro_batches = 0} || flags.captured.pp != 0 || flags.captured.micro_batches != 0;
  if (sizes || flags.limit >= 0.0 || !flags.captured_machine.empty() || !flags.boundary.empty()) {
    throw InputError({.file = flags.path, .where = "", .found = "no start times, and other sizes, a captured machine or a limit", .expected = "--machine, --captured-dp, --captured-tp and --trace only", .hint = "durations and dependencies are simulated as they are, and there is nothing measured to compare with"});
  }
  const int ranks = replay::ranks_of(run.run, flags.captured);
  std::optional<OwnMachine> machine;
  if (!flags.machine.empty()) machine = machine_of(flags.machine, ranks, "--machine");
  const std::optional<replay::Machine> network = machine ? std::optional(replay::Machine{machine->cluster, machine->profile}) : std::nullopt;
  const replay::Built built = replay::build_untimed(run.run, run.matching, network ? &*network : nullptr, flags.captured);
  const timeline::Timeline timeline = engine::run_fast(engine::unfolded(built.workload), {.spans_of = {}, .all_spans = true});
  const replay::Account first = replay::mean(replay::accounts(built.workload.programs.front(), built.notes.front(), replay::spans_of(timeline, 0)));
  const std::vector<std::uint32_t> missing = replay::not_in_files(run.run, ranks);
  const std::size_t shown = built.workload.ranks.size() + missing.size();
  const std::string without = missing.empty() ? "" : fmt::format("; {} {} no file and {} taken to do as the others", trace::ranks_text(missing), missing.size() == 1 ? "has" : "have", missing.size() == 1 ? "is" : "are");
  fmt::print("simulated: {:.3f} ms ({} rank{}{}{}). The file has no start times: this is what its durations and dependencies come to, and nothing was measured to compare with.\n",
             timeline.step_time.value() * 1e3, shown, shown == 1 ? "" : "s", machine ? " on " + machine->cluster.name : "", without);
  fmt::print("{}: {}\n", built.workload.programs.front().name, replay::text_of(first));
  Diagnostics report = built.report;
  report.merge(run.run.report);
  report.merge(run.matching.report);
  fmt::print("{}", trace::report_text(report, flags.report));
  if (!flags.trace.empty()) replay::write_trace({.run = run.run, .workload = built.workload, .notes = built.notes, .rescaled = false, .sizes = ""}, timeline, flags.trace);
  return ExitCode::good;
}

/// Captured sizes: as given, else as the file says (its sizes, or descriptions of its communicators), else 1, and dp from the ranks of the file. Wanted: as given, else as captured.
std::pair<replay::Sizes, replay::Sizes> sizes_of(const Flags& flags, const trace::ImportedRun& run) {
  const replay::Sizes file = replay::sizes_in(run).value_or(replay::Sizes{.dp = 0, .tp = 1, .pp = 1, .micro_batches = 1});
  const auto pick = [](int given, int otherwise) { return given != 0 ? given : otherwise; };
  const auto all = [&](const replay::Sizes& given, const replay::Sizes& otherwise) {
    return replay::Sizes{.dp = pick(given.dp, otherwise.dp), .tp = pick(given.tp, otherwise.tp), .pp = pick(given.pp, otherwise.pp), .micro_batches = pick(given.micro_batches, otherwise.micro_batches)};
  };
  replay::Sizes captured = all(flags.captured, file);
  if (flags.captured.tp == 0 && !replay::sizes_in(run)) captured.tp = replay::tensor_size_said(run).value_or(1);
  if (captured.dp == 0) captured.dp = std::max(1, static_cast<int>(run.ranks.front().world_size) / std::max(1, captured.tp * captured.pp));
  return {captured, all(flags.wanted, captured)};
}

/// A rescaled job, simulated: one step of its first rank, the mean of those that the trace has.
struct Simulated {
  engine::Folded folded;
  std::vector<replay::ProgramNotes> notes;
  timeline::Timeline timeline;
  std::vector<replay::Account> steps;
  replay::Account step;
  Diagnostics report;
};

Simulated simulate(const RecoveredRun& run, const replay::Rescale& request, bool all_spans) {
  replay::Rescaled rescaled = replay::rescale(run.run, run.matching, run.dependencies, request);
  Simulated result{.folded = engine::fold(std::move(rescaled.workload)), .notes = std::move(rescaled.notes), .timeline = {}, .steps = {}, .step = {}, .report = std::move(rescaled.report)};
  result.timeline = engine::run_fast(result.folded, {.spans_of = {0}, .all_spans = all_spans});
  const std::size_t program = result.folded.workload.ranks.front().program.value;
  result.steps = replay::accounts(result.folded.workload.programs[program], result.notes[program], replay::spans_of(result.timeline, 0));
  result.step = replay::mean(result.steps);
  return result;
}

/// The mean step of the first rank when each captured rank runs its own program.
replay::Account replayed_step(const RecoveredRun& run) {
  const replay::Built built = replay::build_programs(run.run, run.matching, run.dependencies);
  const timeline::Timeline timeline = engine::run_fast(engine::unfolded(built.workload), {.spans_of = {0}, .all_spans = false});
  return replay::mean(replay::accounts(built.workload.programs.front(), built.notes.front(), replay::spans_of(timeline, 0)));
}

/// `whole`: steps of the trace; a pipeline or another number of micro-batches is put together from the passes of the last of them.
std::string steps_text(const std::vector<replay::Account>& steps, std::size_t whole, bool of_passes) {
  if (of_passes) return whole > 1 ? fmt::format("from the passes of the last of {} whole steps", whole) : std::string("from the passes of the one step of the trace");
  if (steps.size() == 1) return "the one step of the trace";
  std::string text;
  for (const replay::Account& a : steps) text += fmt::format("{}{:.1f}", text.empty() ? "" : ", ", a.step_s * 1e3);
  return fmt::format("mean of {} whole steps{}", steps.size(), steps.size() <= 6 ? ": " + text + " ms" : "");
}

std::string micro_batches(const replay::Sizes& sizes) { return fmt::format("{} micro-batch{}", sizes.micro_batches, sizes.micro_batches == 1 ? "" : "es"); }

std::string machine_hint(const trace::ImportedRun& run) {
  const std::string& gpu = run.ranks.front().gpu;
  if (const std::string names = gpu.empty() ? "" : replay::machines_with(gpu); !names.empty()) return "it ran on " + gpu + ", which these have: " + names;
  std::string names;
  for (const std::string& name : cluster::builtin_cluster_names()) names += (names.empty() ? "" : ", ") + name;
  return (gpu.empty() ? "" : "it ran on " + gpu + ", which no builtin machine has; ") + ("one of: " + names);
}

ExitCode replay_rescaled(const Flags& flags, const RecoveredRun& run) {
  const auto [captured, wanted] = sizes_of(flags, run.run);
  if (flags.limit >= 0.0) throw InputError({.file = "sgsim replay", .where = "--limit", .found = "a limit and other sizes or another machine", .expected = "--limit without them", .hint = "what was not measured has no error"});
  if (flags.captured_machine.empty()) {
    throw InputError({.file = "sgsim replay", .where = "--captured-machine", .found = "nothing", .expected = "the machine of the trace", .hint = machine_hint(run.run)});
  }
  for (const replay::Sizes& sizes : {captured, wanted}) {
    if (std::int64_t{sizes.dp} * sizes.tp * sizes.pp > kMostRanks) {
      throw InputError({.file = "sgsim replay", .where = "", .found = fmt::format("dp {} x tp {} x pp {}", sizes.dp, sizes.tp, sizes.pp), .expected = fmt::format("at most {} ranks", kMostRanks), .hint = "sizes multiply: take a smaller one"});
    }
  }
  const OwnMachine from = machine_of(flags.captured_machine, captured.ranks(), "--captured-machine");
  const OwnMachine to = machine_of(flags.machine.empty() ? flags.captured_machine : flags.machine, wanted.ranks(), "--machine");
  replay::Rescale request{.captured = captured, .wanted = wanted, .from = {from.cluster, from.profile}, .to = {to.cluster, to.profile}};
  if (!flags.boundary.empty()) request.boundary = parse_bytes(flags.boundary);
  const Simulated wanted_job = simulate(run, request, !flags.trace.empty());
  const replay::Rescale as_captured{.captured = captured, .wanted = captured, .from = request.from, .to = request.from, .boundary = request.boundary};
  Diagnostics told;
  const std::size_t whole_steps = replay::find_steps(run.run, run.run.ranks.front(), told).size();
  fmt::print("captured: dp {} x tp {} x pp {}, {}, on {}\n", captured.dp, captured.tp, captured.pp, micro_batches(captured), from.cluster.name);
  fmt::print("wanted:   dp {} x tp {} x pp {}, {}, on {} GPUs of {}: {} a step ({}; {} of {} ranks simulated)\n", wanted.dp, wanted.tp, wanted.pp, micro_batches(wanted), wanted.ranks(), to.cluster.name,
             to_text(Seconds(wanted_job.step.step_s)), steps_text(wanted_job.steps, whole_steps, replay::made_of_passes(request)), wanted_job.folded.multiplicity.size(), wanted.ranks());
  const bool waiting_left_out = wanted_job.report.entries().count(replay::kWaitingLeftOut) != 0, others = run.run.ranks.size() > 1 && wanted_job.notes.size() == 1;
  replay::Sides sides{.replayed = waiting_left_out || others ? std::optional(replayed_step(run)) : std::nullopt, .waiting_left_out = waiting_left_out, .captured = {}, .wanted = wanted_job.step, .fed = std::nullopt};
  sides.captured = (flags.machine.empty() || flags.machine == flags.captured_machine) && captured == wanted ? wanted_job.step : simulate(run, as_captured, false).step;
  if (replay::host_binds(sides.wanted)) {
    replay::Rescale fed = request;
    fed.host = 0.0;
    sides.fed = simulate(run, fed, false).step;
  }
  fmt::print("{}", replay::text_of(sides));
  if (waiting_left_out) {
    fmt::print("Collectives lasted longer than the network of {} accounts for: this rank waited for ranks whose files are not imported. The step is rescaled without that waiting, as if those came on time; import all ranks of a group to measure it.\n", from.cluster.name);
  }
  Diagnostics report = wanted_job.report;
  report.merge(run.run.report);
  report.merge(run.matching.report);
  fmt::print("{}", trace::report_text(report, flags.report));
  if (!flags.trace.empty()) {
    replay::write_trace({.run = run.run, .workload = wanted_job.folded.workload, .notes = wanted_job.notes, .rescaled = true, .sizes = sizes_text(wanted)}, wanted_job.timeline, flags.trace);
  }
  return ExitCode::good;
}

ExitCode replay_run(const Flags& flags) {
  const RecoveredRun run = read_recovered_run(flags.path);
  const auto has_operations = [](const trace::RankTrace& rank) { return !rank.device_ops.empty(); };
  if (!trace::has_start_times(run.run) && std::any_of(run.run.ranks.begin(), run.run.ranks.end(), has_operations)) return replay_untimed(flags, run);
  const bool other = flags.wanted != replay::Sizes{.dp = 0, .tp = 0, .pp = 0, .micro_batches = 0} || !flags.machine.empty();
  if (other) return replay_rescaled(flags, run);
  if (!flags.captured_machine.empty() || !flags.boundary.empty() || flags.captured != replay::Sizes{.dp = 0, .tp = 0, .pp = 0, .micro_batches = 0}) {
    throw InputError({.file = "sgsim replay", .where = "", .found = "--captured-... or --boundary, and nothing that is wanted", .expected = "--dp, --tp, --pp, --micro-batches or --machine beside them", .hint = "a run is replayed as captured without any of these"});
  }
  return replay_as_captured(flags, run);
}

}  // namespace

void add_replay(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("replay", "Simulate an imported run on the machine it came from, or with other sizes, GPUs or network");
  command->add_option("FILE", flags->path, "Trace, or folder with the traces of one run")->required();
  command->add_option("--trace", flags->trace, "Write the simulated timeline (Perfetto; .json or .json.gz)");
  command->add_option("--limit", flags->limit, "Fail (exit code 1) when a step is off by more than this many percent")->check(kLimit);
  command->add_option("--captured-dp", flags->captured.dp, "Data parallel size of the trace (from its ranks); of a file without start times: of communicators whose size it lacks")->check(CLI::Range(1, kMostRanks));
  command->add_option("--captured-tp", flags->captured.tp, "Tensor parallel size of the trace (1, or as a timeline of sgsim says)")->check(CLI::Range(1, kMostRanks));
  command->add_option("--captured-pp", flags->captured.pp, "Pipeline stages of the trace (likewise)")->check(CLI::Range(1, kMostRanks));
  command->add_option("--captured-micro-batches", flags->captured.micro_batches, "Micro-batches of a step of the trace (likewise)")->check(CLI::Range(1, kMostRanks));
  command->add_option("--captured-machine", flags->captured_machine, "Machine of the trace, a builtin cluster's name or a cluster file; needed to rescale");
  command->add_option("--dp", flags->wanted.dp, "Wanted data parallel size")->check(CLI::Range(1, kMostRanks));
  command->add_option("--tp", flags->wanted.tp, "Wanted tensor parallel size")->check(CLI::Range(1, kMostRanks));
  command->add_option("--pp", flags->wanted.pp, "Wanted pipeline stages")->check(CLI::Range(1, kMostRanks));
  command->add_option("--micro-batches", flags->wanted.micro_batches, "Wanted micro-batches of a step")->check(CLI::Range(1, kMostRanks));
  command->add_option("--boundary", flags->boundary, "Bytes of one micro-batch's activations between two stages, where none were captured, e.g. \"64 MiB\"");
  command->add_option("--machine", flags->machine, "Wanted machine, a builtin cluster's name or a cluster file; of a file without start times: whose network carries what has no duration");
  command->add_flag("--report", flags->report, "Print every counter");
  command->callback([flags, &chosen] { chosen = [flags] { return replay_run(*flags); }; });
}

}  // namespace sgsim::cli

#include <fmt/format.h>

#include <memory>

#include "planner/cli/imported_run.h"
#include "planner/cli/subcommand.h"
#include "sim/cluster/builders.h"
#include "sim/core/units_text.h"
#include "sim/engine/engine.h"
#include "sim/replay/report.h"
#include "sim/replay/rescale.h"
#include "sim/scenario/read.h"
#include "sim/trace/summary.h"

namespace sgsim::cli {
namespace {

struct Flags {
  std::string path, trace, captured_machine, machine;
  int captured_dp = 0, captured_tp = 1, dp = 0, tp = 0;
  double limit = -1.0;
  bool report = false;
};

struct OwnMachine {
  cluster::Cluster cluster;
  cost::Profile profile;
};

OwnMachine machine_of(const std::string& name, int ranks) {
  auto one = cluster::builtin_cluster(name, 1);
  if (!one) {
    std::string names;
    for (const std::string& n : cluster::builtin_cluster_names()) names += (names.empty() ? "" : ", ") + n;
    throw InputError({.file = "sgsim replay", .where = "machine", .found = "\"" + name + "\"", .expected = "one of: " + names, .hint = ""});
  }
  OwnMachine machine{*cluster::builtin_cluster(name, (ranks + one->node.gpus - 1) / one->node.gpus), {}};
  machine.profile = cost::load_profile(scenario::data_folder() + "/profiles/" + machine.cluster.node.gpu.profile + ".json");
  return machine;
}

ExitCode replay_as_captured(const Flags& flags, const RecoveredRun& run) {
  const replay::Built built = replay::build_programs(run.run, run.matching, run.dependencies);
  const timeline::Timeline timeline = engine::run_fast(engine::unfolded(built.workload), {.spans_of = {}, .all_spans = true});
  const replay::Result result = replay::compare(run.run, built, timeline);
  fmt::print("{}", replay::text_report(result, timeline));
  Diagnostics report = built.report;
  for (const trace::Dependencies& d : run.dependencies) report.merge(d.report);
  report.merge(run.matching.report);
  fmt::print("{}", trace::report_text(report, flags.report));
  if (!flags.trace.empty()) replay::write_trace(built, timeline, flags.trace);
  return flags.limit >= 0.0 && result.worst_error * 100.0 > flags.limit ? ExitCode::check_failed : ExitCode::good;
}

ExitCode replay_rescaled(const Flags& flags, const RecoveredRun& run) {
  const int world = static_cast<int>(run.run.ranks.front().world_size);
  const replay::Sizes captured{.dp = flags.captured_dp > 0 ? flags.captured_dp : std::max(1, world / std::max(1, flags.captured_tp)), .tp = flags.captured_tp};
  const replay::Sizes wanted{.dp = flags.dp > 0 ? flags.dp : captured.dp, .tp = flags.tp > 0 ? flags.tp : captured.tp};
  if (flags.captured_machine.empty()) {
    throw InputError({.file = "sgsim replay", .where = "--captured-machine", .found = "nothing", .expected = "the machine of the trace", .hint = "for example --captured-machine dgx-a100-80gb"});
  }
  const OwnMachine from = machine_of(flags.captured_machine, captured.ranks());
  const OwnMachine to = machine_of(flags.machine.empty() ? flags.captured_machine : flags.machine, wanted.ranks());
  replay::Rescaled rescaled = replay::rescale(run.run, run.matching, run.dependencies.front(),
                                              {.captured = captured, .wanted = wanted, .from = {from.cluster, from.profile}, .to = {to.cluster, to.profile}});
  const engine::Folded folded = engine::fold(std::move(rescaled.workload));
  const timeline::Timeline timeline = engine::run_fast(folded, {.spans_of = {}, .all_spans = false});
  fmt::print("dp {} x tp {} on {} GPUs of {}: {} for what the trace holds ({} of {} ranks simulated)\n", wanted.dp, wanted.tp, wanted.ranks(), to.cluster.name, to_text(timeline.step_time), folded.multiplicity.size(),
             wanted.ranks());
  fmt::print("{}", trace::report_text(rescaled.report, flags.report));
  return ExitCode::good;
}

ExitCode replay_run(const Flags& flags) {
  const RecoveredRun run = read_recovered_run(flags.path);
  const bool other = flags.dp > 0 || flags.tp > 0 || !flags.machine.empty();
  return other ? replay_rescaled(flags, run) : replay_as_captured(flags, run);
}

}  // namespace

void add_replay(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("replay", "Simulate an imported run on the machine it came from, or with other sizes, GPUs or network");
  command->add_option("FILE", flags->path, "Trace, or folder with the traces of one run")->required();
  command->add_option("--trace", flags->trace, "Write the simulated timeline (Perfetto; .json or .json.gz)");
  command->add_option("--limit", flags->limit, "Fail (exit code 1) when a step is off by more than this many percent");
  command->add_option("--captured-dp", flags->captured_dp, "Data parallel size of the trace (from its ranks)");
  command->add_option("--captured-tp", flags->captured_tp, "Tensor parallel size of the trace (1)");
  command->add_option("--captured-machine", flags->captured_machine, "Machine of the trace, a builtin cluster's name; needed to rescale");
  command->add_option("--dp", flags->dp, "Wanted data parallel size");
  command->add_option("--tp", flags->tp, "Wanted tensor parallel size");
  command->add_option("--machine", flags->machine, "Wanted machine, a builtin cluster's name");
  command->add_flag("--report", flags->report, "Print every counter");
  command->callback([flags, &chosen] { chosen = [flags] { return replay_run(*flags); }; });
}

}  // namespace sgsim::cli

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <memory>
#include <thread>
#include <tuple>

#include "planner/cli/engines.h"
#include "planner/cli/plan_claims.h"
#include "planner/cli/plan_extras.h"
#include "planner/cli/progress_bar.h"
#include "planner/cli/scenario_flags.h"
#include "planner/cli/subcommand.h"
#include "planner/search/graph_split.h"
#include "planner/search/report.h"
#include "planner/search/search.h"
#include "sim/core/units_text.h"

namespace sgsim::cli {
namespace {

struct Flags {
  ScenarioFlags scenario;
  std::size_t top = 5;
  std::string objective = "time";
  bool json = false;
  double budget = 0.0;
  double memory_margin = 100.0 * search::SearchOptions{}.memory_margin;  // percent
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<int> nodes;
  std::string price, mtbf, checkpoint, restart;
  std::size_t rerank = 0;
  bool placement = false, what_if = false;
  int split = 0;
  double overlap_share = 70.0;  // percent
  std::string out;
};

/// CLI11's own says the largest double in full, and lets "nan" through.
CLI::Validator positive() {
  return {[](std::string& text) -> std::string {
            double value = 0.0;
            return CLI::detail::lexical_cast(text, value) && value > 0.0 && std::isfinite(value) ? "" : text + " is not a number above 0";
          }, "", "positive"};
}

CLI::Validator percent(double most) {
  return {[most](std::string& text) -> std::string {
            double value = 0.0;
            return CLI::detail::lexical_cast(text, value) && value >= 0.0 && value <= most ? "" : fmt::format("{} is not a number from 0 to {}", text, most);
          }, "", "percent"};
}

constexpr auto kInterrupted = static_cast<ExitCode>(130);  // as shells count a program that Ctrl-C ended

std::atomic<bool> interrupted = false;

/// Ctrl-C ends the search with what it has; a second one ends the program.
class InterruptGuard {
 public:
  InterruptGuard() {
    interrupted = false;
    before_ = std::signal(SIGINT, [](int) {
      if (interrupted.exchange(true)) {
        say("\nsgsim: ended at once, without a result\n");
        _exit(static_cast<int>(kInterrupted));
      }
      say("\nsgsim: stopping with the best so far (what was begun is ended first; Ctrl-C again ends at once)\n");
    });
  }
  ~InterruptGuard() { std::signal(SIGINT, before_); }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  template <std::size_t N>
  static void say(const char (&text)[N]) {  // fmt is not for signal handlers
    if (write(STDERR_FILENO, text, N - 1) < 0) return;
  }
  void (*before_)(int) = SIG_DFL;
};

search::Objective objective_of(const std::string& word) {
  if (word == "cost") return search::Objective::cost;
  if (word == "goodput") return search::Objective::goodput;
  return word == "memory" ? search::Objective::memory : search::Objective::time;
}

Seconds duration(const std::string& flag, const std::string& text, bool above_zero) {
  try {
    const Seconds value = parse_seconds(text);
    if (std::isfinite(value.value()) && (above_zero ? value > Seconds() : value >= Seconds())) return value;
    throw InputError({.file = flag, .where = "", .found = "\"" + text + "\"", .expected = above_zero ? "a time above 0" : "a time of 0 or more", .hint = ""});
  } catch (const InputError& error) {
    InputProblem problem = error.problem();
    problem.file = flag;
    throw InputError(problem);
  }
}

std::pair<double, std::string> price_of(const std::string& text) {
  const auto price = scenario::parse_price(text);
  if (!price) throw InputError({.file = "--price", .where = "", .found = "\"" + text + "\"", .expected = "an amount, a currency and \"/h\", of one GPU", .hint = "e.g. --price \"2.1 USD/h\""});
  return *price;
}

search::SearchOptions options_of(const Flags& flags, const scenario::Economics& stated) {
  search::SearchOptions options;
  options.objective = objective_of(flags.objective);
  options.economics = {.price = stated.price, .gpu_mtbf = stated.gpu_mtbf, .checkpoint = stated.checkpoint, .restart = stated.restart, .currency = stated.currency};
  if (!flags.price.empty()) std::tie(options.economics.price, options.economics.currency) = price_of(flags.price);
  if (!flags.mtbf.empty()) options.economics.gpu_mtbf = duration("--gpu-mtbf", flags.mtbf, true);
  if (!flags.checkpoint.empty()) options.economics.checkpoint = duration("--checkpoint", flags.checkpoint, false);
  if (!flags.restart.empty()) options.economics.restart = duration("--restart", flags.restart, false);
  options.threads = flags.threads;
  options.budget = flags.budget;
  options.memory_margin = flags.memory_margin / 100.0;
  const auto need = [&](bool there, const char* expected) {
    if (!there) throw InputError({.file = "--objective " + flags.objective, .where = "", .found = "nothing to compute it from", .expected = expected, .hint = "No price or failure rate is assumed"});
  };
  if (options.objective == search::Objective::cost) need(options.economics.price.has_value(), "economics.price in the scenario, or --price, of one GPU and hour");
  if (options.objective == search::Objective::goodput) need(search::useful_share(options.economics, 1).has_value(), "economics.gpu_mtbf, .checkpoint and .restart in the scenario, or --gpu-mtbf, --checkpoint and --restart");
  return options;
}

std::vector<int> nodes_of(const Flags& flags, const scenario::Scenario& s) {
  if (!flags.nodes.empty()) return flags.nodes;
  std::vector<int> nodes = {s.cluster.nodes};
  if (flags.objective == "cost" || flags.objective == "goodput") {
    for (int n = s.cluster.nodes; n % 2 == 0 && nodes.size() < 4; n /= 2) nodes.push_back(n / 2);
  }
  return nodes;
}

/// A job that fails before it has restarted and taken a checkpoint makes no progress, and no plan is better than another.
void refuse_no_progress(const Flags& flags, const scenario::Scenario& s, const search::Economics& e, const std::vector<int>& nodes) {
  if (flags.objective != "goodput" && flags.mtbf.empty() && flags.checkpoint.empty() && flags.restart.empty()) return;
  const int gpus = *std::min_element(nodes.begin(), nodes.end()) * s.cluster.node.gpus;
  const std::optional<double> share = search::useful_share(e, gpus);
  if (!share || *share > 0.0) return;
  throw InputError({.file = flags.mtbf.empty() ? s.file : "--gpu-mtbf", .where = flags.mtbf.empty() ? "$.economics.gpu_mtbf" : "",
                    .found = fmt::format("one of {} GPUs fails every {}, before a restart and a checkpoint ({}) are done: the job makes no progress", gpus, to_text(*e.gpu_mtbf / gpus), to_text(*e.checkpoint + *e.restart)),
                    .expected = "more time between failures", .hint = "gpu_mtbf is of one GPU: a job on N of them fails N times as often"});
}

/// Seconds that are left of --budget. The search may take half of them where more is asked, and what it leaves is shared out.
class Budget {
 public:
  explicit Budget(double seconds) : seconds_(seconds) {}
  [[nodiscard]] double left() const { return seconds_ - std::chrono::duration<double>(Clock::now() - started_).count(); }
  [[nodiscard]] bool over() const { return seconds_ > 0.0 && left() <= 0.0; }
  /// For SearchOptions::budget: 0 is none.
  [[nodiscard]] double share(double part) const { return seconds_ > 0.0 ? std::max(1e-9, left() * part) : 0.0; }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_;
  Clock::time_point started_ = Clock::now();
};

ExitCode exit_code(const search::SearchResult& result) {
  if (!result.ranked.empty()) return ExitCode::good;
  if (result.complete) return ExitCode::infeasible;
  const std::string what = interrupted ? "the search was interrupted" : "the budget ended";
  fmt::print(stderr, "sgsim: {}; {}\n", result.estimated == 0 ? what + " before any plan was looked at" : fmt::format("{} after {} plans were looked at, of which none fits: others may", what, result.estimated),
             interrupted ? "let it run for longer" : "give more (--budget SECONDS)");
  return interrupted ? kInterrupted : ExitCode::bad_input;
}

void print(const Flags& flags, const search::ReportInput& report) {
  const search::SearchResult& result = report.result;
  if (flags.json) {
    fmt::print("{}", search::json_report(report));
    return;
  }
  fmt::print("{}\n{}", search::text_report(report), claims_text(result, flags.top, report.what_if));
  if (!report.placement.empty()) fmt::print("{}", placement_text(result.ranked.front().candidate.plan, report.scenario.cluster.node.gpus, report.placement));
}

/// What is asked beside the search, of the plans that it found.
void extras(const Flags& flags, const search::Problem& problem, const search::Axes& axes, const Budget& budget, search::SearchOptions options, search::ReportInput& report) {
  const search::Candidate& best = report.result.ranked.front().candidate;
  const auto stop = [&] { return interrupted || budget.over(); };
  options.budget = budget.share(flags.rerank > 0 ? 0.75 : 1.0);
  if (flags.what_if) report.what_if = search::what_if(problem, axes, options, best);
  if (flags.placement) report.placement = placement_of_best(problem, best, stop);
  if (flags.placement && report.placement.empty()) fmt::print(stderr, "no placement: no time left to simulate the best plan's, or it is too long for that\n");
  report.reference = reference_times(problem, report.result, flags.rerank, stop);
}

ExitCode plan(const Flags& flags) {
  const Budget budget(flags.budget);
  const scenario::Scenario s = flags.scenario.read();
  scenario::InputCache cache;
  const scenario::Inputs inputs = cache.load(s);
  search::SearchOptions options = options_of(flags, s.economics);
  if (flags.split > 0) {
    const search::ModelSplit split = search::split_model(s, inputs, flags.split, flags.overlap_share / 100.0);
    fmt::print("{}", flags.json ? search::split_json(split, s.file) : search::split_text(split));
    return ExitCode::good;
  }
  const std::vector<int> nodes = nodes_of(flags, s);
  refuse_no_progress(flags, s, options.economics, nodes);
  ExportFolder folder(flags.out);
  const InterruptGuard guard;
  ProgressBar bar;
  options.cancelled = [] { return interrupted.load(); };
  options.progress = [&](const search::SearchProgress& p) {
    bar.show(p.done, 0, p.total, std::string(p.phase) + (p.best ? ", best " + to_text(p.best->step_time) : ""));
  };
  options.budget = budget.share(flags.what_if || flags.rerank > 0 ? 0.5 : 1.0);
  const search::Problem problem{.scenario = s, .cache = cache, .engine = run_engine};
  const std::int64_t fixed = s.model.kind == scenario::ModelKind::graph ? inputs.graph->micro_batch : 0;
  const search::Axes axes = search::default_axes(inputs.shape, s.cluster, s.plan, nodes, fixed);
  const search::SearchResult result = search::search(problem, axes, options);
  bar.finish();
  search::ReportInput report{.scenario = s, .result = result, .options = options, .top = flags.top, .tokens_a_sample = inputs.shape.sequence, .what_if = {}, .placement = {}, .reference = {}, .asked = flags.scenario.settings(), .accepted = 0};
  if (!result.ranked.empty()) extras(flags, problem, axes, budget, options, report);
  bar.finish();
  report.accepted = check_claims(s, inputs, result, options.memory_margin, flags.top, report.what_if);
  print(flags, report);
  if (!result.ranked.empty() && !flags.out.empty()) fmt::print(stderr, "{}", export_plan(s, inputs, result.ranked.front().candidate, flags.out));
  folder.done(!result.ranked.empty());
  return exit_code(result);
}

}  // namespace

void add_plan(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("plan", "Search for the best parallel plan of a scenario's model, cluster and global batch");
  flags->scenario.add(*command, false);
  command->add_option("--top", flags->top, "Plans to show (default 5)")->check(CLI::Range(1, 1000));
  command->add_option("--objective", flags->objective, "What to minimise (default time); goodput: time with failures counted")->check(CLI::IsMember({"time", "cost", "goodput", "memory"}));
  command->add_flag("--json", flags->json, "Print JSON (docs/planning.md)");
  command->add_option("--budget", flags->budget, "Stop after so many seconds with the best so far")->type_name("SECONDS")->check(positive());
  command->add_option("--memory-margin", flags->memory_margin, "Percent of what a plan needs that must be left on top (default 10: the error of predicted memory, docs/planning.md)")->type_name("PERCENT")->check(percent(900.0));
  command->add_option("-j,--threads", flags->threads, "Threads (default: one a core)")->check(CLI::Range(1U, 1024U));
  command->add_option("--nodes", flags->nodes, "Node counts to try (default: the scenario's; for cost and goodput its halves too)")->delimiter(',')->check(CLI::Range(1, 65536));
  command->add_option("--price", flags->price, "Of one GPU, e.g. \"2.1 USD/h\"")->type_name("PRICE");
  command->add_option("--gpu-mtbf", flags->mtbf, "Mean time between failures of one GPU, e.g. \"50000 h\"")->type_name("TIME");
  command->add_option("--checkpoint", flags->checkpoint, "Standstill for one checkpoint, e.g. \"30 s\"")->type_name("TIME");
  command->add_option("--restart", flags->restart, "From a failure to training again, e.g. \"600 s\"")->type_name("TIME");
  command->add_option("--rerank", flags->rerank, "Simulate the first N with the simgrid engine too (links shared max-min)")->type_name("N")->check(CLI::Range(0, 1000));
  command->add_flag("--placement", flags->placement, "Say what other orders of ranks on GPUs would cost the best plan");
  command->add_flag("--what-if", flags->what_if, "Search again with more memory, fewer nodes and a slower fabric");
  command->add_option("--split", flags->split, "Instead of a search: cut the model's graph into N pipeline stages, and into FSDP units")->type_name("N")->check(CLI::Range(1, 1024));
  CLI::Option* split = command->get_option("--split");
  for (const char* of_a_search : {"--top", "--objective", "--budget", "--memory-margin", "--nodes", "--price", "--gpu-mtbf", "--checkpoint", "--restart", "--rerank", "--placement", "--what-if"}) {
    split->excludes(command->get_option(of_a_search));
  }
  command->add_option("--overlap-share", flags->overlap_share, "With --split: a cut overlaps while the larger of communication and computation is at most so much of their sum (default 70)")->type_name("PERCENT")->check(percent(100.0))->needs(split);
  command->add_option("--export", flags->out, "Write the best plan for torchtitan, Megatron-LM, DeepSpeed and FSDP2 to this folder")->type_name("DIR")->excludes(split);
  command->callback([flags, &chosen] { chosen = [flags] { return plan(*flags); }; });
}

}  // namespace sgsim::cli

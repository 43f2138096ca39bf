#include "planner/cli/plan_extras.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <limits>

#include "planner/export/export.h"
#include "planner/search/exact.h"
#include "planner/search/placement.h"
#include "sim/core/error.h"
#include "sim/core/stop.h"
#include "sim/core/text_file.h"
#include "sim/core/units_text.h"

namespace sgsim::cli {
namespace {

constexpr int kAskEvery = 100;  // milliseconds

/// SimGrid keeps one simulation a process: a child runs it and sends the figure back. Negative: stop() ended it. NaN: it failed.
double in_child(const search::Problem& problem, const search::Candidate& candidate, const std::function<bool()>& stop) {
  int ends[2];
  if (pipe(ends) != 0) throw EnvironmentError("cannot make a pipe for the reference simulation");
  const pid_t child = fork();
  if (child < 0) throw EnvironmentError("cannot start a process for the reference simulation");
  if (child == 0) {
    std::signal(SIGINT, SIG_DFL);
    double seconds = -1.0;
    try {
      search::LayerCostTable table(problem);
      seconds = search::Exact(problem, table).evaluate(candidate, {.name = scenario::EngineName::simgrid, .full = false}).step_time.value();
    } catch (const std::exception& error) {
      fmt::print(stderr, "simgrid engine: {}\n", error.what());
    }
    const ssize_t sent = write(ends[1], &seconds, sizeof seconds);
    _exit(sent == static_cast<ssize_t>(sizeof seconds) ? 0 : 1);
  }
  close(ends[1]);
  double seconds = -1.0;
  bool stopped = false;
  for (pollfd end{.fd = ends[0], .events = POLLIN, .revents = 0}; !stopped && poll(&end, 1, kAskEvery) <= 0;) stopped = stop();
  if (stopped) kill(child, SIGKILL);
  const ssize_t got = read(ends[0], &seconds, sizeof seconds);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (stopped || stop()) return got == static_cast<ssize_t>(sizeof seconds) ? seconds : -1.0;
  if (got != static_cast<ssize_t>(sizeof seconds) || seconds < 0.0) return std::numeric_limits<double>::quiet_NaN();  // the child has said why
  return seconds;
}

bool too_long(const search::Problem& problem, const search::Candidate& candidate) {
  return search::exact_work(candidate, problem.cache.load(problem.scenario).shape.layers) > search::kMostWork;
}

}  // namespace

std::vector<std::pair<std::size_t, double>> reference_times(const search::Problem& problem, const search::SearchResult& result, std::size_t count, const std::function<bool()>& stop) {
  std::vector<std::pair<std::size_t, double>> times;
  for (std::size_t i = 0; i < std::min(count, result.ranked.size()); ++i) {
    const search::Candidate& candidate = result.ranked[i].candidate;
    times.emplace_back(i, stop() ? -1.0 : too_long(problem, candidate) ? std::numeric_limits<double>::quiet_NaN() : in_child(problem, candidate, stop));
  }
  return times;
}

std::vector<search::PlacementTime> placement_of_best(const search::Problem& problem, const search::Candidate& candidate, const std::function<bool()>& stop) try {
  if (too_long(problem, candidate)) return {};
  search::LayerCostTable table(problem);
  const StopScope scope(stop);
  stop_if_asked();
  return search::placement_times(problem, table, candidate);
} catch (const Stopped&) {
  return {};
}

std::string placement_text(const plan::Plan& plan, int gpus_a_node, const std::vector<search::PlacementTime>& times) {
  std::string text = fmt::format("\nranks on GPUs (dimensions of the best plan, neighbours first; GPU g is GPU g mod {} of node g / {})\n", gpus_a_node, gpus_a_node);
  for (const search::PlacementTime& t : times) {
    const std::string order = search::order_text(plan, t.order);
    text += fmt::format("  {:<16} {:>9}  {:+7.1f} %  g = {}{}\n", order.empty() ? "one rank" : order, to_text(t.step_time), 100.0 * (t.step_time / times.front().step_time - 1.0), search::gpu_text(plan, t.order),
                        &t == &times.front() ? "  (assumed everywhere above)" : "");
  }
  return text;
}

ExportFolder::ExportFolder(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::error_code failed;
  made_ = std::filesystem::create_directories(path_, failed);
  if (failed) throw EnvironmentError("cannot make the folder " + path_ + ": " + failed.message());
  if (!std::filesystem::is_directory(path_)) throw EnvironmentError("cannot export to " + path_ + ": it is no folder");
  if (access(path_.c_str(), W_OK | X_OK) != 0) throw EnvironmentError("cannot export to " + path_ + ": the folder cannot be written to");
}

void ExportFolder::done(bool exported) {
  if (path_.empty() || exported) return;
  fmt::print(stderr, "no plan was found: nothing was exported to {}\n", path_);
  std::error_code ignored;
  if (made_) std::filesystem::remove(path_, ignored);
}

std::string export_plan(const scenario::Scenario& s, const scenario::Inputs& inputs, const search::Candidate& candidate, const std::string& folder) {
  std::string text;
  const exporting::Job job{.model = inputs.shape, .plan = candidate.plan, .training = s.training, .nodes = candidate.nodes, .gpus_per_node = s.cluster.node.gpus, .model_name = inputs.model, .adapters = s.model.lora.rank > 0};
  for (const exporting::Exported& e : exporting::all_formats(job)) {
    const std::string path = (std::filesystem::path(folder) / e.file_name).string();
    write_text_file(path, e.text);
    text += "wrote " + path + "\n";
    for (const std::string& gap : e.gaps) text += "  not expressed: " + gap + "\n";
  }
  return text;
}

}  // namespace sgsim::cli

#include "gui/session/simulate_job.h"

#include <chrono>

#include "planner/cli/engines.h"
#include "sim/scenario/read.h"
#include "sim/scenario/report.h"

namespace sgsim::gui {
namespace {

constexpr std::size_t kMostRemedies = 5;

/// `traffic`: where the workload of all ranks is counted, before equal ones are folded; may be nothing.
scenario::Outcome run_recording(const scenario::Scenario& s, const scenario::Inputs& inputs, scenario::Record record, engine::LinkTraffic* traffic) {
  const scenario::RunEngine engine = [traffic](lower::Workload workload, const cluster::Cluster& cluster, const scenario::EngineRequest& request) {
    if (traffic != nullptr) *traffic = engine::link_traffic(workload, cluster);
    return cli::run_engine(std::move(workload), cluster, request);
  };
  return scenario::simulate(s, inputs, engine, {.choice = s.engine, .record = record, .ranks = {}});
}

}  // namespace

std::shared_ptr<const Simulated> simulateScenario(const std::string& text, const std::string& name, const std::string& folder, scenario::InputCache& cache, JobControl& control) {
  auto result = std::make_shared<Simulated>();
  result->text = text;
  result->name = QString::fromStdString(name);
  result->folder = QString::fromStdString(folder);
  control.progress(0.0, 5.0, "reading");
  result->scenario = scenario::scenario_from_text(text, name, folder);
  result->inputs = cache.load(result->scenario);
  if (control.cancelled()) return result;
  control.progress(1.0, 5.0, "simulating");
  const auto started = std::chrono::steady_clock::now();
  scenario::Outcome outcome = run_recording(result->scenario, result->inputs, scenario::Record::one_a_stage, &result->traffic);
  result->wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (auto* violations = std::get_if<std::vector<plan::Violation>>(&outcome)) {
    result->violations = std::move(*violations);
    result->report = scenario::text_report(result->scenario, result->violations);
    return result;
  }
  auto run = std::make_shared<scenario::Run>(std::get<scenario::Run>(std::move(outcome)));
  const auto& spans = run->simulation.timeline.spans;
  result->everything_recorded = spans.size() == run->simulation.timeline.tasks;
  // Recording does not change times: the second run is the first one with more written down.
  const bool again = !result->everything_recorded && run->simulation.timeline.tasks <= kMostRecordedTasks && result->scenario.engine.name == scenario::EngineName::fast;
  if (again && !control.cancelled()) {
    control.progress(2.0, 5.0, "recording every task");
    scenario::Outcome full = run_recording(result->scenario, result->inputs, scenario::Record::everything, nullptr);
    if (auto* recorded = std::get_if<scenario::Run>(&full)) {
      run = std::make_shared<scenario::Run>(std::move(*recorded));
      result->everything_recorded = true;
    }
  }
  if (control.cancelled()) return result;
  control.progress(3.0, 5.0, "laying out the timeline");
  result->timeline = std::make_shared<const TimelineData>(timeline_of(*run));
  if (result->everything_recorded) {
    result->path = scenario::critical_path(run->simulation);
    result->path_times = scenario::by_name(run->simulation, result->path);
  }
  control.progress(4.0, 5.0, "reporting");
  if (!run->result.fits) result->remedies = scenario::memory_remedies(result->scenario, cache, kMostRemedies);
  result->report = scenario::text_report(result->scenario, result->inputs, run->result, Seconds(result->wall));
  if (!result->remedies.empty()) result->report += "\n" + scenario::text_report(result->remedies);
  result->run = std::move(run);
  return result;
}

}  // namespace sgsim::gui

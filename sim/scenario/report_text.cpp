#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/units_text.h"
#include "sim/scenario/interval.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/labels.h"
#include "sim/scenario/names.h"
#include "sim/scenario/report.h"
#include "sim/scenario/text_table.h"

namespace sgsim::scenario {
namespace {

constexpr std::size_t kMostClasses = 20, kMostKernels = 8, kMostComms = 6, kMostLive = 6;

/// A figure that is nothing at all reads as such.
std::string time_text(Seconds time) { return time.value() == 0.0 ? "0" : to_text(time); }

/// Names of fused kernels list all that they fuse.
std::string shortened(const std::string& name) {
  constexpr std::size_t kLongest = 56;
  return name.size() <= kLongest ? name : name.substr(0, kLongest - 3) + "...";
}

std::string heading(const Scenario& s, const Inputs& inputs) {
  const auto& c = s.cluster;
  return fmt::format("{} on {} x {} ({} node{} of {} {}), {}\n  plan: {}\n  {} execution, {} computation, profile {}\n\n", inputs.model, grouped(c.gpus()), c.node.gpu.name,
                     c.nodes, c.nodes == 1 ? "" : "s", c.node.gpus, c.node.name, s.file, plan_text(s.plan),
                     name_of<compile::Execution>(words::kExecution, s.training.execution), graph::to_text(s.training.compute_dtype), inputs.profile->name);
}

std::string headline(const Result& r, std::int64_t sequence) {
  TextTable table("lrl");
  table.row({"step time", to_text(r.step_time), fmt::format("90 % interval {} to {} (+- {})", to_text(r.interval.low), to_text(r.interval.high), percent(r.interval.relative))});
  const double per_gpu = (sequence > 0 ? r.tokens_per_second : r.samples_per_second) / r.gpus;
  const char* unit = sequence > 0 ? "tokens/s" : "samples/s";
  const double rate = sequence > 0 ? r.tokens_per_second : r.samples_per_second;
  table.row({"throughput", fmt::format("{:.4g} {}", rate, unit), fmt::format("{:.4g} {} a GPU", per_gpu, unit)});
  table.row({"MFU", percent(r.mfu), "model FLOPs / (step time x GPUs x peak rate)"});
  table.row({"HFU", percent(r.hfu), "the same with recomputation counted"});
  return table.text() + "  MFU = " + mfu_formula(r) + "\n\n";
}

std::string where_time_goes(const Result& r) {
  TextTable table("lrrl");
  table.row({"where the step goes", "", "", "rests on"});
  const auto line = [&](const char* name, Seconds time, const std::string& rests) {
    table.row({std::string("  ") + name, time_text(time), percent(time / r.step_time), time.value() == 0.0 ? "" : rests});
  };
  line("computation", r.compute, sources_text(r.compute_sources));
  line("exposed communication", r.exposed_comm, sources_text(r.comm_sources));
  line("bubble (waiting for ranks)", r.bubble, "what is waited for");
  line("host-bound", r.host_bound, "launch times: " + sources_text(r.host_sources));
  line("other idle", r.other_idle, "first and last tasks of the step");
  line("(communication overlapped)", r.overlapped_comm, "part of computation");
  return table.text() + "  Means over all ranks. " + interval_assumptions() + ".\n\n";
}

std::string memory_remark(const Result& r) {
  if (r.fits) return fmt::format("  fits: {} of {} free\n", to_text(r.capacity - r.reserved_memory), to_text(r.capacity));
  return fmt::format("  DOES NOT FIT: {} over the GPU's {}\n", to_text(r.reserved_memory - r.capacity), to_text(r.capacity));
}

std::string memory(const Result& r) {
  const auto fullest = std::max_element(r.classes.begin(), r.classes.end(), [](const ClassResult& a, const ClassResult& b) { return a.reserved < b.reserved; });
  if (fullest == r.classes.end()) return {};
  TextTable table("lr");
  table.row({fmt::format("memory of the fullest rank ({})", stage_name(fullest->name))});
  for (std::size_t k = 0; k < lower::kMemoryClasses; ++k) {
    if (fullest->at_peak[k].value() > 0.0) table.row({"  " + std::string(label(static_cast<lower::MemoryClass>(k))) + " at the peak", to_text(fullest->at_peak[k])});
  }
  table.row({fullest->graph_pool.value() > 0.0 ? "  peak, allocated (as PyTorch counts: without the graphs' pool)" : "  peak, allocated", to_text(fullest->peak)});
  if (fullest->graph_pool.value() > 0.0) table.row({"  private pool of the CUDA graphs", to_text(fullest->graph_pool)});
  table.row({"  peak, reserved (rounding and CUDA included)", to_text(fullest->reserved)});
  std::string live;
  for (std::size_t i = 0; i < std::min(kMostLive, fullest->live_at_peak.size()); ++i) {
    live += fmt::format("{}{} {}", i == 0 ? "  largest at the peak: " : ", ", fullest->live_at_peak[i].first, to_text(fullest->live_at_peak[i].second));
  }
  return table.text() + memory_remark(r) + (live.empty() ? "" : live + "\n") + "\n";
}

/// Classes of one stage that differ by less than a reader would care about, as one.
std::vector<ClassResult> merged(const std::vector<ClassResult>& classes, Seconds step) {
  constexpr double kAlike = 1e-3;  // of the step
  std::vector<ClassResult> list;
  for (const ClassResult& c : classes) {
    const auto alike = [&](const ClassResult& other) {
      const auto near = [&](Seconds a, Seconds b) { return std::abs((a - b) / step) < kAlike; };
      return stage_name(other.name) == stage_name(c.name) && other.reserved == c.reserved && near(other.time.compute, c.time.compute) &&
             near(other.time.exposed_comm, c.time.exposed_comm) && near(other.time.bubble, c.time.bubble) && near(other.time.host_bound, c.time.host_bound);
    };
    const auto same = std::find_if(list.begin(), list.end(), alike);
    if (same == list.end()) {
      list.push_back(c);
      list.back().name = stage_name(c.name);
    } else {
      same->ranks += c.ranks;
    }
  }
  return list;
}

std::string classes(const Result& r) {
  if (r.classes.size() < 2 && r.asked.empty()) return {};
  const std::vector<ClassResult> shown = r.asked.empty() ? merged(r.classes, r.step_time) : r.asked;
  TextTable table("lrrrrrrr");
  table.row({r.asked.empty() ? "ranks by stage" : fmt::format("rank {}, with those alike", r.asked[0].example.value), "ranks", "compute", "exposed comm", "bubble", "host-bound", "ends at", "memory"});
  for (std::size_t i = 0; i < std::min(kMostClasses, shown.size()); ++i) {
    const ClassResult& c = shown[i];
    table.row({"  " + c.name, grouped(c.ranks), time_text(c.time.compute), time_text(c.time.exposed_comm), time_text(c.time.bubble), time_text(c.time.host_bound),
               time_text(c.time.end), to_text(c.reserved)});
  }
  if (shown.size() > kMostClasses) table.row({fmt::format("  ... and {} more (--json has all)", shown.size() - kMostClasses)});
  return table.text() + "\n";
}

std::string top(const char* title, const std::vector<NamedTime>& times, std::size_t most, Seconds step) {
  if (times.empty()) return {};
  TextTable table("lrrr");
  table.row({title, "time", "of step", "launches"});
  Seconds rest;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (i < most) table.row({"  " + shortened(times[i].name), to_text(times[i].time), percent(times[i].time / step), grouped(static_cast<std::int64_t>(times[i].launches))});
    else rest += times[i].time;
  }
  if (times.size() > most) table.row({fmt::format("  {} others", times.size() - most), to_text(rest), percent(rest / step)});
  return table.text() + "\n";
}

std::string remarks(const Result& r, Seconds wall) {
  std::string text;
  for (const plan::Note& note : r.notes) text += "note: " + note.message + "\n";
  for (const auto& [key, d] : r.diagnostics.entries()) {
    const char* severity = d.severity == Severity::error ? "error" : d.severity == Severity::warning ? "warning" : "info";
    text += fmt::format("{}: {} x {} (e.g. {})\n", severity, d.count, key, d.example);
  }
  text += fmt::format("{} engine, {} of {} ranks simulated, {} tasks; predicted in {}\n", r.engine, grouped(r.rank_classes), grouped(r.gpus),
                      grouped(static_cast<std::int64_t>(r.tasks)), to_text(wall));
  if (!r.engine_settings.empty()) text += fmt::format("  network model: {}\n", fmt::join(r.engine_settings, "; "));
  return text;
}

}  // namespace

std::string text_report(const Scenario& scenario, const Inputs& inputs, const Result& r, Seconds wall) {
  return heading(scenario, inputs) + headline(r, inputs.graph->sequence) + where_time_goes(r) + memory(r) + classes(r) +
         top("kernels (device time with nothing beside them, mean over ranks)", r.kernels, kMostKernels, r.step_time) +
         top("communication (transfer time with nothing beside it, mean over ranks)", r.communication, kMostComms, r.step_time) + remarks(r, wall);
}

std::string text_report(const Scenario& scenario, const std::vector<plan::Violation>& violations) {
  std::string text = fmt::format("{}: this plan cannot run\n  plan: {}\n", scenario.file, plan_text(scenario.plan));
  for (const plan::Violation& v : violations) text += fmt::format("  {}: {}\n", v.rule, v.message);
  return text;
}

}  // namespace sgsim::scenario

#include "calibrate/bench/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "calibrate/bench/clocks.h"
#include "sim/core/error.h"

namespace sgsim::calibrate {
namespace {

constexpr std::uint64_t kWarmupMark = 1ull << 62;  // belongs to no repetition

constexpr std::uint64_t kFirstProbeMark = 1ull << 60;

struct Timed {
  std::vector<double> samples;
  std::vector<double> clocks;    // Hz, of each sample; empty without a probe
  std::vector<std::string> kernels;
  std::array<int, 3> grid{0, 0, 0};  // of the first kernel
  AssemblyLosses losses;
};

double seconds_of(const Run& run, Reduction reduction) {
  switch (reduction) {
    case Reduction::busy: return busy_seconds(run);
    case Reduction::span: return span_seconds(run);
    case Reduction::last_member: return last_member_seconds(run);
  }
  throw InternalError("unknown reduction");
}

std::vector<std::string> kernel_names(const Run& run) {
  std::vector<std::string> names;
  const int device = run.activities.empty() ? 0 : run.activities.front().device;
  for (const Activity& a : run.activities) {
    if (a.device == device) names.push_back(a.name);
  }
  return names;
}

class Runner {
 public:
  Runner(const Effort& effort, RunSeams& seams) : effort_(effort), seams_(seams) {}

  Measurement measure(const Key& key, const Task& task, AssemblyLosses& losses) {
    Measurement m{.key = key, .time = {}, .kernels = {}, .notes = {}};
    if (task.check) {
      const Check check = task.check();
      m.check_error = check.error;
      m.check_tolerance = check.tolerance;
      if (!check.passed()) throw WrongResult{fmt::format("wrong result: relative error {:.3g}, at most {:.3g} is right", check.error, check.tolerance)};
    }
    m.warmups = task.warmups;
    Timed timed;
    if (const auto* own = std::get_if<SelfTimed>(&task.timing)) {
      if (own->records_off) seams_.activities.pause();
      try {
        timed.samples = own->measure();
      } catch (...) {
        if (own->records_off) seams_.activities.resume();
        throw;
      }
      if (own->records_off) seams_.activities.resume();
    } else {
      timed = time_on_device(std::get<DeviceTimed>(task.timing), task);
    }
    losses.dropped += timed.losses.dropped;
    losses.unmarked += timed.losses.unmarked;
    losses.incomplete_runs += timed.losses.incomplete_runs;
    losses.by_order = losses.by_order || timed.losses.by_order;
    if (timed.samples.empty()) throw WrongResult{"no activity record came back"};
    m.time = summarize(timed.samples);
    m.drift = drift(timed.samples).value_or(0.0);
    if (timed.clocks.size() == timed.samples.size()) {
      std::vector<double> cycles;
      for (std::size_t i = 0; i < timed.samples.size(); ++i) cycles.push_back(timed.samples[i] * timed.clocks[i]);
      const Summary summary = summarize(cycles);
      m.cycles = summary.median;
      m.cycles_spread = summary.spread;
      m.sm_clock_mhz = static_cast<int>(median(timed.clocks) * 1e-6 + 0.5);
    }
    m.lost_runs = static_cast<int>(timed.losses.incomplete_runs);
    m.kernels = std::move(timed.kernels);
    if (task.notes) m.notes = task.notes();
    if (timed.grid[0] > 0) m.notes["grid"] = fmt::format("{}x{}x{}", timed.grid[0], timed.grid[1], timed.grid[2]);
    if (timed.losses.by_order) m.notes["assembly"] = "by order";
    return m;
  }

  struct WrongResult {
    std::string reason;
  };

 private:
  Timed time_on_device(const DeviceTimed& timing, const Task& task) {
    // The warm-ups say how long a repetition takes, launch included: enough to choose how many.
    seams_.activities.set_mark(kWarmupMark);
    const double begin = seams_.clock();
    for (int w = 0; w < task.warmups; ++w) timing.enqueue(w - task.warmups);
    task.synchronize();
    const double each = (seams_.clock() - begin) / std::max(1, task.warmups);
    const int runs = task.sustain_seconds > 0.0 ? static_cast<int>(task.sustain_seconds / std::max(each, 1e-5)) + 2 : runs_for(each, effort_);
    Timed timed = attempt(timing, task, runs, each);
    if (task.sustain_seconds > 0.0) {
      const auto half = static_cast<std::ptrdiff_t>(timed.samples.size() / 2);
      timed.samples.erase(timed.samples.begin(), timed.samples.begin() + half);
      if (!timed.clocks.empty()) timed.clocks.erase(timed.clocks.begin(), timed.clocks.begin() + half);
    }
    if (static_cast<double>(timed.losses.incomplete_runs) > effort_.lost_share * runs) timed = attempt(timing, task, runs, each);
    return timed;
  }

  static void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

  /// `each`: seconds of a repetition, about.
  Timed attempt(const DeviceTimed& timing, const Task& task, int runs, double each) {
    (void)seams_.activities.collect();  // the check's and the warm-ups' records
    const double rest_ratio = task.sustain_seconds > 0.0 ? 0.0 : effort_.rest_ratio;
    double burst = each * (task.warmups + 1);
    const std::uint64_t first = next_mark_;
    next_mark_ += static_cast<std::uint64_t>(runs);
    const bool probed = task.probe && seams_.probe.cycles > 0.0;
    for (int r = 0; r < runs; ++r) {
      if (task.rest_seconds > 0.0) {
        task.synchronize();
        sleep(task.rest_seconds);
      } else if (rest_ratio > 0.0 && burst >= effort_.burst_seconds) {
        task.synchronize();
        sleep(burst * rest_ratio);
        burst = 0.0;
      }
      burst += each;
      seams_.activities.set_mark(first + static_cast<std::uint64_t>(r));
      timing.enqueue(r);
      if (!probed) continue;
      seams_.activities.set_mark(kFirstProbeMark + static_cast<std::uint64_t>(r));
      task.probe();
    }
    seams_.activities.clear_mark();
    task.synchronize();
    const ActivityBatch batch = seams_.activities.collect();
    const Assembly assembly = assemble(batch, first, runs);
    Timed timed;
    timed.losses = assembly.losses;
    for (const Run& run : assembly.runs) timed.samples.push_back(seconds_of(run, timing.reduction));
    if (probed) timed.clocks = clocks_of(assemble(batch, kFirstProbeMark, runs), assembly, first);
    if (!assembly.runs.empty()) {
      timed.kernels = kernel_names(assembly.runs.back());
      timed.grid = assembly.runs.back().activities.front().grid;
    }
    return timed;
  }

  /// The clock of each run: the mean of the probes before and behind it. Empty when a probe is missing.
  std::vector<double> clocks_of(const Assembly& probes, const Assembly& runs, std::uint64_t first) const {
    std::map<std::uint64_t, double> clock;
    for (const Run& probe : probes.runs) clock[probe.mark - kFirstProbeMark] = seams_.probe.clock_hz(busy_seconds(probe));
    std::vector<double> clocks;
    for (const Run& run : runs.runs) {
      const std::uint64_t r = run.mark - first;
      const auto behind = clock.find(r), before = clock.find(r - 1);
      if (behind == clock.end()) return {};
      clocks.push_back(before == clock.end() ? behind->second : 0.5 * (behind->second + before->second));
    }
    return clocks;
  }

  const Effort& effort_;
  RunSeams& seams_;
  std::uint64_t next_mark_ = 1;
};

}  // namespace

int runs_for(double expected_seconds, const Effort& effort) {
  const double wanted = effort.target_seconds / std::max(expected_seconds, 1e-7);
  return static_cast<int>(std::clamp(std::ceil(wanted), static_cast<double>(effort.least_runs), static_cast<double>(effort.most_runs)));
}

RunReport run_points(const std::vector<Key>& points, const std::map<std::string, Prepare>& prepare, const Samples& known, const Effort& effort,
                     RunSeams seams) {
  RunReport report;
  Runner runner(effort, seams);
  std::vector<GpuState> states;
  const double begin = seams.clock();
  int failed_in_a_row = 0;
  std::vector<Key> measured;  // in this run
  constexpr int kMachineIsGone = 3;
  std::vector<const Key*> todo;
  for (const Key& key : points) {
    if (known.measured.contains(key)) ++report.kept;
    else todo.push_back(&key);
  }
  for (std::size_t i = 0; i < todo.size(); ++i) {
    const double used = seams.clock() - begin;
    if (effort.most_minutes > 0.0 && used > effort.most_minutes * 60.0) {
      report.left = static_cast<int>(todo.size() - i);
      break;
    }
    const Key& key = *todo[i];
    std::string last = to_text(key);
    const auto fail = [&](Missing why, const std::string& reason) {
      seams.writer.write(NotMeasured{.key = key, .why = why, .reason = reason});
      ++(why == Missing::waived ? report.waived : report.failed);
      last += (why == Missing::waived ? ": WAIVED: " : ": FAILED: ") + reason;
    };
    try {
      const auto group = prepare.find(key.group);
      if (group == prepare.end()) throw Waived{"this build has no case for group " + key.group};
      const Task task = group->second(key);
      Measurement m = runner.measure(key, task, report.losses);
      if (const auto state = seams.machine.state(0)) {
        if (m.sm_clock_mhz == 0) m.sm_clock_mhz = state->sm_clock_mhz;
        states.push_back(*state);
      }
      seams.writer.write(m);
      ++report.measured;
      measured.push_back(key);
      failed_in_a_row = 0;
      last += fmt::format(": {:.2f} us +- {:.2f}", m.time.median * 1e6, m.time.spread * 1e6);
    } catch (const Waived& waived) {
      fail(Missing::waived, waived.reason);
    } catch (const Runner::WrongResult& wrong) {
      fail(Missing::failed, wrong.reason);
    } catch (const ActivitiesHeld& held) {
      // That tool was there from the beginning: launches measured before the first records were asked for are not this machine's.
      for (const Key& m : measured) seams.writer.withdraw(m, std::string("measured beside another tool: ") + held.what());
      throw;
    } catch (const EnvironmentError& error) {
      fail(Missing::failed, error.what());
      if (++failed_in_a_row >= kMachineIsGone) throw;
    }
    const double now = seams.clock() - begin;
    const auto done = static_cast<int>(i + 1);
    const double left = now / done * static_cast<double>(todo.size() - i - 1);
    seams.report({.done = done, .total = static_cast<int>(todo.size()), .used_s = now,
                  .left_s = effort.most_minutes > 0.0 ? std::min(left, effort.most_minutes * 60.0 - now) : left, .last = last});
  }
  report.findings = clock_findings(states);
  if (report.losses.dropped > 0) report.findings.push_back(fmt::format("CUPTI dropped {} records", report.losses.dropped));
  for (const std::string& finding : report.findings) seams.writer.write_finding(finding);
  return report;
}

}  // namespace sgsim::calibrate

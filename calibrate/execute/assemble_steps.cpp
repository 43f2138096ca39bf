#include "calibrate/execute/assemble_steps.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "calibrate/stats/summary.h"

namespace sgsim::calibrate {
namespace {

bool earlier(const PlacedRecord& a, const PlacedRecord& b) { return a.activity.start_ns < b.activity.start_ns; }

/// Of one rank's records, in order of launch.
std::vector<PlacedRecord> in_launch_order(const std::vector<PlacedRecord>& records) {
  std::vector<PlacedRecord> ordered = records;
  std::stable_sort(ordered.begin(), ordered.end(), [](const PlacedRecord& a, const PlacedRecord& b) { return a.launch < b.launch; });
  return ordered;
}

std::vector<PlacedRecord> match(std::vector<Activity> activities, const std::vector<PlacedRecord>& example, std::uint64_t& unplaced) {
  const std::vector<PlacedRecord> order = in_launch_order(example);
  std::sort(activities.begin(), activities.end(), [](const Activity& a, const Activity& b) { return a.graph_node < b.graph_node; });
  bool same = activities.size() == order.size();
  for (std::size_t i = 0; same && i < order.size(); ++i) same = activities[i].name == order[i].activity.name;
  std::vector<PlacedRecord> placed;
  if (same) {
    for (std::size_t i = 0; i < order.size(); ++i) placed.push_back({.activity = activities[i], .launch = order[i].launch});
  } else {
    std::map<std::string, std::vector<std::size_t>> places;  // of a name, launches in order of the example's starts
    for (const PlacedRecord& r : example) places[r.activity.name].push_back(r.launch);
    std::sort(activities.begin(), activities.end(), [](const Activity& a, const Activity& b) { return a.start_ns < b.start_ns; });
    std::map<std::string, std::size_t> next;
    for (const Activity& a : activities) {
      const auto it = places.find(a.name);
      std::size_t& n = next[a.name];
      if (it == places.end() || n >= it->second.size()) {
        ++unplaced;
        continue;
      }
      placed.push_back({.activity = a, .launch = it->second[n++]});
    }
  }
  std::sort(placed.begin(), placed.end(), earlier);
  return placed;
}

struct TaskTimes {
  std::int64_t start = std::numeric_limits<std::int64_t>::max(), end = 0, busy = 0;
  int records = 0;
};

std::int64_t median_of(std::vector<std::int64_t> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

std::vector<TaskTimes> times_of(const std::vector<PlacedRecord>& records, const std::vector<Launched>& launches, std::size_t tasks, std::int64_t begin) {
  std::vector<TaskTimes> times(tasks);
  for (const PlacedRecord& r : records) {
    TaskTimes& t = times[launches[r.launch].task];
    t.start = std::min(t.start, r.activity.start_ns - begin);
    t.end = std::max(t.end, r.activity.end_ns - begin);
    t.busy += r.activity.end_ns - r.activity.start_ns;
    ++t.records;
  }
  return times;
}

/// Ends and starts are stamped by different units of the GPU: in a CUDA graph the next kernel is seen to start up to 70 ns before the
/// end of the last.
constexpr std::int64_t kStampTolerance = 500;

/// A task's start must not be before the end of what it waits for, its stream's last task included.
void check_waits(const RankProgram& program, const std::vector<TaskTimes>& times, MeasuredProgram& into) {
  std::vector<std::vector<std::int64_t>> ends(program.streams.size());  // of a stream's tasks, running maximum
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    const ProgramTask& task = program.tasks[t];
    std::int64_t ready = ends[task.stream].empty() ? 0 : ends[task.stream].back();
    for (const ProgramWait& w : task.waits) ready = std::max(ready, ends[w.stream][w.position - 1]);
    if (times[t].records > 0) {
      ++into.waits_checked;
      if (times[t].start + kStampTolerance < ready) ++into.waits_violated;
    }
    const std::int64_t last = ends[task.stream].empty() ? 0 : ends[task.stream].back();
    ends[task.stream].push_back(std::max(last, times[t].records > 0 ? times[t].end : 0));
  }
}

void summarise_works(const std::vector<std::vector<Launched>>& launches, const std::vector<PlacedStep>& steps, MeasuredProgram& into) {
  std::map<std::uint32_t, std::vector<double>> seconds;
  for (const PlacedStep& step : steps) {
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
      std::map<std::size_t, std::int64_t> of_launch;  // a launch may be several records: split-k, helper kernels
      for (const PlacedRecord& record : step.ranks[r]) of_launch[record.launch] += record.activity.end_ns - record.activity.start_ns;
      for (const auto& [launch, ns] : of_launch) {
        if (launches[r][launch].work != Launched::kNoWork) seconds[launches[r][launch].work].push_back(static_cast<double>(ns) * 1e-9);
      }
    }
  }
  for (const auto& [work, values] : seconds) {
    into.works[work] = {.count = static_cast<int>(values.size()), .median_s = median(values), .least_s = *std::min_element(values.begin(), values.end()), .greatest_s = *std::max_element(values.begin(), values.end())};
  }
}

}  // namespace

PlacedStep place_by_marks(const ActivityBatch& batch, const std::vector<std::vector<Launched>>& launches) {
  std::map<std::uint32_t, std::uint64_t> mark_of;
  for (const Mark& m : batch.marks) mark_of[m.correlation] = m.mark;
  PlacedStep step{.ranks = std::vector<std::vector<PlacedRecord>>(launches.size()), .dropped = batch.dropped, .unplaced = 0};
  for (const Activity& a : batch.activities) {
    const auto it = mark_of.find(a.correlation);
    const std::uint64_t mark = it == mark_of.end() ? 0 : it->second;
    const std::uint64_t rank = (mark & ~(std::uint64_t{1} << 62)) >> 40, index = (mark & ((std::uint64_t{1} << 40) - 1)) - 1;
    if ((mark >> 62) != 1 || rank >= launches.size() || index >= launches[rank].size()) {
      ++step.unplaced;
      continue;
    }
    step.ranks[rank].push_back({.activity = a, .launch = index});
  }
  for (auto& records : step.ranks) std::sort(records.begin(), records.end(), earlier);
  return step;
}

PlacedStep place_by_example(const ActivityBatch& batch, const PlacedStep& example) {
  PlacedStep step{.ranks = {}, .dropped = batch.dropped, .unplaced = 0};
  for (std::size_t r = 0; r < example.ranks.size(); ++r) {
    std::vector<Activity> own;
    for (const Activity& a : batch.activities) {
      if (a.device == static_cast<int>(r) && a.graph_node != 0) own.push_back(a);
    }
    step.ranks.push_back(match(std::move(own), example.ranks[r], step.unplaced));
  }
  return step;
}

void measure_tasks(const ExecutableProgram& program, const std::vector<std::vector<Launched>>& launches, const std::vector<PlacedStep>& steps, MeasuredProgram& into) {
  std::vector<double> lengths;
  std::vector<std::vector<std::vector<TaskTimes>>> all;  // step, rank, task
  for (const PlacedStep& step : steps) {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
    for (const auto& records : step.ranks) {
      for (const PlacedRecord& r : records) {
        begin = std::min(begin, r.activity.start_ns);
        end = std::max(end, r.activity.end_ns);
      }
    }
    into.records_dropped += step.dropped;
    into.records_unplaced += step.unplaced;
    if (end == 0) continue;
    lengths.push_back(static_cast<double>(end - begin) * 1e-9);
    auto& ranks = all.emplace_back();
    for (std::size_t r = 0; r < step.ranks.size(); ++r) {
      const RankProgram& p = program.programs[program.ranks[r].program];
      ranks.push_back(times_of(step.ranks[r], launches[r], p.tasks.size(), begin));
      check_waits(p, ranks.back(), into);
    }
  }
  summarise_works(launches, steps, into);
  into.steps.traced = static_cast<int>(lengths.size());
  if (lengths.empty()) return;
  into.steps.traced_s = median(lengths);
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    auto& tasks = into.ranks.emplace_back();
    for (std::size_t t = 0; t < program.programs[program.ranks[r].program].tasks.size(); ++t) {
      std::vector<std::int64_t> start, end, busy;
      MeasuredTask m;
      for (const auto& step : all) {
        const TaskTimes& times = step[r][t];
        if (times.records == 0) continue;
        m.records = times.records;
        start.push_back(times.start);
        end.push_back(times.end);
        busy.push_back(times.busy);
      }
      if (!start.empty()) {
        m.start_ns = median_of(start);
        m.end_ns = median_of(end);
        m.busy_ns = median_of(busy);
      }
      tasks.push_back(m);
    }
  }
}

}  // namespace sgsim::calibrate

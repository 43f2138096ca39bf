#include "calibrate/device/activity.h"

#include <algorithm>
#include <tuple>

namespace sgsim::calibrate {
namespace {

bool earlier(const Activity& a, const Activity& b) {
  return std::tie(a.start_ns, a.device, a.stream, a.end_ns) < std::tie(b.start_ns, b.device, b.stream, b.end_ns);
}

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

std::map<int, std::int64_t> busy_by_device(const Run& run) {
  std::map<int, std::int64_t> busy;
  for (const Activity& a : run.activities) busy[a.device] += a.end_ns - a.start_ns;
  return busy;
}

std::size_t usual_size(const std::map<std::uint64_t, Run>& runs) {
  std::map<std::size_t, int> votes;
  for (const auto& [mark, run] : runs) ++votes[run.activities.size()];
  std::size_t usual = 0;
  int most = 0;
  for (const auto& [size, count] : votes) {
    if (count >= most) {  // of equally frequent counts the larger one: records get lost, they are not invented
      most = count;
      usual = size;
    }
  }
  return usual;
}

Assembly divide_by_order(const ActivityBatch& batch, std::uint64_t first, int count) {
  Assembly result;
  result.losses.dropped = batch.dropped;
  std::map<int, std::vector<Activity>> by_device;
  for (const Activity& a : batch.activities) by_device[a.device].push_back(a);
  for (auto& [device, records] : by_device) {
    if (records.size() % static_cast<std::size_t>(count) != 0) {
      result.losses.unmarked = batch.activities.size();
      return result;
    }
    std::sort(records.begin(), records.end(), earlier);
  }
  result.losses.by_order = true;
  for (int r = 0; r < count; ++r) {
    Run run{.mark = first + static_cast<std::uint64_t>(r), .activities = {}};
    for (const auto& [device, records] : by_device) {
      const std::size_t each = records.size() / static_cast<std::size_t>(count);
      const auto begin = records.begin() + static_cast<std::ptrdiff_t>(each * static_cast<std::size_t>(r));
      run.activities.insert(run.activities.end(), begin, begin + static_cast<std::ptrdiff_t>(each));
    }
    std::sort(run.activities.begin(), run.activities.end(), earlier);
    result.runs.push_back(std::move(run));
  }
  return result;
}

}  // namespace

Assembly assemble(const ActivityBatch& batch, std::uint64_t first, int count) {
  if (batch.marks.empty() && !batch.activities.empty() && count > 0) return divide_by_order(batch, first, count);
  Assembly result;
  result.losses.dropped = batch.dropped;
  std::map<std::uint32_t, std::uint64_t> mark_of;
  for (const Mark& m : batch.marks) mark_of[m.correlation] = m.mark;
  std::map<std::uint64_t, Run> runs;
  for (const Activity& a : batch.activities) {
    const auto it = mark_of.find(a.correlation);
    if (a.correlation == 0 || it == mark_of.end()) {
      ++result.losses.unmarked;
      continue;
    }
    if (it->second < first || it->second >= first + static_cast<std::uint64_t>(count)) continue;  // a warm-up, a check
    Run& run = runs[it->second];
    run.mark = it->second;
    run.activities.push_back(a);
  }
  const std::size_t usual = usual_size(runs);
  result.losses.incomplete_runs = static_cast<std::uint64_t>(count) - runs.size();
  for (auto& [mark, run] : runs) {
    if (run.activities.size() != usual) {
      ++result.losses.incomplete_runs;
      continue;
    }
    std::sort(run.activities.begin(), run.activities.end(), earlier);
    result.runs.push_back(std::move(run));
  }
  return result;
}

double busy_seconds(const Run& run) {
  std::int64_t most = 0;
  for (const auto& [device, busy] : busy_by_device(run)) most = std::max(most, busy);
  return seconds(most);
}

double last_member_seconds(const Run& run) {
  const std::map<int, std::int64_t> busy = busy_by_device(run);
  if (busy.empty()) return 0.0;
  return seconds(std::min_element(busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->second);
}

double span_seconds(const Run& run) {
  if (run.activities.empty()) return 0.0;
  std::int64_t start = run.activities.front().start_ns, end = run.activities.front().end_ns;
  for (const Activity& a : run.activities) {
    start = std::min(start, a.start_ns);
    end = std::max(end, a.end_ns);
  }
  return seconds(end - start);
}

}  // namespace sgsim::calibrate

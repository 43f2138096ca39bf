#include "sim/trace/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sim/trace/kernel_kind.h"

namespace sgsim::trace {
namespace {

struct Sum {
  double operations = 0.0, seconds = 0.0;
};
using Sums = std::map<std::string, Sum>;

struct Side {
  Sums kind, stream, layer, name;
  double step = 0.0;
  std::uint32_t steps = 1;
};

std::uint32_t steps_of(const ImportedRun& run, const RankTrace& rank) {
  if (!rank.steps.empty()) return static_cast<std::uint32_t>(rank.steps.size());
  const auto marks = std::count_if(rank.ops.begin(), rank.ops.end(), [&](const HostOp& op) { return run.strings.at(op.name).rfind("Optimizer.step#", 0) == 0; });
  return static_cast<std::uint32_t>(std::max<std::ptrdiff_t>(1, marks));
}

// "stream 1 (busiest)", "stream 2", ... by busy time.
std::vector<std::string> stream_names(const RankTrace& rank) {
  std::vector<std::pair<Nanoseconds, std::uint32_t>> busy(rank.streams.size());
  for (std::uint32_t s = 0; s < busy.size(); ++s) busy[s] = {0, s};
  for (const DeviceOp& op : rank.device_ops) busy[op.stream].first -= op.duration;
  std::sort(busy.begin(), busy.end());
  std::vector<std::string> names(rank.streams.size());
  for (std::size_t place = 0; place < busy.size(); ++place) names[busy[place].second] = place == 0 ? "1 (busiest)" : std::to_string(place + 1);
  return names;
}

Side side_of(const ImportedRun& run) {
  Side side;
  for (const RankTrace& rank : run.ranks) {
    const std::uint32_t steps = steps_of(run, rank);
    side.steps = steps;
    const double share = 1.0 / static_cast<double>(steps) / static_cast<double>(run.ranks.size());
    const std::vector<std::string> streams = stream_names(rank);
    Nanoseconds first = std::numeric_limits<Nanoseconds>::max(), last = std::numeric_limits<Nanoseconds>::min();
    for (const DeviceOp& op : rank.device_ops) {
      if (op.start == kNoTime) continue;
      first = std::min(first, op.start);
      last = std::max(last, op.start + op.duration);
      const double seconds = static_cast<double>(op.duration) * 1e-9 * share;
      for (Sum* sum : {&side.kind[name_of(kernel_kind(run, op))], &side.stream[streams[op.stream]], &side.layer[op.layer == 0 ? "(not named)" : run.strings.at(op.layer)],
                       &side.name[run.strings.at(op.name)]}) {
        sum->operations += share;
        sum->seconds += seconds;
      }
    }
    if (last > first) side.step += static_cast<double>(last - first) * 1e-9 * share;
  }
  return side;
}

std::vector<DiffRow> rows(const Sums& a, const Sums& b) {
  std::map<std::string, DiffRow> by_key;
  for (const auto& [key, sum] : a) by_key[key] = {key, sum.operations, 0.0, sum.seconds, 0.0};
  for (const auto& [key, sum] : b) {
    DiffRow& row = by_key[key];
    row.key = key;
    row.operations_b = sum.operations;
    row.seconds_b = sum.seconds;
  }
  std::vector<DiffRow> result;
  for (auto& [key, row] : by_key) result.push_back(std::move(row));
  std::stable_sort(result.begin(), result.end(), [](const DiffRow& x, const DiffRow& y) { return std::abs(x.change()) > std::abs(y.change()); });
  return result;
}

void table(std::string& text, const char* title, const std::vector<DiffRow>& list, std::size_t most) {
  text += fmt::format("\n{:<44} {:>11} {:>11} {:>11} {:>8}  {}\n", title, "A ms", "B ms", "B - A ms", "B / A", "operations A, B");
  for (std::size_t i = 0; i < list.size() && i < most; ++i) {
    const DiffRow& r = list[i];
    const std::string ratio = r.seconds_a > 0.0 && r.seconds_b > 0.0 ? fmt::format("{:.3f}", r.seconds_b / r.seconds_a) : "-";
    text += fmt::format("  {:<42} {:>11.3f} {:>11.3f} {:>+11.3f} {:>8}  {:g}, {:g}\n", r.key.substr(0, 42), r.seconds_a * 1e3, r.seconds_b * 1e3, r.change() * 1e3, ratio, r.operations_a, r.operations_b);
  }
  if (list.size() > most) text += fmt::format("  and {} more\n", list.size() - most);
}

}  // namespace

Diff diff_runs(const ImportedRun& a, const ImportedRun& b) {
  const Side x = side_of(a), y = side_of(b);
  return {.step_a = x.step, .step_b = y.step, .steps_a = x.steps, .steps_b = y.steps, .by_kind = rows(x.kind, y.kind), .by_stream = rows(x.stream, y.stream),
          .by_layer = rows(x.layer, y.layer), .by_name = rows(x.name, y.name)};
}

std::string diff_text(const Diff& d, std::size_t most) {
  std::string text = fmt::format("step: A {:.3f} ms, B {:.3f} ms, B / A {:.3f} ({} and {} steps; device times of one step of one rank)\n", d.step_a * 1e3, d.step_b * 1e3,
                                 d.step_a > 0.0 ? d.step_b / d.step_a : 0.0, d.steps_a, d.steps_b);
  table(text, "kind", d.by_kind, kKernelKinds);
  table(text, "stream", d.by_stream, most);
  table(text, "layer", d.by_layer, most);
  table(text, "kernel", d.by_name, most);
  return text;
}

}  // namespace sgsim::trace

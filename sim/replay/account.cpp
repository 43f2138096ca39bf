#include "sim/replay/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sgsim::replay {
namespace {

/// By precedence: where several are at once, the first counts.
enum class Part : std::uint8_t { busy, exposed, waiting, gap, none };

struct Change {
  double at = 0.0;
  Part part = Part::none;
  int by = 0;
};

/// Above this share of a step the host binds it in the words of the report; a step changes by less than that where nothing else was changed.
constexpr double kHostBinds = 0.2, kNoChange = 0.02;

void add(std::vector<Change>& changes, Part part, double from, double to) {
  if (to <= from) return;
  changes.push_back({from, part, 1});
  changes.push_back({to, part, -1});
}

void add_span(std::vector<Change>& changes, const lower::Task& task, const TaskNote& note, const timeline::Span& span) {
  if (task.kind == lower::TaskKind::host_sync || of_host(note)) return;
  const double arrival = span.arrival.value(), start = span.start.value(), begin = begins(task, note, span).value(), end = span.end.value();
  const bool transfers = task.kind != lower::TaskKind::compute && task.kind != lower::TaskKind::copy;
  add(changes, note.communication ? Part::exposed : Part::busy, begin, end);
  if (transfers) add(changes, Part::waiting, arrival, start);
  else if (start - arrival <= 1e-12 * start) add(changes, Part::gap, start, begin);  // it was issued before the device was ready for it
}

void count(Account& account, Part part, double time) {
  account.step_s += time;
  (part == Part::busy ? account.busy_s : part == Part::exposed ? account.exposed_s : part == Part::waiting ? account.waiting_s : part == Part::gap ? account.gaps_s : account.host_s) += time;
}

std::string row(const char* name, const Account& a) {
  return fmt::format("{:<34} {:>10.3f} {:>12.3f} {:>14.3f} {:>10.3f} {:>12.3f} {:>12.3f}\n", name, a.step_s * 1e3, a.busy_s * 1e3, a.exposed_s * 1e3, a.waiting_s * 1e3, a.gaps_s * 1e3, a.host_s * 1e3);
}

}  // namespace

std::span<const timeline::Span> spans_of(const timeline::Timeline& timeline, std::uint32_t rank) {
  const auto first = std::partition_point(timeline.spans.begin(), timeline.spans.end(), [&](const timeline::Span& s) { return s.rank < rank; });
  const auto last = std::partition_point(first, timeline.spans.end(), [&](const timeline::Span& s) { return s.rank == rank; });
  return {first, last};
}

Seconds begins(const lower::Task& task, const TaskNote& note, const timeline::Span& span) {
  const bool transfers = task.kind != lower::TaskKind::compute && task.kind != lower::TaskKind::copy;
  return transfers ? span.start : span.end - note.work;
}

std::vector<Account> accounts(const lower::Program& program, const ProgramNotes& notes, std::span<const timeline::Span> spans) {
  std::vector<Account> result(std::max<std::size_t>(1, notes.steps.size()));
  std::vector<double> ends(result.size(), 0.0);
  std::vector<Change> changes;
  for (const timeline::Span& span : spans) {
    const TaskNote& note = notes.tasks[span.task];
    add_span(changes, program.tasks[span.task], note, span);
    const std::int32_t step = notes.steps.empty() ? 0 : note.step;
    if (step >= 0) ends[static_cast<std::size_t>(step)] = std::max(ends[static_cast<std::size_t>(step)], span.end.value());
  }
  for (std::size_t s = 1; s < ends.size(); ++s) ends[s] = std::max(ends[s], ends[s - 1]);
  for (const double end : ends) changes.push_back({end, Part::none, 0});
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  std::array<int, 4> open{};
  double at = 0.0;
  std::size_t step = 0;
  for (const Change& change : changes) {
    if (change.at > at) {
      std::size_t part = 0;
      while (part < open.size() && open[part] == 0) ++part;
      while (step < ends.size() && ends[step] <= at) ++step;
      if (step == ends.size()) break;
      count(result[step], static_cast<Part>(part), change.at - at);
      at = change.at;
    }
    if (change.by != 0) open[static_cast<std::size_t>(change.part)] += change.by;
  }
  return result;
}

Account mean(const std::vector<Account>& steps) {
  Account sum;
  const double share = 1.0 / static_cast<double>(std::max<std::size_t>(1, steps.size()));
  for (const Account& a : steps) {
    sum.step_s += a.step_s * share, sum.busy_s += a.busy_s * share, sum.exposed_s += a.exposed_s * share;
    sum.waiting_s += a.waiting_s * share, sum.gaps_s += a.gaps_s * share, sum.host_s += a.host_s * share;
  }
  return sum;
}

std::string text_of(const Account& a) {
  return fmt::format("device busy {:.3f} ms, exposed communication {:.3f} ms, waiting for others {:.3f} ms, launch gaps {:.3f} ms, host-bound {:.3f} ms ({:.0f} %)", a.busy_s * 1e3, a.exposed_s * 1e3, a.waiting_s * 1e3,
                     a.gaps_s * 1e3, a.host_s * 1e3, a.step_s > 0.0 ? a.host_s / a.step_s * 100.0 : 0.0);
}

bool host_binds(const Account& step) { return step.step_s > 0.0 && step.host_s / step.step_s >= kHostBinds; }

std::string text_of(const Sides& sides) {
  const Account &captured = sides.captured, &wanted = sides.wanted;
  std::string text = fmt::format("{:<34} {:>10} {:>12} {:>14} {:>10} {:>12} {:>12}\n", "one step of the first rank, ms", "step", "device busy", "exposed comm.", "waiting", "launch gaps", "host-bound");
  if (sides.replayed && sides.waiting_left_out) text += row("as captured", *sides.replayed) + row("as captured, absent ranks on time", captured);
  else if (sides.replayed) text += row("as captured, each rank its own", *sides.replayed) + row("as captured, all as the first", captured);
  else text += row("as captured", captured);
  text += row("as wanted", wanted);
  if (!host_binds(wanted) || !sides.fed) return text;
  const double host = wanted.host_s / wanted.step_s;
  text += row("as wanted, host never late", *sides.fed);
  const bool same = std::fabs(wanted.step_s - captured.step_s) <= kNoChange * captured.step_s;
  text += fmt::format("{} % of the wanted step the device idles because the host has not launched its next kernel yet; the host's times are the captured ones, whatever the sizes, GPUs or network{}.\n",
                      static_cast<int>(std::lround(host * 100.0)), same ? ": that is why the step hardly changes" : "");
  text += "The last row is what a host that keeps up would give (CUDA graphs, torch.compile with mode=\"reduce-overhead\", no profiler): capture such a run to measure it.\n";
  return text;
}

}  // namespace sgsim::replay

#include "sim/trace/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "sim/trace/kernel_kind.h"
#include "sim/trace/match.h"
#include "sim/trace/steps.h"

namespace sgsim::trace {
namespace {

struct Sum {
  double operations = 0.0, seconds = 0.0;
};
using Sums = std::map<std::string, Sum>;

struct Side {
  Sums kind, stream, layer, name, rank;
  double step = 0.0;
  std::uint32_t steps = 1, ranks = 1;
  std::uint64_t empty = 0;
  bool waiting_apart = true;
};

/// What of each device operation is its own: of a collective, the transfer without the waiting for other members, where that is known.
struct Own {
  std::vector<Nanoseconds> duration, waiting;  // by device operation
  bool known = true;                           // false: there are collectives whose waiting is in their duration
};

std::vector<Own> own_times(const ImportedRun& run) {
  std::vector<Own> result(run.ranks.size());
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const RankTrace& rank = run.ranks[r];
    result[r].waiting.assign(rank.device_ops.size(), 0);
    for (const DeviceOp& op : rank.device_ops) result[r].duration.push_back(op.duration);
    for (const Collective& c : rank.collectives) {
      if (c.device_op != kNone) result[r].waiting[c.device_op] = c.waiting;
    }
    result[r].known = waiting_apart(run) || rank.collectives.empty();
  }
  if (run.format == "own_timeline" || run.ranks.size() < 2) return result;
  std::vector<std::size_t> told(run.ranks.size(), 0);  // collectives whose transfer is known from several members
  for (const Matched& m : match_collectives(run).operations) {
    if (m.members.size() < 2) continue;
    for (const Member& member : m.members) {
      if (kernel_of(run, member) == nullptr) continue;
      const std::uint32_t op = run.ranks[member.rank].collectives[member.collective].device_op;
      Own& own = result[member.rank];
      ++told[member.rank];
      own.waiting[op] = std::max<Nanoseconds>(0, own.duration[op] - m.transfer);
      own.duration[op] = std::min(own.duration[op], m.transfer);
    }
  }
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const RankTrace& rank = run.ranks[r];
    const auto waits = [&](const Collective& c) { return c.device_op != kNone && rank.device_ops[c.device_op].start != kNoTime && (c.group == kNone || run.groups[c.group].size != 1); };
    const auto wait = static_cast<std::size_t>(std::count_if(rank.collectives.begin(), rank.collectives.end(), waits));
    result[r].known = result[r].known || told[r] >= wait;
  }
  return result;
}

// "stream 1 (busiest)", "stream 2", ... by busy time.
std::vector<std::string> stream_names(const RankTrace& rank, const Own& own) {
  std::vector<std::pair<Nanoseconds, std::uint32_t>> busy(rank.streams.size());
  for (std::uint32_t s = 0; s < busy.size(); ++s) busy[s] = {0, s};
  for (std::size_t i = 0; i < rank.device_ops.size(); ++i) busy[rank.device_ops[i].stream].first -= own.duration[i];
  std::sort(busy.begin(), busy.end());
  std::vector<std::string> names(rank.streams.size());
  for (std::size_t place = 0; place < busy.size(); ++place) names[busy[place].second] = place == 0 ? "1 (busiest)" : std::to_string(place + 1);
  return names;
}

// Operations outside of the marked steps are left out: they are no part of any.
void add_rank(const ImportedRun& run, std::size_t r, const Own& own, Side& side) {
  const RankTrace& rank = run.ranks[r];
  std::vector<StepWindow> windows = find_steps(run, rank).windows;
  side.empty += leave_out_empty(windows, rank);
  side.steps = static_cast<std::uint32_t>(std::max<std::size_t>(1, windows.size()));
  side.waiting_apart = side.waiting_apart && own.known;
  const double of_step = 1.0 / static_cast<double>(side.steps), share = of_step / static_cast<double>(run.ranks.size());
  const std::vector<std::string> streams = stream_names(rank, own);
  Nanoseconds first = std::numeric_limits<Nanoseconds>::max(), last = std::numeric_limits<Nanoseconds>::min();
  Sum& of_rank = side.rank[rank.rank >= 0 ? rank_name(rank) : fmt::format("file {}", r)];
  for (std::size_t i = 0; i < rank.device_ops.size(); ++i) {
    const DeviceOp& op = rank.device_ops[i];
    if (op.start == kNoTime || (!windows.empty() && step_of(windows, rank, op) < 0)) continue;
    first = std::min(first, op.start);
    last = std::max(last, op.start + op.duration);
    const double seconds = static_cast<double>(own.duration[i]) * 1e-9;
    for (Sum* sum : {&side.kind[name_of(kernel_kind(run, op))], &side.stream[streams[op.stream]], &side.layer[op.layer == 0 ? "(not named)" : run.strings.at(op.layer)],
                     &side.name[run.strings.at(op.name)]}) {
      sum->operations += share;
      sum->seconds += seconds * share;
    }
    of_rank.operations += of_step;
    of_rank.seconds += seconds * of_step;
    if (own.waiting[i] <= 0) continue;
    Sum& waiting = side.kind["waiting for others"];
    waiting.operations += share;
    waiting.seconds += static_cast<double>(own.waiting[i]) * 1e-9 * share;
  }
  if (last > first) side.step += static_cast<double>(last - first) * 1e-9 * share;
}

Side side_of(const ImportedRun& run) {
  Side side;
  side.ranks = static_cast<std::uint32_t>(run.ranks.size());
  const std::vector<Own> own = own_times(run);
  for (std::size_t r = 0; r < run.ranks.size(); ++r) add_rank(run, r, own[r], side);
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
  const auto place = [](const DiffRow& r) { return std::pair(std::llround(std::abs(r.change()) * 1e6), std::max(r.seconds_a, r.seconds_b)); };  // less than a microsecond is no change
  std::stable_sort(result.begin(), result.end(), [&](const DiffRow& x, const DiffRow& y) { return place(x) > place(y); });
  return result;
}

constexpr std::size_t kLabel = 42;  // characters of a row's name

/// What kernels' names have in common: return type, namespaces and parameters.
std::string without_common(std::string name) {
  for (const std::string_view part : {"void ", "at::native::", "(anonymous namespace)::", "c10::", "std::"}) {
    for (std::size_t at = name.find(part); at != std::string::npos; at = name.find(part, at)) name.erase(at, part.size());
  }
  return name;
}

std::string cut(const std::string& name, std::size_t from) {
  if (name.size() <= kLabel) return name;
  constexpr std::size_t kHead = 20, kTail = kLabel - kHead - 2;
  if (from <= kHead) return name.substr(0, kLabel);
  from = std::min(from, name.size() - kTail);
  return name.substr(0, kHead) + ".." + name.substr(from, kTail);
}

/// Names of a table's rows, short and all different: where beginnings are the same, the part around what differs first; numbered where that does not tell them apart.
std::vector<std::string> labels(const std::vector<DiffRow>& list, std::size_t most) {
  std::vector<std::string> names, result;
  for (std::size_t i = 0; i < list.size() && i < most; ++i) names.push_back(list[i].key.size() <= kLabel ? list[i].key : without_common(list[i].key));
  std::map<std::string, int> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::size_t differs = 0;  // the farthest first difference to another row that begins alike
    for (std::size_t k = 0; k < names.size(); ++k) {
      if (k == i || names[k].compare(0, kLabel, names[i], 0, kLabel) != 0) continue;
      const std::size_t shorter = std::min(names[i].size(), names[k].size());
      const auto [at, other] = std::mismatch(names[i].begin(), names[i].begin() + static_cast<std::ptrdiff_t>(shorter), names[k].begin());
      differs = std::max(differs, static_cast<std::size_t>(at - names[i].begin()));
    }
    std::string label = cut(names[i], differs == 0 ? 0 : differs - std::min<std::size_t>(differs, 6));
    if (const int number = ++seen[label]; number > 1) {
      const std::string suffix = fmt::format(" #{}", number);
      label = label.substr(0, kLabel - suffix.size()) + suffix;
    }
    result.push_back(std::move(label));
  }
  return result;
}

void table(std::string& text, const char* title, const std::vector<DiffRow>& list, std::size_t most) {
  const std::vector<std::string> names = labels(list, most);
  text += fmt::format("\n{:<44} {:>11} {:>11} {:>11} {:>8}  {}\n", title, "A ms", "B ms", "B - A ms", "B / A", "operations A, B");
  for (std::size_t i = 0; i < list.size() && i < most; ++i) {
    const DiffRow& r = list[i];
    const std::string ratio = r.seconds_a > 0.0 && r.seconds_b > 0.0 ? fmt::format("{:.3f}", r.seconds_b / r.seconds_a) : "-";
    text += fmt::format("  {:<42} {:>11.3f} {:>11.3f} {:>+11.3f} {:>8}  {:g}, {:g}\n", names[i], r.seconds_a * 1e3, r.seconds_b * 1e3, r.change() * 1e3, ratio, r.operations_a, r.operations_b);
  }
  if (list.size() > most) text += fmt::format("  and {} more\n", list.size() - most);
}

}  // namespace

Diff diff_runs(const ImportedRun& a, const ImportedRun& b) {
  const Side x = side_of(a), y = side_of(b);
  return {.step_a = x.step, .step_b = y.step, .steps_a = x.steps, .steps_b = y.steps, .ranks_a = x.ranks, .ranks_b = y.ranks, .empty_a = x.empty, .empty_b = y.empty, .waiting_apart_a = x.waiting_apart, .waiting_apart_b = y.waiting_apart,
          .by_kind = rows(x.kind, y.kind), .by_stream = rows(x.stream, y.stream), .by_layer = rows(x.layer, y.layer), .by_name = rows(x.name, y.name), .by_rank = rows(x.rank, y.rank)};
}

std::string diff_text(const Diff& d, std::size_t most) {
  const auto side = [](std::uint32_t steps, std::uint32_t ranks) { return fmt::format("{} step{}, {} rank{}", steps, steps == 1 ? "" : "s", ranks, ranks == 1 ? "" : "s"); };
  std::string text = fmt::format("step: A {:.3f} ms, B {:.3f} ms, B / A {:.3f} (means of A: {}; B: {}; of one step of one rank, from its first device operation's begin to its last one's end)\n", d.step_a * 1e3, d.step_b * 1e3, d.step_a > 0.0 ? d.step_b / d.step_a : 0.0,
                                 side(d.steps_a, d.ranks_a), side(d.steps_b, d.ranks_b));
  for (const auto& [name, empty] : {std::pair("A", d.empty_a), std::pair("B", d.empty_b)}) {
    if (empty > 0) text += fmt::format("{}: {}  {}  steps without a kernel, copy or memset\n", name, empty, kEmptyLeftOut);
  }
  if (d.waiting_apart_a != d.waiting_apart_b) text += fmt::format("communication of {} holds the waiting for other ranks, which its file does not tell apart; that of {} does not\n", d.waiting_apart_a ? "B" : "A", d.waiting_apart_a ? "A" : "B");
  table(text, "kind", d.by_kind, kKernelKinds + 1);
  if (d.ranks_a > 1 && d.ranks_b > 1) table(text, "rank", d.by_rank, most);
  table(text, "stream", d.by_stream, most);
  table(text, "layer", d.by_layer, most);
  table(text, "kernel", d.by_name, most);
  return text;
}

}  // namespace sgsim::trace

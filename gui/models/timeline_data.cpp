#include "gui/models/timeline_data.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_map>

#include "sim/core/units_text.h"
#include "sim/scenario/labels.h"
#include "sim/scenario/text_table.h"

namespace sgsim::gui {
namespace {

using lower::Program;
using lower::Task;
using lower::TaskKind;

bool communicates(TaskKind kind) { return kind == TaskKind::collective || kind == TaskKind::send || kind == TaskKind::receive; }

const Program& program_of(const scenario::Run& run, std::uint32_t rank) {
  return run.simulation.workload.programs.at(run.simulation.workload.ranks.at(rank).program.value);
}

Category category_of(const Program& program, const Task& task) {
  switch (task.kind) {
    case TaskKind::collective:
    case TaskKind::send:
    case TaskKind::receive: return program.comms.at(task.comm).transfer.inter_node ? Category::network : Category::nvlink;
    case TaskKind::copy: return Category::copy;
    case TaskKind::host_sync: return Category::host;
    case TaskKind::compute: break;
  }
  const std::uint8_t phase = program.segments.at(task.segment).phase;
  return phase == 0 ? Category::forward : phase == 1 ? Category::backward : Category::optimizer;
}

const std::string& name_of(const Program& program, const Task& task) {
  static const std::string kHost = "host waits";
  if (task.kind == TaskKind::host_sync) return kHost;
  if (communicates(task.kind)) return program.names.at(program.comms.at(task.comm).name.value);
  return program.names.at(program.segments.at(task.segment).name.value);
}

class Names {
 public:
  explicit Names(std::vector<std::string>& names) : names_(names) {}
  std::uint32_t operator()(const std::string& name) {
    const auto [found, added] = ids_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (added) names_.push_back(name);
    return found->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

/// What the rank as a whole does at each time: any computation, else any transfer, else waiting for others, else for the host.
Row summary_row(const std::vector<Row>& rows, double end, Names& names) {
  struct Edge {
    double time;
    int what;   // 0 computation, 1 transfer, 2 waits for members
    int change;
  };
  std::vector<Edge> edges;
  for (const Row& row : rows) {
    for (const Slice& s : row.slices) {
      const int what = s.category <= Category::optimizer ? 0 : 1;
      if (s.category == Category::host) continue;
      if (s.end > s.start) edges.insert(edges.end(), {{s.start, what, 1}, {s.end, what, -1}});
      if (s.start > s.arrival) edges.insert(edges.end(), {{s.arrival, 2, 1}, {s.start, 2, -1}});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.time < b.time; });
  Row summary{.name = "summary", .summary = true, .slices = {}};
  int running[3] = {0, 0, 0};
  double from = 0.0;
  const auto close = [&](double to) {
    if (to <= from) return;
    const Category c = running[0] > 0 ? Category::computing : running[1] > 0 ? Category::exposed : running[2] > 0 ? Category::bubble : Category::starved;
    if (!summary.slices.empty() && summary.slices.back().category == c) {
      summary.slices.back().end = to;
    } else {
      summary.slices.push_back({.arrival = from, .start = from, .end = to, .task = kNoTask, .name = names(std::string(label(c))), .category = c});
    }
    from = to;
  };
  for (const Edge& edge : edges) {
    close(edge.time);
    running[edge.what] += edge.change;
  }
  close(end);
  return summary;
}

void take_layers(TimelineData& data, const scenario::Run& run) {
  std::unordered_map<std::string, bool> seen;
  for (const Program& program : run.simulation.workload.programs) {
    for (const lower::KernelCost& kernel : program.kernels) {
      const std::string& module = program.names.at(kernel.module);
      if (!module.empty() && seen.emplace(module, true).second) data.layers.push_back(module);
    }
  }
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

std::string_view label(Category category) {
  constexpr std::string_view kWords[kCategories] = {"forward", "backward", "optimizer", "inside node", "between nodes", "waits for ranks",
                                                    "copy", "host", "computation", "exposed communication", "bubble", "waits for host"};
  return kWords[static_cast<std::size_t>(category)];
}

TimelineData timeline_of(const scenario::Run& run) {
  TimelineData data;
  Names names(data.names);
  const auto& spans = run.simulation.timeline.spans;
  std::vector<std::vector<std::uint32_t>> name_ids(run.simulation.workload.programs.size());
  for (std::size_t i = 0; i < spans.size();) {
    const std::uint32_t rank = spans[i].rank;
    const std::uint32_t program_index = run.simulation.workload.ranks.at(rank).program.value;
    const Program& program = run.simulation.workload.programs.at(program_index);
    std::vector<std::uint32_t>& ids = name_ids[program_index];
    if (ids.empty()) {
      for (const Task& task : program.tasks) ids.push_back(names(name_of(program, task)));
    }
    std::vector<Row> rows(program.streams.size());
    for (; i < spans.size() && spans[i].rank == rank; ++i) {
      const timeline::Span& span = spans[i];
      const Task& task = program.tasks.at(span.task);
      const double arrival = communicates(task.kind) ? span.arrival.value() : span.start.value();
      rows.at(span.stream).slices.push_back({.arrival = std::min(arrival, span.start.value()), .start = span.start.value(), .end = span.end.value(),
                                             .task = span.task, .name = ids[span.task], .category = category_of(program, task)});
      data.end = std::max(data.end, span.end.value());
      ++data.tasks;
    }
    Lane lane{.title = "rank " + std::to_string(run.simulation.timeline.representative.at(rank).value), .subtitle = program.name, .rank = rank, .measured = false, .rows = {}};
    const std::uint32_t alike = run.simulation.timeline.multiplicity.at(rank);
    if (alike > 1) lane.subtitle += ", one of " + scenario::grouped(alike) + " alike";
    for (std::size_t s = 0; s < rows.size(); ++s) {
      rows[s].name = program.streams[s];
      std::stable_sort(rows[s].slices.begin(), rows[s].slices.end(), [](const Slice& a, const Slice& b) { return a.start < b.start; });
    }
    std::erase_if(rows, [](const Row& row) { return row.slices.empty(); });
    lane.rows = std::move(rows);
    data.lanes.push_back(std::move(lane));
  }
  data.end = std::max(data.end, run.simulation.timeline.step_time.value());
  for (Lane& lane : data.lanes) lane.rows.insert(lane.rows.begin(), summary_row(lane.rows, data.end, names));
  take_layers(data, run);
  return data;
}

void add_measured(TimelineData& data, const trace::ImportedRun& run) {
  Names names(data.names);
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const trace::RankTrace& rank = run.ranks[r];
    if (rank.device_ops.empty()) continue;
    trace::Nanoseconds origin = rank.device_ops.front().start;
    // A trace holds several steps; the last whole one is the steadiest (the first ones compile and warm up).
    trace::Nanoseconds stop = std::numeric_limits<trace::Nanoseconds>::max();
    std::string part = "whole trace";
    if (rank.steps.size() >= 2) {
      const trace::Step& step = rank.steps.back();
      origin = step.start;
      stop = step.start + step.duration;
      part = "step " + std::to_string(step.number);
    }
    std::vector<Row> rows(rank.streams.size());
    for (std::size_t s = 0; s < rows.size(); ++s) {
      rows[s].name = "stream " + std::to_string(rank.streams[s].stream);
    }
    for (const trace::DeviceOp& op : rank.device_ops) {
      if (op.start < origin || op.start >= stop) continue;
      Category category = op.kind == trace::DeviceKind::kernel ? Category::forward : Category::copy;
      if (op.collective != trace::kNone) category = Category::network;
      const double start = static_cast<double>(op.start - origin) * 1e-9;
      const double end = start + static_cast<double>(op.duration) * 1e-9;
      rows.at(op.stream).slices.push_back({.arrival = start, .start = start, .end = end, .task = kNoTask, .name = names(std::string(run.strings.at(op.name))), .category = category});
      data.end = std::max(data.end, end);
      ++data.tasks;
    }
    std::erase_if(rows, [](const Row& row) { return row.slices.empty(); });
    if (rows.empty()) continue;
    data.lanes.push_back({.title = "measured" + (rank.rank >= 0 ? ", rank " + std::to_string(rank.rank) : std::string()), .subtitle = part, .rank = static_cast<std::uint32_t>(r), .measured = true, .rows = std::move(rows)});
  }
}

std::vector<SliceRef> find_slices(const TimelineData& data, std::string_view text, std::size_t most) {
  std::vector<SliceRef> found;
  if (text.empty()) return found;
  const std::string wanted = lower_case(text);
  std::vector<bool> matches;
  for (const std::string& name : data.names) matches.push_back(lower_case(name).find(wanted) != std::string::npos);
  for (std::uint32_t l = 0; l < data.lanes.size(); ++l) {
    for (std::uint32_t r = 0; r < data.lanes[l].rows.size(); ++r) {
      const Row& row = data.lanes[l].rows[r];
      if (row.summary) continue;
      for (std::uint32_t s = 0; s < row.slices.size(); ++s) {
        if (!matches[row.slices[s].name]) continue;
        found.push_back({l, r, s});
        if (found.size() >= most) return found;
      }
    }
  }
  return found;
}

std::optional<SliceRef> find_layer(const TimelineData& data, const scenario::Run& run, std::string_view layer) {
  for (std::uint32_t l = 0; l < data.lanes.size(); ++l) {
    if (data.lanes[l].measured) continue;
    const Program& program = program_of(run, data.lanes[l].rank);
    std::vector<bool> holds(program.segments.size());
    for (std::size_t s = 0; s < holds.size(); ++s) {
      const lower::Segment& segment = program.segments[s];
      for (std::uint32_t k = 0; k < segment.kernel_count && !holds[s]; ++k) {
        holds[s] = program.names.at(program.kernels.at(segment.first_kernel + k).module) == layer;
      }
    }
    std::optional<SliceRef> best;
    for (std::uint32_t r = 0; r < data.lanes[l].rows.size(); ++r) {
      const Row& row = data.lanes[l].rows[r];
      for (std::uint32_t s = 0; s < row.slices.size(); ++s) {
        const Slice& slice = row.slices[s];
        if (slice.task == kNoTask || program.tasks.at(slice.task).kind != TaskKind::compute || !holds[program.tasks[slice.task].segment]) continue;
        if (!best || slice.start < data.at(*best).start) best = SliceRef{l, r, s};
        break;
      }
    }
    if (best) return best;
  }
  return std::nullopt;
}

std::optional<SliceRef> slice_of(const TimelineData& data, std::uint32_t rank, std::uint32_t task) {
  for (std::uint32_t l = 0; l < data.lanes.size(); ++l) {
    if (data.lanes[l].measured || data.lanes[l].rank != rank) continue;
    for (std::uint32_t r = 0; r < data.lanes[l].rows.size(); ++r) {
      // Tasks of a stream start in issue order, so that their indices ascend.
      const auto& slices = data.lanes[l].rows[r].slices;
      if (data.lanes[l].rows[r].summary) continue;
      const auto at = std::lower_bound(slices.begin(), slices.end(), task, [](const Slice& s, std::uint32_t t) { return s.task < t; });
      if (at != slices.end() && at->task == task) return SliceRef{l, r, static_cast<std::uint32_t>(at - slices.begin())};
    }
  }
  return std::nullopt;
}

Neighbours neighbours_of(const TimelineData& data, const scenario::Run& run, SliceRef ref) {
  Neighbours found;
  const Lane& lane = data.lanes.at(ref.lane);
  const std::uint32_t task = data.at(ref).task;
  if (lane.measured || task == kNoTask) return found;
  const Program& program = program_of(run, lane.rank);
  std::vector<std::vector<std::uint32_t>> of_stream(program.streams.size());
  std::vector<std::uint32_t> position(program.tasks.size());
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
    of_stream.at(program.tasks[t].stream).push_back(t);
    position[t] = static_cast<std::uint32_t>(of_stream[program.tasks[t].stream].size());
  }
  const auto add = [&](std::vector<SliceRef>& into, std::uint32_t t) {
    if (const auto slice = slice_of(data, lane.rank, t)) into.push_back(*slice);
  };
  const Task& self = program.tasks.at(task);
  if (position[task] > 1) add(found.before, of_stream[self.stream][position[task] - 2]);
  for (std::uint32_t d = 0; d < self.dependency_count; ++d) {
    const lower::Dependency& dependency = program.dependencies.at(self.first_dependency + d);
    if (dependency.position > 0) add(found.before, of_stream.at(dependency.stream).at(dependency.position - 1));
  }
  if (position[task] < of_stream[self.stream].size()) add(found.after, of_stream[self.stream][position[task]]);
  for (std::uint32_t t = task + 1; t < program.tasks.size() && found.after.size() < 64; ++t) {
    const Task& other = program.tasks[t];
    for (std::uint32_t d = 0; d < other.dependency_count; ++d) {
      const lower::Dependency& dependency = program.dependencies[other.first_dependency + d];
      if (dependency.stream == self.stream && dependency.position == position[task]) add(found.after, t);
    }
  }
  return found;
}

std::vector<std::pair<std::string, std::string>> facts_of(const TimelineData& data, const scenario::Run* run, SliceRef ref) {
  const Lane& lane = data.lanes.at(ref.lane);
  const Slice& slice = data.at(ref);
  std::vector<std::pair<std::string, std::string>> facts = {{"name", data.names.at(slice.name)}, {"on", lane.title + ", " + lane.rows[ref.row].name}, {"kind", std::string(label(slice.category))},
      {"duration", to_text(Seconds(slice.end - slice.start))}, {"starts", to_text(Seconds(slice.start))}, {"ends", to_text(Seconds(slice.end))}};
  if (slice.start > slice.arrival) facts.emplace_back("waited for ranks", to_text(Seconds(slice.start - slice.arrival)));
  if (run == nullptr || lane.measured || slice.task == kNoTask) return facts;
  const Program& program = program_of(*run, lane.rank);
  const Task& task = program.tasks.at(slice.task);
  if (task.micro_batch >= 0) facts.emplace_back("micro-batch", std::to_string(task.micro_batch));
  if (communicates(task.kind)) {
    const lower::Comm& comm = program.comms.at(task.comm);
    facts.emplace_back("payload", to_text(comm.payload));
    facts.emplace_back("on the wire", to_text(comm.transfer.wire_bytes) + " a rank");
    facts.emplace_back("algorithm", comm.transfer.algorithm + (comm.transfer.protocol.empty() ? "" : ", " + comm.transfer.protocol));
    facts.emplace_back("bandwidth", to_text(comm.transfer.bandwidth));
    facts.emplace_back("rests on", std::string(scenario::label(comm.transfer.source)));
    return facts;
  }
  if (task.kind != TaskKind::compute) return facts;
  const lower::Segment& segment = program.segments.at(task.segment);
  facts.emplace_back("alone on the GPU", to_text(task.device));
  facts.emplace_back("host issues it in", to_text(task.host));
  facts.emplace_back("kernels", std::to_string(segment.kernel_count));
  std::map<std::string, Seconds> by_name;
  for (std::uint32_t k = 0; k < segment.kernel_count; ++k) {
    const lower::KernelCost& kernel = program.kernels.at(segment.first_kernel + k);
    by_name[program.names.at(kernel.name.value) + " (" + std::string(scenario::label(kernel.estimate.bound)) + "-bound, " + std::string(scenario::label(kernel.estimate.source)) + ")"] += kernel.estimate.time;
  }
  std::vector<std::pair<std::string, Seconds>> sorted(by_name.begin(), by_name.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (std::size_t i = 0; i < sorted.size() && i < 8; ++i) facts.emplace_back(to_text(sorted[i].second), sorted[i].first);
  return facts;
}

}  // namespace sgsim::gui

#include "sim/scenario/trace_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "sim/core/error.h"
#include "sim/core/units_text.h"
#include "sim/scenario/labels.h"
#include "sim/scenario/memory_curve.h"
#include "sim/timeline/trace_writer.h"

namespace sgsim::scenario {
namespace {

using lower::Program;
using lower::Task;
using lower::TaskKind;
using timeline::Span;
using timeline::TraceArgument;
using timeline::TraceWriter;

bool is_communication(TaskKind kind) { return kind == TaskKind::collective || kind == TaskKind::send || kind == TaskKind::receive; }

std::string_view operation(const Task& task, const lower::Comm& comm) {
  if (task.kind == TaskKind::send) return "send";
  if (task.kind == TaskKind::receive) return "receive";
  constexpr std::string_view kWords[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_receive"};
  return kWords[static_cast<std::size_t>(comm.op)];
}

const Program& program_of(const Simulation& s, std::uint32_t rank) { return s.workload.programs.at(s.workload.ranks.at(rank).program.value); }

/// Kernels of a run, laid out inside the time that the engine gave it: each as long as it takes (or longer, where the
/// device slowed them all), the rest as even gaps in which the host had not launched the next.
class KernelLayout {
 public:
  KernelLayout(const Program& program, const Task& task, double speed, const Span& span) : start_(span.start), span_(span.end - span.start) {
    const lower::Segment& segment = program.segments.at(task.segment);
    for (std::uint32_t k = 0; k < segment.kernel_count; ++k) sum_ += program.kernels.at(segment.first_kernel + k).estimate.time;
    if (sum_.value() <= 0.0) return;
    pace_ = span_ / sum_;
    busy_ = std::min(pace_, std::max(1.0, program.compute_slowdown / speed));
  }
  /// Start and end of the next kernel, which alone takes `alone`.
  std::pair<Seconds, Seconds> next(Seconds alone) {
    const Seconds from = start_ + done_ * pace_;
    done_ += alone;
    return {from, std::min(start_ + span_, from + alone * busy_)};
  }

 private:
  Seconds start_, span_, sum_, done_;
  double pace_ = 0.0, busy_ = 0.0;
};

class Exporter {
 public:
  Exporter(TraceWriter& writer, const Run& run) : writer_(writer), run_(run), simulation_(run.simulation) {}

  void run() {
    const auto& spans = simulation_.timeline.spans;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (i == 0 || spans[i].rank != spans[i - 1].rank) describe(spans[i].rank);
      write(spans[i]);
    }
    memory();
    arrows();
  }

 private:
  void describe(std::uint32_t rank) {
    const Program& program = program_of(simulation_, rank);
    const std::uint32_t count = simulation_.timeline.multiplicity.at(rank);
    const bool asked = run_.result.asked.size() == 1;  // the rank that was asked for is drawn by one of its class
    const std::uint32_t shown = asked ? run_.result.asked.front().example.value : simulation_.timeline.representative.at(rank).value;
    std::string name = fmt::format("rank {} ({})", shown, program.name);
    if (count > 1) name += fmt::format(", one of {} alike", count);
    writer_.process(rank, name, rank);
    for (std::uint32_t s = 0; s < program.streams.size(); ++s) writer_.thread(rank, s, program.streams[s]);
  }

  void write(const Span& span) {
    const Program& program = program_of(simulation_, span.rank);
    const Task& task = program.tasks.at(span.task);
    if (is_communication(task.kind)) {
      write_communication(program, task, span);
    } else {
      write_run(program, task, span);
    }
  }

  void write_communication(const Program& program, const Task& task, const Span& span) {
    const lower::Comm& comm = program.comms.at(task.comm);
    const std::string& name = program.names.at(comm.name.value);
    if (span.start > span.arrival) {
      const std::array arguments = {TraceArgument{"waits for", "the last member to arrive"}};
      writer_.slice(span.rank, span.stream, span.arrival, span.start, "wait: " + name, "wait", arguments);
    }
    const std::uint32_t id = simulation_.workload.ranks[span.rank].groups.at(comm.slot).value;
    const lower::Group& group = simulation_.workload.groups.at(id);
    std::vector arguments = {
        TraceArgument{"bytes", comm.payload.value()},
        TraceArgument{"operation", operation(task, comm)},
        TraceArgument{"group", group.kind},
        TraceArgument{"group_id", std::int64_t{id}},
        TraceArgument{"algorithm", comm.transfer.algorithm},
        TraceArgument{"protocol", comm.transfer.protocol},
        TraceArgument{"network", comm.transfer.inter_node ? std::string_view("between nodes") : std::string_view("inside the node")},
        TraceArgument{"micro_batch", std::int64_t{task.micro_batch}},
        TraceArgument{"source", label(comm.transfer.source)}};
    const bool pair = task.kind == TaskKind::send || task.kind == TaskKind::receive;
    for (const RankId member : group.members) {
      if (pair && member.value != span.rank) arguments.push_back({"peer", std::int64_t{simulation_.timeline.representative.at(member.value).value}});
    }
    writer_.slice(span.rank, span.stream, span.start, span.end, name, "communication", arguments);
    if (pair) note_transfer(program, task, span, name);
  }

  void write_run(const Program& program, const Task& task, const Span& span) {
    if (task.kind == TaskKind::host_sync) {
      writer_.slice(span.rank, span.stream, span.start, span.end, "host waits", "host", {});
      return;
    }
    const lower::Segment& segment = program.segments.at(task.segment);
    const std::array about = {TraceArgument{"micro_batch", std::int64_t{task.micro_batch}},
                              TraceArgument{"phase", phase_label(segment.phase)},
                              TraceArgument{"kernels", std::int64_t{segment.kernel_count}}};
    writer_.slice(span.rank, span.stream, span.start, span.end, program.names.at(segment.name.value), phase_label(segment.phase), about);
    KernelLayout layout(program, task, simulation_.workload.ranks[span.rank].speed, span);
    for (std::uint32_t k = 0; k < segment.kernel_count; ++k) {
      const lower::KernelCost& kernel = program.kernels.at(segment.first_kernel + k);
      const auto [from, to] = layout.next(kernel.estimate.time);
      const std::array arguments = {TraceArgument{"layer", program.names.at(kernel.module)},
                                    TraceArgument{"flops", kernel.estimate.flops.value()},
                                    TraceArgument{"bytes", kernel.estimate.bytes.value()},
                                    TraceArgument{"bound", label(kernel.estimate.bound)},
                                    TraceArgument{"source", label(kernel.estimate.source)},
                                    TraceArgument{"sigma", kernel.estimate.sigma}};
      writer_.slice(span.rank, span.stream, from, to, program.names.at(kernel.name.value), "kernel", arguments);
    }
  }

  /// The k-th use of a pair's group by each side is one transfer.
  void note_transfer(const Program& program, const Task& task, const Span& span, const std::string& name) {
    const std::uint32_t group = simulation_.workload.ranks[span.rank].groups.at(program.comms.at(task.comm).slot).value;
    const std::uint16_t slot = program.comms.at(task.comm).slot;
    const std::uint32_t use = uses_[{group, span.rank, slot}]++;
    Ends& ends = transfers_[{group, use}];
    ends.name = name;
    (task.kind == TaskKind::send ? ends.from : ends.to) = span;
  }

  void arrows() {
    std::uint64_t id = 0;
    for (const auto& [key, ends] : transfers_) {
      if (!ends.from || !ends.to) continue;
      const Seconds middle = ends.to->start + (ends.to->end - ends.to->start) * 0.5;
      writer_.arrow(++id, ends.name, ends.from->rank, ends.from->stream, ends.from->start, ends.to->rank, ends.to->stream, std::max(middle, ends.from->start));
    }
  }

  void memory() {
    std::uint32_t last = ~0U;
    for (const Span& span : simulation_.timeline.spans) {
      if (span.rank == last) continue;
      last = span.rank;
      const std::uint32_t program = simulation_.workload.ranks.at(last).program.value;
      if (program < run_.lowered.memory.size()) memory_of(last, run_.lowered.memory[program]);
    }
  }

  void memory_of(std::uint32_t rank, const lower::Memory& memory) {
    for (const MemoryAt& at : memory_curve(simulation_, memory, rank)) {
      std::array<std::pair<std::string_view, double>, lower::kMemoryClasses> values;
      for (std::size_t c = 0; c < values.size(); ++c) values[c] = {label(static_cast<lower::MemoryClass>(c)), at.by_class[c].value() / 1073741824.0};
      writer_.counter(rank, "memory (GiB)", at.time, values);
    }
  }

  struct Ends {
    std::string name;
    std::optional<Span> from, to;
  };
  TraceWriter& writer_;
  const Run& run_;
  const Simulation& simulation_;
  std::map<std::array<std::uint32_t, 3>, std::uint32_t> uses_;  // of group, rank, slot
  std::map<std::pair<std::uint32_t, std::uint32_t>, Ends> transfers_;
};

}  // namespace

TraceSize trace_size(const Simulation& simulation) {
  TraceSize size;
  const auto& spans = simulation.timeline.spans;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (i == 0 || spans[i].rank != spans[i - 1].rank) ++size.ranks;
    const Program& program = program_of(simulation, spans[i].rank);
    const Task& task = program.tasks.at(spans[i].task);
    size.slices += 1 + (is_communication(task.kind) || task.kind == TaskKind::host_sync ? 0 : program.segments.at(task.segment).kernel_count);
  }
  return size;
}

namespace {

/// What `sgsim import` and `sgsim replay` take the ranks and groups of a timeline from.
std::string sizes_text(const plan::Plan& p) {
  const std::int64_t micro_batches = p.micro_batch > 0 && p.dp > 0 ? p.micro_batches() : 1;
  return fmt::format("dp {} tp {} pp {} cp {} ep {} micro_batches {} virtual_stages {}", p.dp, p.tp, p.pp, p.cp, p.ep, micro_batches, p.virtual_stages);
}

}  // namespace

TraceSize write_trace(const std::string& path, const Scenario& scenario, const Run& run) {
  const TraceSize size = trace_size(run.simulation);
  if (size.slices > kMostTraceSlices) {
    throw InputError({.file = "--trace " + path, .where = "", .found = fmt::format("{} slices of {} ranks", size.slices, size.ranks),
                      .expected = fmt::format("at most {}, which a browser can show", kMostTraceSlices),
                      .hint = "Ask for one rank with --rank R"});
  }
  TraceWriter writer(path, {{"scenario", scenario.file},
                            {"description", scenario.description},
                            {"program", "sgsim"},
                            {"engine", run.simulation.timeline.engine},
                            {"step_time", to_text(run.simulation.timeline.step_time)},
                            {"sizes", sizes_text(scenario.plan)}});
  Exporter(writer, run).run();
  writer.close();
  return size;
}

}  // namespace sgsim::scenario

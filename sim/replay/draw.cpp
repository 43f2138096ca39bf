#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/core/units_text.h"
#include "sim/replay/account.h"
#include "sim/replay/report.h"
#include "sim/timeline/trace_writer.h"

namespace sgsim::replay {
namespace {

using timeline::TraceArgument;

class Artist {
 public:
  Artist(const Drawing& drawing, const timeline::Timeline& timeline, timeline::TraceWriter& writer) : d_(drawing), timeline_(timeline), writer_(writer) {}

  void draw() {
    for (std::uint32_t rank = 0; rank < d_.workload.ranks.size(); ++rank) {
      const auto spans = spans_of(timeline_, rank);
      if (spans.empty()) continue;
      program_ = &d_.workload.programs[d_.workload.ranks[rank].program.value];
      notes_ = &d_.notes[d_.workload.ranks[rank].program.value];
      captured_ = &d_.run.ranks[notes_->rank];
      describe(rank);
      mark_steps(rank, spans);
      drawn_.assign(program_->streams.size(), Seconds(0.0));
      for (const timeline::Span& span : spans) write(span);
    }
  }

 private:
  void describe(std::uint32_t rank) {
    const std::uint32_t alike = timeline_.multiplicity[rank];
    std::string name = d_.rescaled ? fmt::format("rank {} ({})", timeline_.representative[rank].value, program_->name) : program_->name;
    if (alike > 1) name += fmt::format(", one of {} alike", alike);
    writer_.process(rank, name, rank);
    for (std::uint32_t s = 0; s < program_->streams.size(); ++s) writer_.thread(rank, s, program_->streams[s]);
  }

  // From the start of a step's first operation (later ones from the end of the step before) to the end of its last.
  void mark_steps(std::uint32_t rank, std::span<const timeline::Span> spans) {
    const std::size_t count = notes_->steps.size();
    std::vector<std::optional<Seconds>> begin(count), end(count);
    for (const timeline::Span& span : spans) {
      const TaskNote& note = notes_->tasks[span.task];
      if (note.step < 0) continue;
      const auto s = static_cast<std::size_t>(note.step);
      const Seconds from = std::max(Seconds(0.0), begins(program_->tasks[span.task], note, span));
      begin[s] = begin[s] ? std::min(*begin[s], from) : from;
      end[s] = end[s] ? std::max(*end[s], span.end) : span.end;
    }
    const auto thread = static_cast<std::uint32_t>(program_->streams.size());
    if (count > 0) writer_.thread(rank, thread, "steps");
    for (std::size_t s = 0; s < count; ++s) {
      if (!begin[s]) continue;
      const Seconds from = s > 0 && end[s - 1] ? std::min(*end[s - 1], *end[s]) : *begin[s];
      writer_.slice(rank, thread, from, *end[s], trace::step_name(notes_->steps[s].number), "step", {});
    }
  }

  void write(const timeline::Span& span) {
    const lower::Task& task = program_->tasks[span.task];
    const TaskNote& note = notes_->tasks[span.task];
    if (task.kind == lower::TaskKind::host_sync) return writer_.slice(span.rank, span.stream, span.start, span.end, "host waits", "host", {});
    const std::string& name = program_->names[program_->segments[task.segment].name.value];
    const bool transfers = task.kind != lower::TaskKind::compute && task.kind != lower::TaskKind::copy;
    if (transfers && span.start > span.arrival) writer_.slice(span.rank, span.stream, span.arrival, span.start, "wait: " + name, "wait", {});
    const Seconds begin = begins(task, note, span), from = std::clamp(begin, drawn_[span.stream], std::max(drawn_[span.stream], span.end));
    drawn_[span.stream] = std::max(drawn_[span.stream], span.end);
    std::vector<TraceArgument> arguments;
    if (begin < from) arguments.push_back({"duration_ns", static_cast<std::int64_t>(std::llround((span.end - begin).value() * 1e9))});
    const char* category = note.communication ? "communication" : of_host(note) ? "host" : "kernel";
    std::string group;  // lives until the slice is written
    if (note.communication) add_communication(task, note, span.rank, group, arguments);
    else if (note.device_op != kNoTask) category = add_kernel(captured_->device_ops[note.device_op], arguments);
    writer_.slice(span.rank, span.stream, from, std::max(from, span.end), name, category, arguments);
  }

  const char* add_kernel(const trace::DeviceOp& op, std::vector<TraceArgument>& arguments) const {
    if (op.layer != 0) arguments.push_back({"layer", std::string_view(d_.run.strings.at(op.layer))});
    if (!d_.rescaled && op.flops > 0.0) arguments.push_back({"flops", op.flops});
    if (!d_.rescaled && op.bytes > 0.0) arguments.push_back({"bytes", op.bytes});
    return op.kind == trace::DeviceKind::copy ? "copy" : op.kind == trace::DeviceKind::set ? "memset" : "kernel";
  }

  void add_communication(const lower::Task& task, const TaskNote& note, std::uint32_t rank, std::string& group, std::vector<TraceArgument>& arguments) const {
    const bool in_engine = task.kind != lower::TaskKind::compute && task.kind != lower::TaskKind::copy;
    const trace::Collective* c = note.device_op == kNoTask ? nullptr : &captured_->collectives[captured_->device_ops[note.device_op].collective];
    const lower::Comm* comm = in_engine ? &program_->comms[task.comm] : nullptr;
    const char* operation = c != nullptr ? trace::name_of(c->kind) : task.kind == lower::TaskKind::send ? "send" : "receive";
    arguments.push_back({"operation", std::string_view(operation)});
    arguments.push_back({"bytes", c != nullptr && c->bytes < 0.0 ? -1.0 : comm != nullptr ? comm->payload.value() : c->bytes});
    if (d_.rescaled && comm != nullptr) {
      const std::uint32_t id = d_.workload.ranks[rank].groups.at(comm->slot).value;
      group = d_.workload.groups[id].kind;
      arguments.push_back({"group_id", std::int64_t{id}});
    } else if (c != nullptr && c->group != trace::kNone) {
      const trace::Group& g = d_.run.groups[c->group];
      group = d_.run.strings.at(g.description != 0 ? g.description : g.name);
      arguments.push_back({"group_id", std::int64_t{c->group}});
      if (g.size > 0) arguments.push_back({"group_size", std::int64_t{g.size}});
      if (c->peer >= 0) arguments.push_back({"peer", std::int64_t{c->peer}});
    }
    arguments.push_back({"group", std::string_view(group)});
    if (!in_engine) arguments.push_back({"holds_waiting", std::int64_t{1}});
  }

  const Drawing& d_;
  const timeline::Timeline& timeline_;
  timeline::TraceWriter& writer_;
  const lower::Program* program_ = nullptr;
  const ProgramNotes* notes_ = nullptr;
  const trace::RankTrace* captured_ = nullptr;
  std::vector<Seconds> drawn_;  // by stream: until when
};

}  // namespace

void write_trace(const Drawing& drawing, const timeline::Timeline& timeline, const std::string& path) {
  std::vector<std::pair<std::string, std::string>> metadata = {{"program", "sgsim"}, {"origin", "replay"}, {"engine", timeline.engine}};
  const std::size_t first = drawing.workload.ranks.front().program.value;
  metadata.emplace_back("step_time", to_text(Seconds(mean(accounts(drawing.workload.programs[first], drawing.notes[first], spans_of(timeline, 0))).step_s)));
  if (!drawing.sizes.empty()) metadata.emplace_back("sizes", drawing.sizes);
  timeline::TraceWriter writer(path, metadata);
  Artist(drawing, timeline, writer).draw();
  writer.close();
}

}  // namespace sgsim::replay

#include "sim/replay/report.h"

#include <fmt/format.h>

#include "sim/timeline/trace_writer.h"

namespace sgsim::replay {

std::string text_report(const Result& r, const timeline::Timeline& timeline) {
  std::string text = fmt::format("{:<12} {:>14} {:>14} {:>9}\n", "", "measured ms", "simulated ms", "error");
  const auto line = [&](const Compared& c) { text += fmt::format("{:<12} {:>14.3f} {:>14.3f} {:>+8.2f}%\n", c.what, c.measured_s * 1e3, c.simulated_s * 1e3, c.error() * 100.0); };
  for (const Compared& step : r.steps) line(step);
  line(r.whole);
  text += fmt::format("error of a step: {:.2f} % mean, {:.2f} % worst; a device operation ends {:.1f} us from its measured end, in the mean\n", r.mean_error * 100.0, r.worst_error * 100.0, r.mean_end_error_s * 1e6);
  if (!timeline.ranks.empty()) {
    const timeline::Accounting& a = timeline.ranks.front();
    text += fmt::format("first rank: device busy {:.3f} ms, exposed transfers {:.3f} ms, waiting for others {:.3f} ms, host-bound {:.3f} ms\n", a.compute.value() * 1e3, a.exposed_comm.value() * 1e3,
                        a.bubble.value() * 1e3, a.host_bound.value() * 1e3);
  }
  return text;
}

void write_trace(const lower::Workload& workload, const timeline::Timeline& timeline, const std::string& path) {
  timeline::TraceWriter writer(path, {{"engine", timeline.engine}});
  std::uint32_t described = kNoTask;
  for (const timeline::Span& span : timeline.spans) {
    const lower::Program& program = workload.programs[workload.ranks[span.rank].program.value];
    if (span.rank != described) {
      const std::uint32_t alike = timeline.multiplicity[span.rank];
      writer.process(span.rank, alike > 1 ? fmt::format("{}, one of {} alike", program.name, alike) : program.name, span.rank);
      for (std::uint32_t s = 0; s < program.streams.size(); ++s) writer.thread(span.rank, s, program.streams[s]);
      described = span.rank;
    }
    const lower::Task& task = program.tasks[span.task];
    const bool host = task.kind == lower::TaskKind::host_sync;
    if (task.kind == lower::TaskKind::collective && span.start > span.arrival) writer.slice(span.rank, span.stream, span.arrival, span.start, "wait", "wait", {});
    const std::string name = host ? "host waits" : program.names[program.segments[task.segment].name.value];
    writer.slice(span.rank, span.stream, span.start, span.end, name, host ? "host" : task.kind == lower::TaskKind::collective ? "communication" : "kernel", {});
  }
  writer.close();
}

}  // namespace sgsim::replay

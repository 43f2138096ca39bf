#include "calibrate/execute/issue.h"

namespace sgsim::calibrate {

EventPlan plan_events(const RankProgram& program) {
  EventPlan plan;
  plan.begin = plan.count++;
  for (const ProgramTask& task : program.tasks) {
    for (const ProgramWait& wait : task.waits) {
      if (wait.stream == task.stream) continue;
      if (plan.behind.try_emplace({wait.stream, wait.position}, plan.count).second) ++plan.count;
    }
  }
  for (std::size_t s = 0; s < program.streams.size(); ++s) plan.end.push_back(plan.count++);
  return plan;
}

void issue(const RankProgram& program, const EventPlan& events, Queue& queue) {
  const auto streams = static_cast<std::uint16_t>(program.streams.size());
  queue.record(0, events.begin);
  for (std::uint16_t s = 1; s < streams; ++s) queue.wait(s, events.begin);
  std::vector<std::uint32_t> done(streams, 0);
  std::vector<std::vector<std::uint32_t>> waited(streams, std::vector<std::uint32_t>(streams, 0));  // [who][for whom]: position
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
    const ProgramTask& task = program.tasks[t];
    for (const ProgramWait& wait : task.waits) {
      std::uint32_t& known = waited[task.stream][wait.stream];
      if (wait.stream == task.stream || wait.position <= known) continue;
      known = wait.position;
      queue.wait(task.stream, events.behind.at({wait.stream, wait.position}));
    }
    queue.begin_task(t);
    if (task.kind == ProgramTaskKind::compute) {
      for (const std::uint32_t work : program.segments[task.segment].kernels) queue.launch(task.stream, work);
    } else {
      queue.communicate(task.stream, task.kind, task.comm);
    }
    const auto event = events.behind.find({task.stream, ++done[task.stream]});
    if (event != events.behind.end()) queue.record(task.stream, event->second);
  }
  for (std::uint16_t s = 1; s < streams; ++s) {
    queue.record(s, events.end[s]);
    queue.wait(0, events.end[s]);
  }
}

}  // namespace sgsim::calibrate

#include "sim/engine/simgrid/script.h"

#include <map>
#include <utility>

namespace sgsim::engine {
namespace {

using lower::TaskKind;

/// (before, after) of all edges.
std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_of(const lower::Program& program) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::vector<std::vector<std::uint32_t>> by_stream(program.streams.size());
  std::int64_t last_sync = -1;
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
    const lower::Task& task = program.tasks[t];
    if (!by_stream[task.stream].empty()) edges.emplace_back(by_stream[task.stream].back(), t);
    for (std::uint32_t d = 0; d < task.dependency_count; ++d) {
      const lower::Dependency dependency = program.dependencies[task.first_dependency + d];
      if (dependency.position > 0) edges.emplace_back(by_stream[dependency.stream][dependency.position - 1], t);
    }
    if (last_sync >= 0) edges.emplace_back(static_cast<std::uint32_t>(last_sync), t);
    if (task.kind == TaskKind::host_sync) last_sync = t;
    by_stream[task.stream].push_back(t);
  }
  return edges;
}

}  // namespace

Script make_script(const lower::Program& program) {
  Script script;
  script.program = &program;
  script.nodes.resize(program.tasks.size());
  const auto edges = edges_of(program);
  for (const auto& [before, after] : edges) {
    ++script.nodes[before].last_successor;  // counts first
    ++script.nodes[after].predecessors;
  }
  std::uint32_t place = 0;
  for (Script::Node& node : script.nodes) {
    const std::uint32_t count = node.last_successor;
    node.first_successor = node.last_successor = place;
    place += count;
  }
  script.successors.resize(place);
  for (const auto& [before, after] : edges) script.successors[script.nodes[before].last_successor++] = after;

  std::map<std::uint16_t, std::uint32_t> uses;
  double host = 0.0;
  for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
    const lower::Task& task = program.tasks[t];
    Script::Node& node = script.nodes[t];
    node.kind = task.kind;
    node.stream = task.stream;
    node.sync = script.syncs;
    node.host_before = host;
    const bool communicates = task.kind == TaskKind::collective || task.kind == TaskKind::send || task.kind == TaskKind::receive;
    if (communicates) node.use = uses[program.comms[task.comm].slot]++;
    host += task.host.value();
    if (task.kind == TaskKind::host_sync) {
      host = 0.0;
      ++script.syncs;
    }
  }
  return script;
}

}  // namespace sgsim::engine

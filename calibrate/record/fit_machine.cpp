// Collectives, copies, launches and interference: what depends on links and host.
#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/record/fit.h"
#include "calibrate/record/key_work.h"
#include "calibrate/stats/fit.h"

namespace sgsim::calibrate {
namespace {

const Measurement* find(const Samples& samples, const std::string& what, std::optional<std::int64_t> nodes = std::nullopt) {
  Key key{.group = "launch", .labels = {{"what", what}}, .sizes = {}};
  if (nodes) key.sizes["nodes"] = *nodes;
  const auto it = samples.measured.find(key);
  return it == samples.measured.end() ? nullptr : &it->second;
}

/// cost = fixed + each * nodes, over the node counts that were measured.
std::optional<Line> per_node(const Samples& samples, const std::string& what, bool times_nodes) {
  std::vector<double> nodes, seconds;
  for (const auto& [key, m] : samples.measured) {
    if (key.group != "launch" || !key.is("what", what)) continue;
    nodes.push_back(static_cast<double>(key.size("nodes")));
    seconds.push_back(times_nodes ? m.time.median * nodes.back() : m.time.median);
  }
  if (nodes.size() < 2) return std::nullopt;
  return fit_line(nodes, seconds);
}

}  // namespace

void fit_collectives(cost::Profile& p, const Samples& samples, const std::string& source) {
  std::map<std::pair<graph::CollectiveOp, int>, cost::CollectiveSweep> sweeps;
  for (const auto& [key, m] : samples.measured) {  // keys are in order of bytes within an operation
    if (key.group != "collective" || is_held_out(key) || key.size("ranks") < 2 || key.size("channels") != 0 || key.size("groups") != 1) continue;
    if (!key.is("place", "out") || !key.is("launch", "stream") || !key.is("protocol", "default")) continue;
    const auto op = collective_op(key.label("op"));
    const int ranks = static_cast<int>(key.size("ranks"));
    auto& sweep = sweeps[{op, ranks}];
    sweep.op = op;
    sweep.ranks = ranks;
    sweep.source = source;
    sweep.bytes.push_back(key.size("bytes"));
    sweep.time_ns.push_back(std::llround(m.time.median * 1e9));
  }
  for (const auto& [which, sweep] : sweeps) {
    std::erase_if(p.sweeps, [&](const cost::CollectiveSweep& s) { return s.op == sweep.op && s.ranks == sweep.ranks; });
    p.sweeps.push_back(sweep);
  }
}

void fit_host_copies(cost::Profile& p, const Samples& samples, const std::string& source) {
  for (const char* direction : {"host_to_device", "device_to_host"}) {
    for (const char* memory : {"pinned", "pageable"}) {
      std::vector<double> bytes, seconds;
      for (const auto& [key, m] : samples.measured) {
        if (key.group != "host_copy" || !key.is("direction", direction) || !key.is("memory", memory)) continue;
        bytes.push_back(static_cast<double>(key.size("bytes")));
        seconds.push_back(m.time.median);
      }
      if (bytes.size() < 2) continue;
      const Line line = fit_line(bytes, seconds);
      const std::string name = std::string("copy.") + direction + "." + memory;
      p.rates[name] = {BytesPerSecond(1.0 / line.slope), source};
      p.times[name + ".fixed"] = {Seconds(line.fixed), source};
    }
  }
}

void fit_launches(cost::Profile& p, const Samples& samples, const std::string& source) {
  const auto set = [&](const std::string& name, double seconds) { p.times[name] = {Seconds(seconds), source}; };
  if (const Measurement* m = find(samples, "kernel_latency")) {
    set("launch.eager.launch_latency", m->time.median);
    set("launch.compiled.launch_latency", m->time.median);
  }
  if (const Measurement* m = find(samples, "graph_latency", 1)) set("launch.cuda_graph.launch_latency", m->time.median);
  if (const Measurement* m = find(samples, "device_gap")) {
    set("launch.eager.device_gap", m->time.median);
    set("launch.compiled.device_gap", m->time.median);
  }
  const Measurement* empty = find(samples, "empty_kernel");
  if (const auto line = per_node(samples, "graph_per_node", true); line && empty != nullptr) {
    set("launch.cuda_graph.device_gap", std::max(0.0, line->slope - empty->time.median));
    set("graph.device_per_empty_node", line->slope);
  }
  for (const char* what : {"graph_enqueue", "graph_instantiate", "graph_first_launch"}) {
    if (const auto line = per_node(samples, what, false)) {
      const std::string name = "graph." + std::string(what).substr(6);
      set(name + "_fixed", line->fixed);
      set(name + "_per_node", line->slope);
    }
  }
  for (const char* what : {"kernel_enqueue", "stream_of_kernels", "stream_synchronize", "event_record", "event_synchronize", "event_wait_across_streams", "first_launch", "jit_ptx"}) {
    if (const Measurement* m = find(samples, what)) set(std::string("host.") + what, m->time.median);
  }
}

void fit_interference(cost::Profile& p, const Samples& samples, const std::string& source) {
  std::map<std::string, std::vector<double>> compute;
  std::vector<double> transfer;
  constexpr std::int64_t kLeastBytes = 1 << 24;  // smaller transfers end before they slow anything
  for (const auto& [key, m] : samples.measured) {
    if (key.group != "interference" || !key.labels.contains("op") || key.size("channels") != 0 || key.size("bytes") < kLeastBytes) continue;
    const double slowdown = m.time.median * 1e9 / std::stod(m.notes.at("alone_ns"));
    if (key.is("side", "compute")) compute[key.label("compute")].push_back(slowdown);
    else transfer.push_back(slowdown);
  }
  if (compute.empty()) return;
  const auto set = [&](const std::string& name, double value) { p.factors["interference.intra_node." + name] = {std::max(1.0, value), source}; };
  std::vector<double> medians;
  for (const auto& [name, slowdowns] : compute) {
    const double middle = median(slowdowns);
    medians.push_back(middle);
    set("compute." + (name == "bandwidth" ? "memory_bound" : name), middle);
  }
  set("compute", median(medians));
  if (!transfer.empty()) set("transfer", median(transfer));
}

}  // namespace sgsim::calibrate

// Collectives, copies, launches and interference: what depends on links and host.
#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/record/fit.h"
#include "sim/core/error.h"
#include "calibrate/record/key_work.h"
#include "calibrate/stats/fit.h"
#include "sim/cost/make/fits.h"

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

/// Where the profile knows nothing of NVLink: the constants that NCCL's tuner starts from, so that the model has all its parts.
void assume_protocols(cost::Profile& p) {
  constexpr const char* kTuner = "nccl-tuner";
  p.sources[kTuner] = {.kind = cost::ProvenanceKind::assumed, .source = "NCCL, src/graph/tuning.cc: base latencies, NVLink hops and order of the protocols", .machine = "", .date = "", .software = "",
                       .note = "shares of the bandwidth as measured NVLink nodes have them, rounded; replaced where collectives of two or more GPUs were measured"};
  using enum cost::Algorithm;
  using enum cost::Protocol;
  constexpr auto kLink = cost::LinkClass::nvlink;
  p.protocols.push_back({ring, ll, kLink, 6.6_us, 0.8_us, 0.27, kTuner});
  p.protocols.push_back({ring, ll128, kLink, 10.0_us, 1.5_us, 0.6, kTuner});
  p.protocols.push_back({ring, simple, kLink, 20.0_us, 3.4_us, 0.77, kTuner});
  p.protocols.push_back({pairwise, ll, kLink, 8.0_us, 0.3_us, 0.12, kTuner});
  p.protocols.push_back({pairwise, simple, kLink, 15.0_us, 0.3_us, 0.69, kTuner});
  p.rates["collective.local"] = {BytesPerSecond(7e11), kTuner};
  p.factors["collective.sigma"] = {0.2, kTuner};
}

/// Base, hop and bandwidth share of the protocols from the sweeps just measured.
void fit_protocols(cost::Profile& p, const std::map<std::pair<graph::CollectiveOp, int>, cost::CollectiveSweep>& sweeps, const std::string& source) {
  std::vector<cost::make::CollectiveRow> rows;
  for (const auto& [which, sweep] : sweeps) {
    if (sweep.op == graph::CollectiveOp::send_receive) continue;  // the pairwise exchange has the same constants
    for (std::size_t i = 0; i < sweep.bytes.size(); ++i) rows.push_back({.op = sweep.op, .ranks = sweep.ranks, .bytes = sweep.bytes[i], .us = static_cast<double>(sweep.time_ns[i]) * 1e-3});
  }
  if (rows.empty()) return;
  std::erase_if(p.protocols, [](const cost::ProtocolCost& c) { return c.link == cost::LinkClass::nvlink && c.algorithm == cost::Algorithm::nvls; });  // measured with multicast off
  const cost::make::FitError error = cost::make::fit_collectives(p, rows, false);
  for (cost::ProtocolCost& c : p.protocols) {
    if (c.link == cost::LinkClass::nvlink) c.source = source;
  }
  p.rates.at("collective.local").source = source;
  p.factors["collective.sigma"] = {std::max(0.03, error.p90 / 1.645), source};
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
  const bool unknown = std::none_of(p.protocols.begin(), p.protocols.end(), [](const cost::ProtocolCost& c) { return c.link == cost::LinkClass::nvlink && c.algorithm == cost::Algorithm::ring; });
  if (unknown) {
    assume_protocols(p);
    fit_protocols(p, sweeps, source);
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
  // A gap is what a kernel in a row takes beyond its own duration; kernels that move a few megabytes have longer ones than empty ones.
  const Measurement* work = find(samples, "work_kernel");
  const auto gap = [&](const char* what) -> std::optional<double> {
    const Measurement* row = find(samples, what);
    if (row == nullptr || work == nullptr) return std::nullopt;
    return std::max(0.0, row->time.median - work->time.median);
  };
  const Measurement* between_empty = find(samples, "device_gap");
  if (const auto stream = gap("stream_of_work"); stream || between_empty != nullptr) {
    for (const char* mode : {"eager", "compiled"}) set(std::string("launch.") + mode + ".device_gap", stream ? *stream : between_empty->time.median);
  }
  const Measurement* empty = find(samples, "empty_kernel");
  const auto line = per_node(samples, "graph_per_node", true);
  if (const auto node = gap("graph_of_work")) set("launch.cuda_graph.device_gap", *node);
  else if (line && empty != nullptr) set("launch.cuda_graph.device_gap", std::max(0.0, line->slope - empty->time.median));
  if (line) set("graph.device_per_empty_node", line->slope);
  for (const char* what : {"graph_enqueue", "graph_instantiate", "graph_first_launch"}) {
    if (const auto cost = per_node(samples, what, false)) {
      const std::string name = "graph." + std::string(what).substr(6);
      set(name + "_fixed", cost->fixed);
      set(name + "_per_node", cost->slope);
    }
  }
  for (const char* what : {"kernel_enqueue", "library_enqueue", "collective_enqueue", "stream_of_kernels", "stream_synchronize", "event_record", "event_synchronize", "event_wait_across_streams", "first_launch", "jit_ptx"}) {
    if (const Measurement* m = find(samples, what)) set(std::string("host.") + what, m->time.median);
  }
}

void native_launches(cost::Profile& p) {
  const auto time = [&](const std::string& name) {
    const auto found = p.times.find(name);
    if (found == p.times.end()) throw InputError({.file = "--native", .where = "$.times." + name, .found = "nothing", .expected = "a measured time", .hint = "measure the launch group on two GPUs: sgsim-calibrate run --only launch"});
    return found->second;
  };
  const auto kernel = time("host.kernel_enqueue"), library = time("host.library_enqueue"), collective = time("host.collective_enqueue"), graph = time("graph.enqueue_fixed");
  const cost::Sourced<Seconds> nothing{Seconds(), kernel.source};
  for (const char* mode : {"eager", "compiled", "cuda_graph"}) {
    const std::string prefix = std::string("launch.") + mode + ".";
    const bool in_graph = mode == std::string("cuda_graph");
    p.times[prefix + "host_per_kernel"] = in_graph ? nothing : kernel;
    p.times[prefix + "host_per_collective"] = in_graph ? nothing : collective;
    p.times[prefix + "host_per_graph"] = in_graph ? graph : nothing;
    for (const char* none : {"host_per_operator", "host_per_step", "host_backward_extra"}) p.times[prefix + none] = nothing;
  }
  p.times["launch.compiled.host_per_operator"] = {std::max(Seconds(), library.value - kernel.value), library.source};
}

void fit_sustained(cost::Profile& p, const Samples& samples, const std::string& source) {
  std::map<std::string, std::vector<double>> slower;
  constexpr double kLeastSeconds = 1e-4;  // shorter kernels do not reach the power limit alone
  for (const auto& [key, m] : samples.measured) {
    if (!key.is("set", "sustained") || m.time.median < kLeastSeconds) continue;
    Key rested = key;
    for (const char* set : {"grid", "cool"}) {  // in bursts; else with a rest before each
      rested.labels["set"] = set;
      const auto it = samples.measured.find(rested);
      if (it == samples.measured.end()) continue;
      slower[key.group].push_back(m.time.median / it->second.time.median);
      break;
    }
  }
  for (const auto& [group, ratios] : slower) p.factors["sustained." + group] = {std::max(1.0, median(ratios)), source};
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

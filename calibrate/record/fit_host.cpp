#include "calibrate/record/fit_host.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "calibrate/stats/least_squares.h"
#include "calibrate/stats/summary.h"
#include "sim/core/error.h"

namespace sgsim::calibrate {
namespace {

using nlohmann::json;

constexpr const char* kSource = "pytorch-host";

// A launch model knows no number of parameters: what a step costs a parameter tensor is counted for this many, a
// transformer of twelve layers with twelve tensors each and its embeddings.
constexpr double kParameterTensors = 150.0;
// Nodes of the CUDA graphs of a forward or a backward pass: some twenty kernels a layer of such a model.
constexpr double kGraphNodes = 256.0;

json read(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw EnvironmentError("cannot read " + file.string());
  try {
    json j = json::parse(in);
    if (j.at("format") != "sgsim-pytorch-host" || j.at("version") != 1) throw InputError({.file = file.string(), .where = "$.format", .found = j.at("format").dump(), .expected = "\"sgsim-pytorch-host\", version 1", .hint = "calibrate/pytorch_overhead.py writes it"});
    for (const char* section : {"eager_classes", "eager_stacks", "compiled_stacks", "optimizers", "loop", "cuda_graphs", "communication"}) {
      if (!j.at("sections").contains(section)) throw InputError({.file = file.string(), .where = "$.sections", .found = std::string("no ") + section, .expected = "this section", .hint = "see $.missing for the reason"});
    }
    return j;
  } catch (const json::exception& error) {
    throw InputError({.file = file.string(), .where = "", .found = error.what(), .expected = "what calibrate/pytorch_overhead.py writes", .hint = ""});
  }
}

/// Lines of host microseconds over counts; all coefficients stay positive (they are fitted as logarithms).
struct Line {
  std::vector<double> counts;
  double us = 0.0;
};
struct Fitted {
  std::vector<double> coefficients;
  double error = 0.0;  // median relative
};
Fitted fit_lines(const std::vector<Line>& lines, const std::vector<double>& start) {
  Vector x;
  for (const double s : start) x.push_back(std::log(s));
  const auto predict = [&](const Vector& parameters, const Line& line) {
    double us = 0.0;
    for (std::size_t j = 0; j < parameters.size(); ++j) us += line.counts[j] * std::exp(parameters[j]);
    return us;
  };
  const auto residuals = [&](const Vector& parameters, Vector& r) {
    for (std::size_t i = 0; i < lines.size(); ++i) r[i] = std::log(predict(parameters, lines[i]) / lines[i].us);
  };
  x = least_squares(residuals, lines.size(), x, {.scale = 0.3, .prior = 0.05});
  Fitted f;
  for (const double v : x) f.coefficients.push_back(std::exp(v));
  std::vector<double> errors;
  for (const Line& line : lines) errors.push_back(std::abs(predict(x, line) / line.us - 1.0));
  f.error = median(errors);
  return f;
}

double sum(const json& counts) { return counts.at(0).get<double>() + counts.at(1).get<double>(); }

/// Coefficients: forward pass, backward pass, an aten call, a kernel, a call more in the backward pass.
Fitted fit_eager(const std::vector<json>& hosts) {
  std::vector<Line> lines;
  for (const json& host : hosts) {
    for (const json& s : host.at("sections").at("eager_stacks").at("stacks")) {
      lines.push_back({{1, 0, s.at("forward_calls"), sum(s.at("forward_kernels")), 0}, s.at("forward_us")});
      lines.push_back({{0, 1, s.at("backward_calls"), sum(s.at("backward_kernels")), s.at("backward_calls")}, s.at("backward_us")});
    }
  }
  return fit_lines(lines, {50.0, 100.0, 10.0, 5.0, 2.0});
}

/// Coefficients: forward pass, backward pass, a launch, what a library call costs more, a parameter's gradient.
Fitted fit_compiled(const std::vector<json>& hosts) {
  std::vector<Line> lines;
  for (const json& host : hosts) {
    for (const json& s : host.at("sections").at("compiled_stacks").at("stacks")) {
      lines.push_back({{1, 0, sum(s.at("forward_kernels")), s.at("forward_kernels").at(1), 0}, s.at("forward_us")});
      lines.push_back({{0, 1, sum(s.at("backward_kernels")), s.at("backward_kernels").at(1), s.at("parameters")}, s.at("backward_us")});
    }
  }
  return fit_lines(lines, {200.0, 400.0, 15.0, 2.0, 10.0});
}

class Hosts {
 public:
  explicit Hosts(const std::vector<json>& hosts) : hosts_(hosts) {}
  /// Median over the hosts that have it, of `$.sections` at a JSON pointer; nothing when none has.
  [[nodiscard]] std::optional<double> find(const std::string& pointer) const {
    std::vector<double> values;
    for (const json& host : hosts_) {
      const json::json_pointer at("/sections/" + pointer);
      if (host.contains(at) && host.at(at).is_number()) values.push_back(host.at(at).get<double>());
    }
    if (values.empty()) return std::nullopt;
    return median(values);
  }
  [[nodiscard]] double us(const std::string& pointer) const {
    const auto value = find(pointer);
    if (!value) throw InputError({.file = "host costs", .where = "$.sections/" + pointer, .found = "nothing", .expected = "microseconds", .hint = ""});
    return *value;
  }

 private:
  const std::vector<json>& hosts_;
};

void add_source(cost::Profile& p, const std::vector<json>& hosts, const std::vector<std::filesystem::path>& files, const Fitted& eager, const Fitted& compiled) {
  std::string names, add;
  std::set<std::string> machines, software, dates;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    names += (i == 0 ? "" : ", ") + files[i].filename().string();
    add += fmt::format("{}{:.1f}", i == 0 ? "" : ", ", hosts[i].at("sections").at("eager_classes").at("add").at("recorded_us").get<double>());
    machines.insert(hosts[i].at("machine").get<std::string>());
    software.insert(hosts[i].at("software").get<std::string>());
    dates.insert(hosts[i].at("date").get<std::string>());
  }
  p.sources[kSource] = {.kind = cost::ProvenanceKind::measured, .source = "calibrate/pytorch_overhead.py: " + names, .machine = fmt::format("{}", fmt::join(machines, "; ")),
                        .date = *dates.rbegin(), .software = fmt::format("{}", fmt::join(software, "; ")),
                        .note = fmt::format("micro-graphs on {} host{}, pooled; one eager addition takes {} us on them. Median error of the lines {:.0f} % eager, {:.0f} % compiled. A step's costs a "
                                            "parameter tensor are counted for {:.0f} tensors, a graph's a node for {:.0f} nodes",
                                            hosts.size(), hosts.size() == 1 ? "" : "s", add, 100.0 * eager.error, 100.0 * compiled.error, kParameterTensors, kGraphNodes)};
}

}  // namespace

void fit_host(cost::Profile& p, const std::vector<std::filesystem::path>& files) {
  std::vector<json> hosts;
  for (const auto& file : files) hosts.push_back(read(file));
  if (hosts.empty()) return;
  const Fitted eager = fit_eager(hosts), compiled = fit_compiled(hosts);
  add_source(p, hosts, files, eager, compiled);
  const Hosts h(hosts);
  const auto set = [&](const std::string& name, double us) { p.times[name] = {Seconds(us * 1e-6), kSource}; };
  const double collective = (h.us("communication/calls/all_reduce_us") + h.us("communication/calls/all_gather_us") + h.us("communication/calls/reduce_scatter_us")) / 3.0 + h.us("communication/wait_us");
  // Every step: the batch's two copies, one wait, gradients dropped, and the optimizer's own loop over tensors (its launches are priced
  // as kernels).
  const double loop = 2.0 * h.us("loop/copy_to_device_us") + h.us("loop/synchronize_us") + h.us("optimizers/fused/zero_grad_fixed_us") +
                      kParameterTensors * (h.us("optimizers/fused/zero_grad_per_tensor_us") + h.us("optimizers/fused/per_tensor_us"));
  const auto& e = eager.coefficients;
  const auto& c = compiled.coefficients;
  set("launch.eager.host_per_operator", e[2]);
  set("launch.eager.host_per_kernel", e[3]);
  set("launch.eager.host_backward_extra", e[4]);
  set("launch.eager.host_per_step", e[0] + e[1] + loop);
  set("launch.compiled.host_per_operator", c[3]);
  set("launch.compiled.host_per_kernel", c[2]);
  set("launch.compiled.host_backward_extra", 0.0);
  set("launch.compiled.host_per_step", c[0] + c[1] + kParameterTensors * c[4] + loop);
  for (const char* mode : {"eager", "compiled"}) {
    set(std::string("launch.") + mode + ".host_per_collective", collective);
    set(std::string("launch.") + mode + ".host_per_graph", 0.0);
  }
  const double replay = h.us("cuda_graphs/replay_fixed_us") + kGraphNodes * h.us("cuda_graphs/replay_per_node_us");
  set("launch.cuda_graph.host_per_graph", replay);
  for (const char* name : {"host_per_operator", "host_per_kernel", "host_per_collective", "host_backward_extra"}) set(std::string("launch.cuda_graph.") + name, 0.0);
  // A step of torch.compile's own CUDA graphs, less the two replays in it.
  const auto fixed = h.find("reduce_overhead/fixed_us"), per_parameter = h.find("reduce_overhead/per_parameter_us");
  if (fixed && per_parameter) set("launch.cuda_graph.host_per_step", std::max(0.0, *fixed - 2.0 * h.us("cuda_graphs/replay_fixed_us")) + kParameterTensors * *per_parameter + loop);
  for (const auto& [name, cost] : hosts.front().at("sections").at("eager_classes").items()) set("host.pytorch.operator." + name, h.us("eager_classes/" + name + "/recorded_us"));
  for (const char* kind : {"fused", "foreach"}) {
    set(std::string("host.pytorch.optimizer.") + kind + "_fixed", h.us(std::string("optimizers/") + kind + "/fixed_us"));
    set(std::string("host.pytorch.optimizer.") + kind + "_per_tensor", h.us(std::string("optimizers/") + kind + "/per_tensor_us"));
  }
  for (const char* wrapper : {"ddp", "fsdp2"}) set(std::string("host.pytorch.") + wrapper + "_per_layer", h.us(std::string("communication/") + wrapper + "/per_layer_us"));
}

}  // namespace sgsim::calibrate

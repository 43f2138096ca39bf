#include "calibrate/record/fit.h"

#include "calibrate/record/fit_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calibrate/record/key_work.h"
#include "sim/core/error.h"
#include "sim/cost/make/datasheets.h"

namespace sgsim::calibrate {
namespace {

constexpr const char* kMeasured = "calibrate";

std::string short_name(const std::string& gpu) {
  std::string name;
  for (const char c : gpu) name += c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name.starts_with("nvidia-") ? name.substr(7) : name;
}

/// The shipped datasheet that a GPU's name means.
std::string datasheet_name(const std::string& gpu, std::int64_t memory) {
  if (gpu.find("H200") != std::string::npos) return "h200";
  if (gpu.find("H100") != std::string::npos) return "h100";
  if (gpu.find("A100") != std::string::npos) return memory > (60ll << 30) ? "a100-80gb" : "a100-40gb";
  throw InputError({.file = "samples", .where = "$.machine.gpus", .found = "'" + gpu + "'", .expected = "a GPU whose datasheet this project has (A100, H100, H200)",
                    .hint = "give --base a profile with this GPU's datasheet"});
}

cost::Profile start(const Machine& machine, const FitOptions& options) {
  if (options.base) return *options.base;
  const GpuInfo& gpu = machine.gpus.front();
  const std::string sheet = datasheet_name(gpu.name, gpu.memory_bytes);
  cost::Profile p;
  p.name = sheet;
  p.gpu = cost::make::datasheet(sheet);
  cost::make::add_sources(p);
  const bool hopper = sheet.front() == 'h';
  cost::make::add_constants(p, hopper);
  p.matmul_models = {cost::make::product_model(hopper)};
  p.sources["assumed"] = {.kind = cost::ProvenanceKind::assumed, .source = "where attention was not measured", .machine = "", .date = "", .software = "", .note = "a half, as on an H200"};
  p.factors["attention.helper_memory_efficiency"] = {0.5, "assumed"};
  return p;
}

std::string join(const std::map<std::string, std::string>& values) {
  std::string text;
  for (const auto& [name, value] : values) text += (text.empty() ? "" : ", ") + name + " " + value;
  return text;
}

/// The machine with the most GPUs, described last: the topology is known only after a communicator was made.
const Machine& main_machine(const Samples& samples) {
  const Machine* best = nullptr;
  for (const Machine& m : samples.machines) {
    if (!m.gpus.empty() && (best == nullptr || m.gpus.size() >= best->gpus.size())) best = &m;
  }
  if (best == nullptr) throw InputError({.file = "samples", .where = "", .found = "no machine", .expected = "at least one line of type machine", .hint = "samples come from sgsim-calibrate run"});
  return *best;
}

void describe(cost::Profile& p, const Samples& samples, const Machine& machine, const FitOptions& options) {
  const GpuInfo& gpu = machine.gpus.front();
  std::string commands;
  std::set<std::string> seen;
  for (const std::string& command : samples.commands) {
    if (seen.insert(command).second) commands += (commands.empty() ? "" : "; ") + command;
  }
  p.sources[kMeasured] = {.kind = cost::ProvenanceKind::measured, .source = options.samples_file + " (" + commands + ")",
                          .machine = fmt::format("{} x {}, {}", machine.gpus.size(), gpu.name, machine.host_cpu), .date = machine.date,
                          .software = "driver " + machine.driver + ", " + join(machine.libraries),
                          .note = "medians over repetitions, by CUPTI activity records; launch and graph costs by the host's clock and events"};
  p.environment["driver"] = machine.driver;
  for (const auto& [name, version] : machine.libraries) p.environment[name] = version;
  p.environment["gpu"] = gpu.name;
  p.environment["gpus"] = std::to_string(machine.gpus.size());
  p.environment["power_limit_w"] = fmt::format("{:.0f}", gpu.power_limit_w);
  p.environment["max_sm_clock_mhz"] = std::to_string(gpu.max_sm_clock_mhz);
  p.environment["max_memory_clock_mhz"] = std::to_string(gpu.max_memory_clock_mhz);
  p.environment["nvlinks"] = std::to_string(gpu.nvlinks);
  p.environment["pcie"] = fmt::format("generation {}, x{}", gpu.pcie_generation, gpu.pcie_width);
  p.environment["host_cpu"] = machine.host_cpu;
  std::vector<double> clocks;
  for (const auto& [key, m] : samples.measured) {
    if (m.sm_clock_mhz > 0) clocks.push_back(m.sm_clock_mhz);
  }
  if (!clocks.empty()) {
    p.environment["sm_clock_mhz_seen"] = fmt::format("median {:.0f}, 5 % under {:.0f}, 5 % over {:.0f}", median(clocks), quantile(clocks, 0.05), quantile(clocks, 0.95));
  }
  if (!machine.topology_xml.empty()) p.environment["nccl_topology"] = machine.topology_xml;
  std::string findings;
  for (const std::string& finding : samples.findings) findings += (findings.empty() ? "" : "; ") + finding;
  if (!findings.empty()) p.environment["findings"] = findings;
}

/// Sources that nothing names any more.
void drop_unused_sources(cost::Profile& p) {
  std::set<std::string> used = {p.gpu.sms.source, p.gpu.clock_hz.source, p.gpu.memory.source, p.gpu.hbm_bandwidth.source, p.gpu.l2.source, p.gpu.vector_peak.source};
  const auto add = [&used](const auto& tables) {
    for (const auto& t : tables) used.insert(t.source);
  };
  const auto add_values = [&used](const auto& values) {
    for (const auto& [key, v] : values) used.insert(v.source);
  };
  add(p.matmul_models), add(p.matmul_tables), add(p.attention_models), add(p.attention_tables), add(p.convolutions), add(p.bandwidth_curves), add(p.protocols), add(p.sweeps);
  add_values(p.gpu.peak), add_values(p.factors), add_values(p.times), add_values(p.rates);
  std::erase_if(p.sources, [&used](const auto& s) { return !used.contains(s.first); });
}

}  // namespace

double bytes_moved(const Measurement& measurement) {
  const auto it = measurement.notes.find("bytes_moved");
  return it == measurement.notes.end() ? static_cast<double>(measurement.key.size("bytes")) : std::stod(it->second);
}

cost::Profile fit_profile(const Samples& samples, const FitOptions& options) {
  const Machine& machine = main_machine(samples);
  cost::Profile p = start(machine, options);
  p.name = !options.name.empty() ? options.name : short_name(machine.gpus.front().name) + "-measured";
  describe(p, samples, machine, options);
  fit_products(p, samples, kMeasured);
  fit_attentions(p, samples, kMeasured);
  fit_bandwidth_curves(p, samples, kMeasured);
  fit_convolutions(p, samples, kMeasured);
  fit_collectives(p, samples, kMeasured);
  fit_host_copies(p, samples, kMeasured);
  fit_launches(p, samples, kMeasured);
  fit_sustained(p, samples, kMeasured);
  fit_interference(p, samples, kMeasured);
  fit_host(p, options.host_files);
  if (options.native) native_launches(p);
  drop_unused_sources(p);
  return cost::profile_from_text(cost::to_text(p), p.name);  // rounded and checked as the file will be
}

}  // namespace sgsim::calibrate

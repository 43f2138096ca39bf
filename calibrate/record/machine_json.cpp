#include "calibrate/record/machine_json.h"

namespace sgsim::calibrate {

using nlohmann::json;

json write_machine(const Machine& m) {
  json gpus = json::array();
  for (const GpuInfo& g : m.gpus) {
    gpus.push_back({{"name", g.name}, {"compute_capability", g.compute_capability}, {"sms", g.sms}, {"memory_bytes", g.memory_bytes},
                    {"l2_bytes", g.l2_bytes}, {"max_sm_clock_mhz", g.max_sm_clock_mhz}, {"max_memory_clock_mhz", g.max_memory_clock_mhz},
                    {"power_limit_w", g.power_limit_w}, {"nvlinks", g.nvlinks}, {"nvlink_version", g.nvlink_version},
                    {"pcie_generation", g.pcie_generation}, {"pcie_width", g.pcie_width}, {"mig", g.mig}});
  }
  return {{"host_cpu", m.host_cpu}, {"host_cores", m.host_cores}, {"driver", m.driver}, {"libraries", m.libraries},
          {"gpus", gpus}, {"topology_xml", m.topology_xml}, {"date", m.date}};
}

Machine read_machine(const json& j) {
  Machine m{.host_cpu = j.at("host_cpu"), .host_cores = j.at("host_cores"), .driver = j.at("driver"), .libraries = j.at("libraries"),
            .gpus = {}, .topology_xml = j.at("topology_xml"), .date = j.at("date")};
  for (const json& g : j.at("gpus")) {
    m.gpus.push_back({.name = g.at("name"), .compute_capability = g.at("compute_capability"), .sms = g.at("sms"),
                      .memory_bytes = g.at("memory_bytes"), .l2_bytes = g.at("l2_bytes"), .max_sm_clock_mhz = g.at("max_sm_clock_mhz"),
                      .max_memory_clock_mhz = g.at("max_memory_clock_mhz"), .power_limit_w = g.at("power_limit_w"),
                      .nvlinks = g.at("nvlinks"), .nvlink_version = g.at("nvlink_version"), .pcie_generation = g.at("pcie_generation"),
                      .pcie_width = g.at("pcie_width"), .mig = g.at("mig")});
  }
  return m;
}

}  // namespace sgsim::calibrate

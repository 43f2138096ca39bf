#include "sim/import/nccl_topo/gpu_names.h"

#include <array>

namespace sgsim::import::nccl_topo {
namespace {

struct Device {
  std::string_view id, builtin;
};
constexpr std::array<Device, 8> kDevices{{
    {"0x20b0", "dgx-a100-40gb"},
    {"0x20b2", "dgx-a100-80gb"},
    {"0x20b3", "dgx-a100-80gb"},
    {"0x20b5", "pcie-a100-80gb"},
    {"0x2330", "dgx-h100"},
    {"0x2335", "hgx-h200"},
    {"0x233b", "hgx-h200"},
    {"0x2324", "dgx-h100"},
}};

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

std::string_view builtin_of_device(std::string_view device) {
  for (const Device& d : kDevices) {
    if (d.id == device) return d.builtin;
  }
  return {};
}

std::string_view builtin_of_name(std::string_view name) {
  if (has(name, "H200")) return "hgx-h200";
  if (has(name, "H100") && !has(name, "PCIe") && !has(name, "NVL")) return "dgx-h100";
  if (has(name, "A100") && has(name, "PCI")) return has(name, "80GB") ? "pcie-a100-80gb" : "";
  if (has(name, "A100")) return has(name, "80GB") ? "dgx-a100-80gb" : has(name, "40GB") ? "dgx-a100-40gb" : "";
  return {};
}

BytesPerSecond nvlink_bandwidth(int sm) {
  if (sm >= 100) return BytesPerSecond(50e9);
  if (sm >= 70) return BytesPerSecond(25e9);
  if (sm >= 60) return BytesPerSecond(20e9);
  return {};
}

}  // namespace sgsim::import::nccl_topo

#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sim/cluster/builders.h"
#include "sim/core/error.h"
#include "sim/import/nccl_topo/gpu_names.h"
#include "sim/import/nccl_topo/nccl_topo.h"
#include "sim/import/nccl_topo/xml.h"

namespace sgsim::import::nccl_topo {
namespace {

using xml::Element;

constexpr std::string_view kNvswitchClass = "0x0680";  // a bridge: what NVLinks to an NVSwitch end at

/// What the file says of one GPU.
struct GpuFact {
  std::string bus, vendor, device, gcn;
  int sm = 0;
  BytesPerSecond pcie;                // narrowest link on the way to its CPU
  std::map<std::string, int> links;   // target bus -> links
  int switch_links = 0, self_links = 0;
};
struct NicFact {
  std::string name;
  BytesPerSecond speed;               // zero: not in the file
};

double number(std::string_view text, double otherwise) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end != text.data() ? value : otherwise;
}

/// More links, lanes or SMs' numbers than any machine has.
constexpr double kMost = 10'000.0;

/// 0 where absent, or where it is no such number, which is counted.
int integer(const Element& element, std::string_view key, Diagnostics& report) {
  const std::string& text = element.attribute(key);
  const double value = number(text, -1.0);
  if (value >= 0.0 && value <= kMost && value == std::floor(value)) return static_cast<int>(value);
  if (!text.empty()) report.add("import.nccl_topo.impossible_number", Severity::error, fmt::format("{}=\"{}\" of <{}> in line {}, taken as not told", key, text.substr(0, 40), element.name, element.line));
  return 0;
}

/// PCIe: GT/s x lanes after 128b/130b (8 GT/s and faster) or 8b/10b encoding, a direction. Zero when not told.
BytesPerSecond pcie_bandwidth(const Element& pci, Diagnostics& report) {
  const double rate = number(pci.attribute("link_speed"), 0.0) * 1e9;
  const int lanes = integer(pci, "link_width", report);
  const double encoding = rate >= 8e9 ? 128.0 / 130.0 : 0.8;
  return BytesPerSecond(rate * lanes * encoding / 8.0);
}

bool is_gpu_class(std::string_view pci_class) { return pci_class.starts_with("0x0302") || pci_class.starts_with("0x0300") || pci_class.starts_with("0x0380"); }
bool is_nic_class(std::string_view pci_class) { return pci_class.starts_with("0x0200") || pci_class.starts_with("0x0207"); }

class Reader {
 public:
  Reader(const Element& system, ImportedTopology& result) : result_(result) { visit(system, nullptr, {}); }

  void build(const std::string& file) {
    if (gpus_.empty()) {
      throw InputError({.file = file, .where = "", .found = "a <system> without <gpu> elements or PCI devices of class 0x0302 or 0x0380",
                        .expected = "at least one GPU", .hint = "dump the topology with NCCL_TOPO_DUMP_FILE on the machine itself"});
    }
    cluster::Cluster& cluster = result_.cluster;
    cluster.nodes = 1;
    cluster.fabric.kind = cluster::FabricKind::none;
    cluster.node.gpus = static_cast<int>(gpus_.size());
    read("gpu", fmt::format("{} GPUs, the first at {}", gpus_.size(), gpus_.front().bus), gpus_.size());
    set_gpu();
    set_links();
    set_pcie();
    set_nics();
  }

 private:
  void read(std::string_view what, std::string_view example, std::size_t count = 1) { result_.report.add(fmt::format("import.nccl_topo.{}", what), Severity::info, example, count); }
  void guessed(std::string_view what, std::string_view example) { result_.report.add(fmt::format("import.nccl_topo.{}", what), Severity::warning, example); }

  /// `narrowest`: of the PCI links above; zero at the CPU.
  void visit(const Element& element, const Element* pci, BytesPerSecond narrowest) {
    for (const Element& child : element.children) {
      if (child.name == "pci") {
        visit_pci(child, narrowest);
      } else if (child.name == "gpu") {
        add_gpu(child, pci, narrowest);
      } else if (child.name == "net") {
        nics_.push_back({.name = child.attribute("name"), .speed = BytesPerSecond(integer_speed(child) * 1e6 / 8.0)});
      } else if (child.name == "cpu" || child.name == "nic") {
        visit(child, pci, narrowest);
      } else {
        result_.report.add("import.nccl_topo.unknown_element", Severity::error, fmt::format("<{}> in line {}", child.name, child.line));
      }
    }
  }

  static double integer_speed(const Element& net) { return std::max(0.0, number(net.attribute("speed"), 0.0)); }

  void visit_pci(const Element& pci, BytesPerSecond narrowest) {
    const BytesPerSecond own = pcie_bandwidth(pci, result_.report);
    const BytesPerSecond below = narrowest.value() <= 0.0 ? own : own.value() <= 0.0 ? narrowest : std::min(own, narrowest);
    const std::string& pci_class = pci.attribute("class");
    if (pci.children.empty() && is_gpu_class(pci_class)) {
      add_gpu(pci, &pci, below);
    } else if (pci.children.empty() && is_nic_class(pci_class)) {
      nics_.push_back({.name = pci.attribute("busid"), .speed = {}});
    } else if (pci.children.empty() && pci_class.starts_with(kNvswitchClass)) {
      read("nvswitch", pci.attribute("busid"));
    } else {
      if (pci_class.starts_with("0x0604")) read("pci_switch", pci.attribute("busid"));
      visit(pci, &pci, below);
    }
  }

  void add_gpu(const Element& gpu, const Element* pci, BytesPerSecond pcie) {
    GpuFact fact;
    if (pci != nullptr) {
      fact.bus = pci->attribute("busid");
      fact.vendor = pci->attribute("vendor");
      fact.device = pci->attribute("device");
    }
    fact.sm = integer(gpu, "sm", result_.report);
    fact.gcn = gpu.attribute("gcn");
    fact.pcie = pcie;
    for (const Element& link : gpu.children) {
      if (link.name != "nvlink" && link.name != "xgmi" && link.name != "c2c") continue;
      const int count = std::max(1, integer(link, "count", result_.report));  // one where the file does not tell
      read(link.name, fmt::format("{} -> {}", fact.bus, link.attribute("target")), static_cast<std::size_t>(count));
      if (link.attribute("target") == fact.bus) {
        fact.self_links += count;
      } else if (link.attribute("tclass").starts_with(kNvswitchClass)) {
        fact.switch_links += count;
      } else {
        fact.links[link.attribute("target")] += count;
      }
    }
    gpus_.push_back(std::move(fact));
  }

  void set_gpu() {
    const GpuFact& first = gpus_.front();
    for (const GpuFact& gpu : gpus_) {
      if (gpu.device != first.device || gpu.sm != first.sm || gpu.gcn != first.gcn) guessed("mixed_gpus", fmt::format("{} differs from {}; the first is taken for all", gpu.bus, first.bus));
    }
    cluster::Gpu& gpu = result_.cluster.node.gpu;
    const std::string_view builtin = first.vendor == "0x10de" ? builtin_of_device(first.device) : std::string_view();
    if (!builtin.empty()) {
      gpu = cluster::builtin_cluster(builtin, 1)->node.gpu;
      result_.report.add("import.nccl_topo.gpu_memory", Severity::warning, fmt::format("memory of {} from its datasheet: a topology has none", gpu.name));
      return;
    }
    gpu.name = !first.gcn.empty() ? "AMD gfx" + first.gcn : first.device.empty() || first.device == "0x0000" ? "unknown" : first.vendor + ":" + first.device;
    guessed("gpu_unknown", fmt::format("{}: no profile and no memory size; set node.gpu before simulating", gpu.name));
  }

  /// NVLinks (or xGMI): to switches, to one peer, or to several.
  void set_links() {
    const bool amd = !gpus_.front().gcn.empty();
    int most = 0, least = 1 << 20;
    std::size_t peers = 0;
    bool switches = false;
    for (const GpuFact& gpu : gpus_) {
      int links = gpu.switch_links;
      for (const auto& [target, count] : gpu.links) links += count;
      most = std::max(most, links);
      least = std::min(least, links);
      peers = std::max(peers, gpu.links.size());
      switches = switches || gpu.switch_links > 0;
      if (gpu.self_links > 0) result_.report.add("import.nccl_topo.nvlink_to_itself", Severity::error, fmt::format("{} NVLinks of {} end at itself (a virtual machine hides the peer)", gpu.self_links, gpu.bus));
    }
    cluster::Node& node = result_.cluster.node;
    node.intra = most == 0 ? cluster::IntraNode::pcie : switches ? cluster::IntraNode::nvswitch : peers == 1 ? cluster::IntraNode::nvlink_pairs : cluster::IntraNode::nvlink_mesh;
    if (most == 0) {
      guessed("nvlink_absent", "the file lists no links between GPUs; where the machine has NVLink, NCCL finds it at run time: set node.intra and node.nvlink");
      return;
    }
    if (least != most) guessed("uneven_links", fmt::format("{} to {} links a GPU; the largest number is taken", least, most));
    node.nvlink = {.bandwidth = static_cast<double>(most) * (amd ? xgmi_bandwidth(gpus_.front().gcn) : nvlink_bandwidth(gpus_.front().sm)), .latency = Seconds(0.5e-6)};
    guessed("link_bandwidth", fmt::format("{} links a GPU at {} GB/s a direction each (datasheet), hop 0.5 us: a topology has neither", most, node.nvlink.bandwidth.value() / 1e9 / most));
  }

  /// xGMI a link and direction, as AMD's datasheets have it: Infinity Fabric 23 GT/s x16 on MI50 to MI100 46 GB/s, 25 GT/s
  /// on MI200 50 GB/s.
  static BytesPerSecond xgmi_bandwidth(std::string_view gcn) { return BytesPerSecond(gcn == "906" || gcn == "908" ? 46e9 : 50e9); }

  void set_pcie() {
    cluster::LinkSpec& pcie = result_.cluster.node.pcie;
    for (const GpuFact& gpu : gpus_) {
      if (gpu.pcie.value() > 0.0 && (pcie.bandwidth.value() <= 0.0 || gpu.pcie < pcie.bandwidth)) pcie.bandwidth = gpu.pcie;
    }
    pcie.latency = Seconds(1e-6);
    if (pcie.bandwidth.value() <= 0.0) {
      pcie.bandwidth = BytesPerSecond(31.5e9);
      guessed("pcie_speed", "no link speed in the file: PCIe 4.0 x16, 31.5 GB/s");
    }
  }

  void set_nics() {
    cluster::Node& node = result_.cluster.node;
    node.nics = static_cast<int>(nics_.size());
    if (nics_.empty()) {
      guessed("nic_absent", "the file lists no network interface");
      return;
    }
    read("nic", fmt::format("{} network ports, the first {}", nics_.size(), nics_.front().name), nics_.size());
    BytesPerSecond least = nics_.front().speed, most = nics_.front().speed;
    for (const NicFact& nic : nics_) {
      least = std::min(least, nic.speed);
      most = std::max(most, nic.speed);
    }
    if (least != most) {
      // A slow port beside fast ones is for management: NCCL does not use it with the others.
      std::size_t fast = 0;
      for (const NicFact& nic : nics_) fast += nic.speed == most ? 1U : 0U;
      result_.report.add("import.nccl_topo.slow_nic", Severity::error, fmt::format("{} of {} ports are slower than {} Gbit/s and left out", nics_.size() - fast, nics_.size(), most.value() * 8e-9), nics_.size() - fast);
      node.nics = static_cast<int>(fast);
    }
    node.nic = {.bandwidth = most, .latency = Seconds(0.6e-6)};
    if (most.value() <= 0.0) guessed("nic_speed", "the file has no speed of its network ports; set node.nic");
  }

  ImportedTopology& result_;
  std::vector<GpuFact> gpus_;
  std::vector<NicFact> nics_;
};

}  // namespace

ImportedTopology read_system(std::string_view text, const std::string& file) {
  const Element system = xml::parse(text, file);
  ImportedTopology result;
  result.format = "nccl_topo";
  const std::size_t slash = file.find_last_of('/');
  result.cluster.name = result.cluster.node.name = slash == std::string::npos ? file : file.substr(slash + 1);
  Reader(system, result).build(file);
  return result;
}

}  // namespace sgsim::import::nccl_topo

#include "calibrate/device/cuda/nvml_source.h"

#include <dlfcn.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <thread>

#include "calibrate/device/cuda/cuda.h"
#include "sim/core/error.h"

namespace sgsim::calibrate {
namespace {

// NVML's C interface as far as it is used (NVML API reference); the library's ABI is stable, its header is not everywhere.
using Device = void*;
struct Nvml {
  int (*init)() = nullptr;
  int (*by_bus)(const char*, Device*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  int (*clock)(Device, unsigned, unsigned*) = nullptr;
  int (*max_clock)(Device, unsigned, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*power_limit)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, unsigned, unsigned*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  int (*link_state)(Device, unsigned, unsigned*) = nullptr;
  int (*link_version)(Device, unsigned, unsigned*) = nullptr;
  int (*pcie_generation)(Device, unsigned*) = nullptr;
  int (*pcie_width)(Device, unsigned*) = nullptr;
  int (*mig)(Device, unsigned*, unsigned*) = nullptr;
};
constexpr unsigned kSmClock = 1, kMemoryClock = 2;  // nvmlClockType_t
constexpr unsigned kMostLinks = 18;                 // NVML_NVLINK_MAX_LINKS of Hopper and later

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

std::optional<Nvml> load_nvml() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) return std::nullopt;
  Nvml n;
  find(library, "nvmlInit_v2", n.init);
  find(library, "nvmlDeviceGetHandleByPciBusId_v2", n.by_bus);
  find(library, "nvmlSystemGetDriverVersion", n.driver);
  find(library, "nvmlDeviceGetClockInfo", n.clock);
  find(library, "nvmlDeviceGetMaxClockInfo", n.max_clock);
  find(library, "nvmlDeviceGetPowerUsage", n.power);
  find(library, "nvmlDeviceGetEnforcedPowerLimit", n.power_limit);
  find(library, "nvmlDeviceGetTemperature", n.temperature);
  find(library, "nvmlDeviceGetCurrentClocksEventReasons", n.reasons);
  if (n.reasons == nullptr) find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", n.reasons);
  find(library, "nvmlDeviceGetNvLinkState", n.link_state);
  find(library, "nvmlDeviceGetNvLinkVersion", n.link_version);
  find(library, "nvmlDeviceGetMaxPcieLinkGeneration", n.pcie_generation);
  find(library, "nvmlDeviceGetMaxPcieLinkWidth", n.pcie_width);
  find(library, "nvmlDeviceGetMigMode", n.mig);
  if (n.init == nullptr || n.by_bus == nullptr || n.init() != 0) return std::nullopt;
  return n;
}

/// What `function` says, or 0 when the library has no such function or it fails.
template <class Function, class... Args>
unsigned ask(Function function, Device device, Args... args) {
  unsigned value = 0;
  return function != nullptr && function(device, args..., &value) == 0 ? value : 0;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

std::string cuda_version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }

class NvmlSource final : public MachineSource {
 public:
  NvmlSource() : nvml_(load_nvml()) {
    int count = 0;
    check_cuda(cudaGetDeviceCount(&count), "count the GPUs");
    for (int i = 0; i < count; ++i) {
      char bus[32] = {};
      check_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, i), "tell a GPU's bus id");
      Device device = nullptr;
      if (nvml_) (void)nvml_->by_bus(bus, &device);
      devices_.push_back(device);
    }
  }

  Machine describe() override {
    Machine m{.host_cpu = cpu_name(), .host_cores = static_cast<int>(std::thread::hardware_concurrency()), .driver = "unknown", .libraries = {},
              .gpus = {}, .topology_xml = {}, .date = today()};
    char driver[96] = {};
    if (nvml_ && nvml_->driver != nullptr && nvml_->driver(driver, sizeof driver) == 0) m.driver = driver;
    int runtime = 0, driver_cuda = 0;
    check_cuda(cudaRuntimeGetVersion(&runtime), "tell the runtime's version");
    check_cuda(cudaDriverGetVersion(&driver_cuda), "tell the driver's CUDA version");
    m.libraries = {{"cuda_runtime", cuda_version(runtime)}, {"cuda_driver", cuda_version(driver_cuda)}};
    for (int i = 0; i < static_cast<int>(devices_.size()); ++i) m.gpus.push_back(gpu(i));
    return m;
  }

  std::optional<GpuState> state(int index) override {
    const Device device = index < static_cast<int>(devices_.size()) ? devices_[static_cast<std::size_t>(index)] : nullptr;
    if (!nvml_ || device == nullptr) return std::nullopt;
    GpuState s;
    s.sm_clock_mhz = static_cast<int>(ask(nvml_->clock, device, kSmClock));
    s.memory_clock_mhz = static_cast<int>(ask(nvml_->clock, device, kMemoryClock));
    s.temperature_c = static_cast<int>(ask(nvml_->temperature, device, 0u));
    s.power_w = ask(nvml_->power, device) * 1e-3;
    unsigned long long reasons = 0;
    if (nvml_->reasons != nullptr && nvml_->reasons(device, &reasons) == 0) s.throttle_reasons = reasons;
    return s;
  }

 private:
  GpuInfo gpu(int index) {
    cudaDeviceProp p{};
    check_cuda(cudaGetDeviceProperties(&p, index), "describe a GPU");
    GpuInfo g{.name = p.name, .compute_capability = std::to_string(p.major) + "." + std::to_string(p.minor), .sms = p.multiProcessorCount,
              .memory_bytes = static_cast<std::int64_t>(p.totalGlobalMem), .l2_bytes = p.l2CacheSize};
    const Device device = devices_[static_cast<std::size_t>(index)];
    if (!nvml_ || device == nullptr) return g;
    g.max_sm_clock_mhz = static_cast<int>(ask(nvml_->max_clock, device, kSmClock));
    g.max_memory_clock_mhz = static_cast<int>(ask(nvml_->max_clock, device, kMemoryClock));
    g.power_limit_w = ask(nvml_->power_limit, device) * 1e-3;
    for (unsigned link = 0; link < kMostLinks; ++link) {
      if (ask(nvml_->link_state, device, link) == 0) continue;
      ++g.nvlinks;
      g.nvlink_version = static_cast<int>(ask(nvml_->link_version, device, link));
    }
    g.pcie_generation = static_cast<int>(ask(nvml_->pcie_generation, device));
    g.pcie_width = static_cast<int>(ask(nvml_->pcie_width, device));
    unsigned mig = 0, pending = 0;
    g.mig = nvml_->mig != nullptr && nvml_->mig(device, &mig, &pending) == 0 && mig != 0;
    return g;
  }

  std::optional<Nvml> nvml_;
  std::vector<Device> devices_;
};

}  // namespace

std::unique_ptr<MachineSource> make_machine_source() { return std::make_unique<NvmlSource>(); }

}  // namespace sgsim::calibrate

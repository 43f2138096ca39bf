#include <cuda_runtime.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "calibrate/bench/cases/cases.h"
#include "calibrate/bench/runner.h"
#include "calibrate/bench/sweeps.h"
#include "calibrate/cli/commands.h"
#include "calibrate/device/cuda/cupti_source.h"
#include "calibrate/device/cuda/nccl_group.h"
#include "calibrate/device/cuda/nvml_source.h"
#include "calibrate/record/samples_file.h"
#include "sim/core/error.h"

namespace sgsim::calibrate {
namespace {

double clock_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Half of the free memory, 12 GiB at most: what the largest points need.
std::size_t pool_bytes() {
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "tell how much memory is free");
  return std::min<std::size_t>(std::size_t{12} << 30, free / 2);
}

void print_machine(const Machine& machine) {
  for (const GpuInfo& g : machine.gpus) {
    fmt::print("GPU: {}, compute capability {}, {} SMs, {:.1f} GiB, SM clock up to {} MHz, power limit {:.0f} W, {} NVLinks{}\n", g.name, g.compute_capability, g.sms,
               static_cast<double>(g.memory_bytes) / (1u << 30), g.max_sm_clock_mhz, g.power_limit_w, g.nvlinks, g.mig ? ", MIG on" : "");
  }
  fmt::print("driver {}", machine.driver);
  for (const auto& [name, version] : machine.libraries) fmt::print(", {} {}", name, version);
  fmt::print("\n");
}

/// A warm GPU has steady clocks: a second of work before the first point.
void warm_up(Context& context) {
  const Task task = prepare_matmul(context, {.group = "matmul", .labels = {{"dtype", "bfloat16"}, {"layout", "nt"}},
                                             .sizes = {{"batch", 1}, {"m", 4096}, {"n", 4096}, {"k", 4096}}});
  const double begin = clock_seconds();
  while (clock_seconds() - begin < 1.0) {
    for (int i = 0; i < 100; ++i) std::get<DeviceTimed>(task.timing).enqueue(i);
    task.synchronize();
  }
}

class Printer {
 public:
  explicit Printer(bool verbose) : verbose_(verbose) {}
  void operator()(const Progress& p) {
    const bool notable = p.last.find(": FAILED: ") != std::string::npos;
    const double now = clock_seconds();
    if (!verbose_ && !notable && p.done < p.total && now - last_ < 2.0) return;
    last_ = now;
    fmt::print("[{:>5}/{}] {:>4.0f} s, {:>4.0f} s left: {}\n", p.done, p.total, p.used_s, p.left_s, p.last);
    std::fflush(stdout);
  }

 private:
  bool verbose_;
  double last_ = 0.0;
};

}  // namespace

int run_command(const RunFlags& flags) {
  // Compilation by the driver is measured: no cache may answer for it. Both must be set before CUDA and NCCL start.
  (void)setenv("CUDA_CACHE_DISABLE", "1", 1);
  const NcclFiles nccl_files;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) throw EnvironmentError("no GPU that CUDA can use; `list`, `fit` and `compare` need none");
  if (flags.selection.gpus > devices) {
    throw InputError({.file = "--gpus", .where = "", .found = std::to_string(flags.selection.gpus), .expected = fmt::format("at most {}: the GPUs that CUDA sees here", devices), .hint = ""});
  }
  const int gpus = flags.selection.gpus > 0 ? flags.selection.gpus : devices;
  const std::vector<Key> points = flags.selection.smoke ? smoke_points(gpus) : select_points(flags.selection.groups, flags.selection.held_out, gpus);

  const std::string samples_file = samples_path(flags.out);
  const Samples known = load_samples(samples_file);
  std::vector<Key> to_come;
  for (const Key& key : points) {
    if (!known.measured.contains(key)) to_come.push_back(key);
  }
  const std::unique_ptr<ActivitySource> activities = make_cupti_source();
  const std::unique_ptr<MachineSource> machine_source = make_machine_source();
  Context context(pool_bytes());
  ClockProbe probe;
  const std::map<std::string, Prepare> cases = all_cases(context, to_come, gpus, *activities, probe);
  Machine machine = machine_source->describe();
  machine.libraries.merge(library_versions(context));
  print_machine(machine);
  SamplesWriter writer(samples_file);
  writer.write(machine, flags.command);
  fmt::print("{} points, {} of them measured before; samples go to {}\n", points.size(), points.size() - to_come.size(), samples_file);
  warm_up(context);
  Printer printer(flags.verbose);
  const RunReport report = run_points(points, cases, known, {.most_minutes = flags.minutes},
                                      {.activities = *activities, .machine = *machine_source, .writer = writer, .clock = clock_seconds, .report = std::ref(printer), .probe = probe});
  if (machine.topology_xml = nccl_topology_xml(); !machine.topology_xml.empty()) writer.write(machine, flags.command);
  fmt::print("measured {}, waived {}, failed {}, kept {}, left {}\n", report.measured, report.waived, report.failed, report.kept, report.left);
  fmt::print("activity records: {} dropped, {} without a mark, {} incomplete repetitions{}\n", report.losses.dropped, report.losses.unmarked, report.losses.incomplete_runs,
             report.losses.by_order ? ", some told apart by order" : "");
  for (const std::string& finding : report.findings) fmt::print("note: {}\n", finding);
  if (report.left > 0) fmt::print("time is up: run again to go on\n");
  if (flags.selection.held_out || flags.selection.smoke) return 0;
  return fit_command({.samples = {samples_file}, .out = flags.out, .base = flags.base, .name = flags.name, .hosts = flags.hosts});
}

}  // namespace sgsim::calibrate

// Prints how the engines' time and memory grow with the number of GPUs, as a table: each cell in a process of its own
// (peak memory is that process's), the median of --repeat runs. Times are CPU seconds and, in brackets, wall seconds.
//
//   engine_scaling [--repeat N] [--max-full GPUS] [--max-simgrid GPUS] [--slowdown FACTOR]
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "sim/engine/engine.h"
#include "tests/support/engine/synthetic.h"

using namespace sgsim;

namespace {

struct Settings {
  int repeat = 3, max_full = 16384, max_simgrid = 4096;
  double slowdown = 1.0;
};

struct Measured {
  double cpu = 0.0, wall = 0.0;       // s, the engine alone
  double mebibytes = 0.0;             // peak of the process
  std::uint64_t tasks = 0;
};

struct Run {
  double cpu = 0.0, wall = 0.0;
  std::uint64_t tasks = 0;
};

double cpu_seconds() {
  double total = 0.0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {  // the simgrid engine runs in a child
    rusage usage{};
    getrusage(who, &usage);
    total += static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  }
  return total;
}

/// DGX nodes of 8 GPUs and 8 NICs of 25 GB/s, non-blocking.
cluster::Cluster nodes_for(int gpus) {
  cluster::Cluster c;
  c.nodes = (gpus + 7) / 8;
  c.node.nic.bandwidth = BytesPerSecond(25e9);
  return c;
}

enum class How { folded, full, simgrid };

Run time_one(const lower::Workload& workload, How how) {
  const cluster::Cluster cluster = nodes_for(static_cast<int>(workload.ranks.size()));
  const engine::Folded all = how == How::folded ? engine::Folded{} : engine::unfolded(workload);
  std::uint64_t tasks = 0;  // of all ranks, simulated one by one or counted by class
  for (const lower::RankBinding& rank : workload.ranks) tasks += workload.programs[rank.program.value].tasks.size();
  const auto start = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  timeline::Timeline t;
  switch (how) {
    case How::folded: t = engine::run_fast(engine::fold(workload), {}); break;
    case How::full: t = engine::run_fast(all, {}); break;
    case How::simgrid: t = engine::run_simgrid(all, cluster, {}); break;
  }
  return {.cpu = cpu_seconds() - cpu, .wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), .tasks = tasks};
}

/// Runs `body` in a child; its result through a pipe, its peak memory from the kernel.
Measured in_child(const std::function<Run()>& body) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  std::fflush(stdout);  // or the child would print it again
  const pid_t child = fork();
  if (child == 0) {
    const Run run = body();
    const bool written = write(ends[1], &run, sizeof(run)) == static_cast<ssize_t>(sizeof(run));
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  Run run;
  const bool good = read(ends[0], &run, sizeof(run)) == static_cast<ssize_t>(sizeof(run));
  close(ends[0]);
  rusage usage{};
  wait4(child, nullptr, 0, &usage);
  if (!good) return {};
  return {.cpu = run.cpu, .wall = run.wall, .mebibytes = static_cast<double>(usage.ru_maxrss) / 1024.0, .tasks = run.tasks};
}

Measured median(const std::function<lower::Workload()>& make, How how, int repeat) {
  std::vector<Measured> all;
  for (int i = 0; i < repeat; ++i) all.push_back(in_child([&] { return time_one(make(), how); }));
  std::sort(all.begin(), all.end(), [](const Measured& a, const Measured& b) { return a.cpu < b.cpu; });
  return all[all.size() / 2];
}

std::string cell(const Measured& m) { return fmt::format("{:9.4f} ({:8.4f}) s {:6.0f} MiB", m.cpu, m.wall, m.mebibytes); }

void table(const std::string& title, const Settings& settings, const std::vector<int>& sizes, const std::function<lower::Workload(int)>& make) {
  fmt::print("{}\n{:>6} {:>12} | {:^34} | {:^34} | {:^34}\n", title, "GPUs", "tasks", "fast, folded", "fast, every rank", "simgrid, every rank");
  for (const int gpus : sizes) {
    const auto workload = [&] { return make(gpus); };
    const Measured folded = median(workload, How::folded, settings.repeat);
    const Measured full = gpus <= settings.max_full ? median(workload, How::full, settings.repeat) : Measured{};
    const Measured simgrid = gpus <= settings.max_simgrid ? median(workload, How::simgrid, settings.repeat) : Measured{};
    const std::string none = fmt::format("{:^34}", "-");
    fmt::print("{:>6} {:>12} | {} | {} | {}\n", gpus, folded.tasks, cell(folded), full.tasks > 0 ? cell(full) : none, simgrid.tasks > 0 ? cell(simgrid) : none);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--repeat") settings.repeat = std::max(1, std::atoi(argv[i + 1]));
    if (flag == "--max-full") settings.max_full = std::atoi(argv[i + 1]);
    if (flag == "--max-simgrid") settings.max_simgrid = std::atoi(argv[i + 1]);
    if (flag == "--slowdown") settings.slowdown = std::atof(argv[i + 1]);
  }
  const std::vector<int> sizes{64, 256, 1024, 4096, 16384};
  const double f = settings.slowdown;
  table("TP 8, PP 8, 128 micro-batches, 10 layers a stage", settings, sizes,
        [f](int gpus) { return testing::megatron({.dp = gpus / 64, .compute_slowdown = f, .transfer_slowdown = f}); });
  table("FSDP, 80 units", settings, sizes, [f](int gpus) { return testing::fsdp({.ranks = gpus, .compute_slowdown = f, .transfer_slowdown = f}); });
}

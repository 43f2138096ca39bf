// The engines' speed, for comparing commits: engine_bench --benchmark_repetitions=5 --benchmark_report_aggregates_only=true.
// "items" are tasks. A made-up LLaMA-3-70B on 1,024 GPUs (tests/support/engine/synthetic.h): TP 8, PP 8, DP 16, 128
// micro-batches; and FSDP with 80 units.
#include <benchmark/benchmark.h>

#include "sim/engine/engine.h"
#include "sim/engine/fast/fast_engine.h"
#include "tests/support/engine/synthetic.h"

using namespace sgsim;

namespace {

lower::Workload job(bool fsdp, int gpus, double slowdown = 1.0) {
  if (fsdp) return testing::fsdp({.ranks = gpus, .compute_slowdown = slowdown, .transfer_slowdown = slowdown});
  return testing::megatron({.dp = gpus / 64, .compute_slowdown = slowdown, .transfer_slowdown = slowdown});
}

cluster::Cluster nodes_for(int gpus) {
  cluster::Cluster c;
  c.nodes = gpus / 8;
  c.node.nic.bandwidth = BytesPerSecond(25e9);
  return c;
}

/// Folding alone, programs moved as the planner does it.
void fold(benchmark::State& state, bool fsdp, int gpus) {
  const lower::Workload workload = job(fsdp, gpus);
  for (auto _ : state) {
    state.PauseTiming();
    lower::Workload copy = workload;
    state.ResumeTiming();
    benchmark::DoNotOptimize(engine::fold(std::move(copy)));
  }
}

/// Simulation alone, with the engine's buffers kept from one run to the next.
void fast(benchmark::State& state, bool fsdp, bool folded, double slowdown) {
  const engine::Folded workload = folded ? engine::fold(job(fsdp, 1024, slowdown)) : engine::unfolded(job(fsdp, 1024, slowdown));
  engine::FastEngine engine;
  std::uint64_t tasks = 0;
  for (auto _ : state) tasks += engine.run(workload, {}).tasks;
  state.SetItemsProcessed(static_cast<std::int64_t>(tasks));
}

void simgrid(benchmark::State& state, bool fsdp) {
  const engine::Folded workload = engine::unfolded(job(fsdp, 1024));
  const cluster::Cluster cluster = nodes_for(1024);
  std::uint64_t tasks = 0;
  for (auto _ : state) tasks += engine::run_simgrid(workload, cluster, {}).tasks;
  state.SetItemsProcessed(static_cast<std::int64_t>(tasks));
}

BENCHMARK_CAPTURE(fold, 3d_1024, false, 1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fold, 3d_16384, false, 16384)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fold, fsdp_16384, true, 16384)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fast, 3d_folded, false, true, 1.0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fast, 3d_folded_interference, false, true, 1.1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fast, fsdp_folded, true, true, 1.1)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(fast, 3d_every_rank, false, false, 1.0)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fast, 3d_every_rank_interference, false, false, 1.1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fast, fsdp_every_rank, true, false, 1.1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simgrid, 3d_every_rank, false)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(simgrid, fsdp_every_rank, true)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();

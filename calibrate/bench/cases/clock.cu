#include "calibrate/bench/cases/clock.h"

#include <chrono>

#include "calibrate/stats/summary.h"

namespace sgsim::calibrate {
namespace {

__global__ void spin_kernel(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

constexpr std::uint64_t kProbeMark = (1ull << 61) + 16;

std::vector<double> probe_durations(ActivitySource& activities) {
  const ActivityBatch batch = activities.collect();
  std::map<std::uint32_t, bool> marked;
  for (const Mark& m : batch.marks) marked[m.correlation] = m.mark == kProbeMark;
  std::vector<std::pair<std::int64_t, double>> found;
  for (const Activity& a : batch.activities) {
    const auto it = marked.find(a.correlation);
    if (it != marked.end() && it->second) found.emplace_back(a.start_ns, static_cast<double>(a.end_ns - a.start_ns) * 1e-9);
  }
  std::sort(found.begin(), found.end());
  std::vector<double> durations;
  for (const auto& [start, duration] : found) durations.push_back(duration);
  return durations;
}

Key product(std::int64_t m, std::int64_t n, std::int64_t k, const char* layout) {
  return {.group = "matmul", .labels = {{"dtype", "bfloat16"}, {"layout", layout}}, .sizes = {{"batch", 1}, {"m", m}, {"n", n}, {"k", k}}};
}
Key memory(const char* kind, const char* op, std::int64_t bytes, std::int64_t columns) {
  return {.group = "memory", .labels = {{"kind", kind}, {"op", op}}, .sizes = {{"bytes", bytes}, {"columns", columns}}};
}
Key attention(const char* pass) {
  return {.group = "attention", .labels = {{"dtype", "bfloat16"}, {"kernel", "flash"}, {"pass", pass}, {"causal", "yes"}, {"mask", "none"}, {"set", "grid"}},
          .sizes = {{"batch", 2}, {"heads", 32}, {"kv_heads", 8}, {"length", 4096}, {"head_dim", 128}}};
}

std::vector<Task> make_load(Context& c, PlanWorkshop& workshop, const std::string& load) {
  std::vector<Task> tasks;
  const auto add = [&](const Key& key) { tasks.push_back(key.group == "matmul" ? prepare_matmul(c, key) : key.group == "memory" ? prepare_memory(c, key) : prepare_attention(c, workshop, key)); };
  if (load == "matmul") add(product(8192, 8192, 8192, "nt"));
  if (load == "memory") add(memory("pointwise", "add", 1 << 30, 0));
  if (load != "training_mix") return tasks;
  constexpr std::int64_t kTokens = 8192, kHidden = 4096, kQkv = 6144, kFeedForward = 14336;
  const Key norm = memory("norm", "rms_norm", 4 * kTokens * kHidden, kHidden), norm_back = memory("norm", "rms_norm_backward", 6 * kTokens * kHidden, kHidden);
  const Key gate = memory("pointwise", "add", 6 * kTokens * kFeedForward, 0), residual = memory("pointwise", "add", 6 * kTokens * kHidden, 0);
  add(norm), add(product(kTokens, kQkv, kHidden, "nt")), add(attention("forward")), add(product(kTokens, kHidden, kHidden, "nt")), add(residual);
  add(norm), add(product(kTokens, 2 * kFeedForward, kHidden, "nt")), add(gate), add(product(kTokens, kHidden, kFeedForward, "nt")), add(residual);
  const auto back = [&](std::int64_t out, std::int64_t in) { add(product(kTokens, in, out, "nn")), add(product(out, in, kTokens, "tn")); };
  back(kHidden, kFeedForward), add(gate), add(gate), back(2 * kFeedForward, kHidden), add(norm_back), back(kHidden, kHidden), add(attention("backward"));
  back(kQkv, kHidden), add(norm_back), add(residual);
  return tasks;
}

}  // namespace

void launch_clock_probe(std::int64_t cycles, cudaStream_t stream) {
  spin_kernel<<<1, 32, 0, stream>>>(cycles);
  check_launch("start the clock probe");
}

ClockProbe calibrate_probe(Context& c, ActivitySource& activities) {
  constexpr int kEach = 40;
  const auto typical = [&](std::int64_t cycles) {
    (void)activities.collect();
    activities.set_mark(kProbeMark);
    for (int i = 0; i < kEach; ++i) launch_clock_probe(cycles, c.stream.get());
    activities.clear_mark();
    c.stream.synchronize();
    return median(probe_durations(activities));
  };
  (void)typical(kProbeCycles);
  const double once = typical(kProbeCycles), twice = typical(2 * kProbeCycles);
  return {.cycles = static_cast<double>(kProbeCycles), .overhead_seconds = std::max(0.0, 2.0 * once - twice)};
}

Task prepare_clock(Context& c, PlanWorkshop& workshop, ActivitySource& activities, const ClockProbe& probe, const Key& key) {
  auto tasks = std::make_shared<std::vector<Task>>(make_load(c, workshop, key.label("load")));
  constexpr double kSeconds = 3.0;
  const auto measure = [tasks, &c, &activities, probe] {
    (void)activities.collect();
    const auto begin = std::chrono::steady_clock::now();
    std::vector<double> durations;
    for (int round = 0; std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < kSeconds; ++round) {
      for (const Task& task : *tasks) {
        std::get<DeviceTimed>(task.timing).enqueue(round);
        activities.set_mark(kProbeMark);
        launch_clock_probe(kProbeCycles, c.stream.get());
        activities.clear_mark();
      }
      if (round % 4 == 3) {
        c.stream.synchronize();
        const std::vector<double> more = probe_durations(activities);
        durations.insert(durations.end(), more.begin(), more.end());
      }
    }
    c.stream.synchronize();
    std::vector<double> periods;
    for (std::size_t i = durations.size() / 2; i < durations.size(); ++i) periods.push_back(1.0 / probe.clock_hz(durations[i]));
    return periods;
  };
  return {.timing = SelfTimed{.measure = measure}, .synchronize = c.synchronizer(), .check = {}, .warmups = 0, .holds = tasks};
}

}  // namespace sgsim::calibrate

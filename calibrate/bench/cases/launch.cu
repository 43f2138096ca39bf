// What launching costs. Label "what"; size "nodes" for CUDA graphs. Host costs are taken with activity records off, which
// would add several microseconds to each launch. A spinning kernel holds a stream back while work is queued behind it, so
// that the device, not the host, sets the pace where device costs are measured.
#include <dlfcn.h>

#include <chrono>

#include "calibrate/bench/cases/cases.h"
#include "calibrate/device/cuda/nccl_group.h"

namespace sgsim::calibrate {
namespace {

using Times = std::vector<double>;

__global__ void empty_kernel() {}
/// A kernel of a training step's smaller kind: 2 MB in, 2 MB out.
constexpr int kWorkBlocks = 512, kWorkThreads = 256;
__global__ void work_kernel(const float4* in, float4* out) {
  const int i = static_cast<int>(blockIdx.x) * kWorkThreads + static_cast<int>(threadIdx.x);
  const float4 x = in[i];
  out[i] = make_float4(x.x + 1.0F, x.y + 1.0F, x.z + 1.0F, x.w + 1.0F);
}
__global__ void flag_kernel(volatile int* flag, int value) { *flag = value; }
/// Holds its stream back for `nanoseconds`.
__global__ void hold_kernel(std::uint64_t nanoseconds) {
  std::uint64_t begin = 0, now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}
/// Kernels that nothing else launches: each one's first launch loads it (lazy loading).
template <int number>
__global__ void unused_kernel(int* out) {
  if (out != nullptr) *out = number;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr int kBatch = 400;    // launches that fit the launch queue (1024 on current drivers)
constexpr int kRepeats = 25;

/// Seconds a call, over batches of calls that run on an idle device.
template <class Call>
Times host_cost(Context& c, Call&& call, int batch = kBatch, int repeats = kRepeats) {
  Times samples;
  for (int r = 0; r < repeats + 2; ++r) {
    c.stream.synchronize();
    const double begin = now();
    for (int i = 0; i < batch; ++i) call();
    const double each = (now() - begin) / batch;
    if (r >= 2) samples.push_back(each);  // two warm-ups
  }
  c.stream.synchronize();
  return samples;
}

/// Device seconds of what `enqueue()` queues, everything queued before the first of it starts.
template <class Enqueue>
Times device_cost(Context& c, Enqueue&& enqueue, double hold_seconds, double divide_by, int repeats = kRepeats) {
  const Event begin, end;
  Times samples;
  for (int r = 0; r < repeats + 2; ++r) {
    hold_kernel<<<1, 1, 0, c.stream.get()>>>(static_cast<std::uint64_t>(hold_seconds * 1e9));
    begin.record(c.stream.get());
    enqueue();
    end.record(c.stream.get());
    end.synchronize();
    if (r >= 2) samples.push_back(end.seconds_since(begin) / divide_by);
  }
  return samples;
}

void launch_empty(Context& c) { empty_kernel<<<1, 32, 0, c.stream.get()>>>(); }

/// From the host's call until a kernel's write is seen by the host, which polls: launch, start, and one PCIe write.
template <class Launch>
Times latency(Context& c, Launch&& launch) {
  const PinnedBuffer memory(sizeof(int));
  auto* flag = static_cast<volatile int*>(memory.data());
  Times samples;
  for (int r = 1; r <= kRepeats * 4; ++r) {
    c.stream.synchronize();
    *flag = 0;
    const double begin = now();
    launch(const_cast<int*>(flag));
    while (*flag == 0) {
    }
    if (r > 4) samples.push_back(now() - begin);
  }
  c.stream.synchronize();
  return samples;
}

template <int number>
void first_launch(Context& c, Times& samples) {
  c.stream.synchronize();
  const double begin = now();
  unused_kernel<number><<<1, 1, 0, c.stream.get()>>>(nullptr);
  samples.push_back(now() - begin);
}
template <int... numbers>
Times first_launches(Context& c, std::integer_sequence<int, numbers...>) {
  Times samples;
  (first_launch<numbers>(c, samples), ...);
  c.stream.synchronize();
  return samples;
}

/// Compilation of a small kernel from PTX by the driver; a new constant each time, so that no cache knows it.
Times jit() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) throw Waived{"libcuda.so.1 cannot be loaded"};
  using Load = int (*)(void**, const void*);
  using Unload = int (*)(void*);
  const auto load = reinterpret_cast<Load>(dlsym(driver, "cuModuleLoadData"));
  const auto unload = reinterpret_cast<Unload>(dlsym(driver, "cuModuleUnload"));
  if (load == nullptr || unload == nullptr) throw Waived{"the driver has no cuModuleLoadData"};
  Times samples;
  for (int r = 0; r < 12; ++r) {
    const auto unique = static_cast<unsigned>(std::chrono::steady_clock::now().time_since_epoch().count());
    const std::string ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n .reg .u64 %a; .reg .u32 %v;\n"
                            " ld.param.u64 %a, [p];\n cvta.to.global.u64 %a, %a;\n mov.u32 %v, " + std::to_string(unique & 0x7fffffff) + ";\n st.global.u32 [%a], %v;\n ret;\n}\n";
    void* module = nullptr;
    const double begin = now();
    if (const int status = load(&module, ptx.c_str()); status != 0) throw Waived{"the driver compiles no PTX (error " + std::to_string(status) + ")"};
    if (r >= 2) samples.push_back(now() - begin);
    (void)unload(module);
  }
  return samples;
}

/// The same kernel again and again: one's share of a row of them in a stream or in a graph, or its duration by its records.
Times work(Context& c, ActivitySource& activities, const std::string& what) {
  constexpr std::size_t kBytes = sizeof(float4) * kWorkBlocks * kWorkThreads;
  const auto* in = reinterpret_cast<const float4*>(c.pool.take(kBytes));
  auto* out = reinterpret_cast<float4*>(c.pool.take(kBytes));
  const auto row = [&](int count) {
    for (int i = 0; i < count; ++i) work_kernel<<<kWorkBlocks, kWorkThreads, 0, c.stream.get()>>>(in, out);
  };
  if (what == "stream_of_work") return device_cost(c, [&] { row(kBatch); }, 5e-3, kBatch);
  if (what == "graph_of_work") {
    const GraphExec exec = capture(c.stream.get(), [&] { row(kBatch); }).instantiate();
    exec.launch(c.stream.get());
    c.stream.synchronize();
    return device_cost(c, [&] { exec.launch(c.stream.get()); }, 2e-3, kBatch);
  }
  (void)activities.collect();
  row(kBatch);
  c.stream.synchronize();
  Times samples;
  for (const Activity& a : activities.collect().activities) samples.push_back(static_cast<double>(a.end_ns - a.start_ns) * 1e-9);
  return samples;
}

/// Gaps between kernels that wait in one stream, or their own durations, from activity records.
Times gaps(Context& c, ActivitySource& activities, bool durations) {
  (void)activities.collect();
  hold_kernel<<<1, 1, 0, c.stream.get()>>>(4'000'000);
  for (int i = 0; i < kBatch; ++i) launch_empty(c);
  c.stream.synchronize();
  std::vector<Activity> kernels = activities.collect().activities;
  std::sort(kernels.begin(), kernels.end(), [](const Activity& a, const Activity& b) { return a.start_ns < b.start_ns; });
  Times samples;
  for (std::size_t i = 2; i < kernels.size(); ++i) samples.push_back(static_cast<double>(durations ? kernels[i].end_ns - kernels[i].start_ns : kernels[i].start_ns - kernels[i - 1].end_ns) * 1e-9);
  return samples;
}

Times across_streams(Context& c) {
  const Stream other;
  const Event there, back;
  constexpr int kHops = 100;
  return device_cost(
      c,
      [&] {
        for (int i = 0; i < kHops; ++i) {
          launch_empty(c);
          there.record(c.stream.get());
          check_cuda(cudaStreamWaitEvent(other.get(), there.get(), 0), "wait for an event");
          empty_kernel<<<1, 32, 0, other.get()>>>();
          back.record(other.get());
          check_cuda(cudaStreamWaitEvent(c.stream.get(), back.get(), 0), "wait for an event");
        }
      },
      5e-3, 2.0 * kHops);
}

/// A small matrix product through cuBLAS: what a library's call costs the host beyond a kernel's launch.
Times library_call(Context& c) {
  constexpr Product kProduct{.m = 256, .n = 256, .k = 256, .b_transposed = true};
  const std::unique_ptr<Blas::Plan> plan = c.blas.plan(kProduct);
  char* operands = c.pool.take(std::size_t{3} * 256 * 256 * 2);
  fill_random(operands, std::size_t{2} * 256 * 256, Element::bfloat16, c.seed++, 1.0F, c.stream.get());
  return host_cost(c, [&] { plan->run(operands, operands + 256 * 256 * 2, operands + 2 * 256 * 256 * 2, nullptr, c.stream.get()); });
}

/// A small all-reduce over two GPUs, for each of them.
Times collective_call(Context& c) {
  int devices = 0;
  check_cuda(cudaGetDeviceCount(&devices), "count the GPUs");
  if (devices < 2) throw Waived{"this machine has one GPU"};
  constexpr int kRanks = 2, kCalls = 100;
  const NcclGroup group({.ranks = kRanks});
  std::vector<DeviceBuffer> buffers;
  std::vector<void*> memory;
  for (int r = 0; r < kRanks; ++r) {
    const DeviceScope scope(r);
    buffers.emplace_back(std::size_t{8192});
    memory.push_back(buffers.back().data());
  }
  Times samples = host_cost(c, [&] { group.enqueue(CollectiveKind::all_reduce, memory, memory, 8192); }, kCalls);
  group.synchronize();
  for (double& s : samples) s /= kRanks;
  return samples;
}

Times measure_graph(Context& c, const std::string& what, int nodes) {
  const PinnedBuffer memory(sizeof(int));
  auto* flag = static_cast<volatile int*>(memory.data());
  const auto body = [&] {
    for (int i = 0; i + 1 < nodes; ++i) launch_empty(c);
    flag_kernel<<<1, 1, 0, c.stream.get()>>>(flag, 1);
  };
  const Graph graph = capture(c.stream.get(), body);
  const int repeats = nodes > 1000 ? 8 : kRepeats;
  if (what == "graph_instantiate" || what == "graph_first_launch") {
    Times samples;
    for (int r = 0; r < repeats; ++r) {
      double begin = now();
      const GraphExec exec = graph.instantiate();
      if (what == "graph_instantiate") samples.push_back(now() - begin);
      begin = now();
      exec.launch(c.stream.get());
      if (what == "graph_first_launch") samples.push_back(now() - begin);
      c.stream.synchronize();
    }
    return samples;
  }
  const GraphExec exec = graph.instantiate();
  exec.launch(c.stream.get());
  c.stream.synchronize();
  if (what == "graph_enqueue") return host_cost(c, [&] { exec.launch(c.stream.get()); }, nodes > 200 ? 2 : 20, repeats);
  if (what == "graph_latency") {
    Times samples;
    for (int r = 0; r < repeats; ++r) {
      c.stream.synchronize();
      *flag = 0;
      const double begin = now();
      exec.launch(c.stream.get());
      while (*flag == 0) {
      }
      samples.push_back(now() - begin);
    }
    c.stream.synchronize();
    return samples;
  }
  return device_cost(c, [&] { exec.launch(c.stream.get()); }, 2e-3, nodes, repeats);
}

Times measure(Context& c, ActivitySource& activities, const std::string& what, int nodes) {
  if (what.rfind("graph_", 0) == 0 && what != "graph_of_work") return measure_graph(c, what, nodes);
  if (what == "kernel_enqueue") return host_cost(c, [&] { launch_empty(c); });
  if (what == "kernel_latency") return latency(c, [&](int* flag) { flag_kernel<<<1, 1, 0, c.stream.get()>>>(flag, 1); });
  if (what == "stream_of_kernels") {
    return device_cost(c, [&] {
      for (int i = 0; i < kBatch; ++i) launch_empty(c);
    }, 5e-3, kBatch);
  }
  if (what == "library_enqueue") return library_call(c);
  if (what == "collective_enqueue") return collective_call(c);
  if (what == "stream_synchronize") return host_cost(c, [&] { c.stream.synchronize(); });
  const Event event;
  if (what == "event_record") return host_cost(c, [&] { event.record(c.stream.get()); });
  if (what == "event_synchronize") {
    event.record(c.stream.get());
    return host_cost(c, [&] { event.synchronize(); });
  }
  if (what == "event_wait_across_streams") return across_streams(c);
  if (what == "first_launch") return first_launches(c, std::make_integer_sequence<int, 24>());
  if (what == "jit_ptx") return jit();
  if (what == "stream_of_work" || what == "graph_of_work" || what == "work_kernel") return work(c, activities, what);
  if (what == "device_gap" || what == "empty_kernel") return gaps(c, activities, what == "empty_kernel");
  throw InternalError("no launch measurement '" + what + "'");
}

}  // namespace

Task prepare_launch(Context& c, ActivitySource& activities, const Key& key) {
  const std::string what = key.label("what");
  const auto it = key.sizes.find("nodes");
  const int nodes = it == key.sizes.end() ? 0 : static_cast<int>(it->second);
  return {.timing = SelfTimed{.measure =
                                  [&c, &activities, what, nodes] {
                                    Times samples = measure(c, activities, what, nodes);
                                    check_launch("launch");
                                    return samples;
                                  },
                              .records_off = what != "device_gap" && what != "empty_kernel" && what != "work_kernel"},
          .synchronize = c.synchronizer(),
          .check = {},
          .warmups = 2};
}

}  // namespace sgsim::calibrate

#include "calibrate/execute/execute.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "calibrate/bench/cases/cases.h"
#include "calibrate/bench/cases/workshop.h"
#include "calibrate/device/cuda/cupti_source.h"
#include "calibrate/device/cuda/nccl_group.h"
#include "calibrate/device/cuda/nvml_source.h"
#include "calibrate/execute/cuda/gate.h"
#include "calibrate/execute/cuda/rank_queue.h"
#include "calibrate/execute/work_key.h"
#include "calibrate/stats/summary.h"

namespace sgsim::calibrate {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A barrier that spins: threads leave it within a fraction of a microsecond of each other.
class SpinBarrier {
 public:
  explicit SpinBarrier(int threads) : threads_(threads) {}
  void wait() {
    const int turn = turn_.load();
    if (arrived_.fetch_add(1) + 1 == threads_) {
      arrived_.store(0);
      turn_.store(turn + 1);
      return;
    }
    while (turn_.load() == turn && !broken_.load()) {
    }
    if (broken_.load()) throw EnvironmentError("another rank failed");
  }
  void fail() { broken_.store(true); }

 private:
  int threads_;
  std::atomic<int> arrived_ = 0, turn_ = 0;
  std::atomic<bool> broken_ = false;
};

/// Runs `body(rank)` on a thread a rank, each with its GPU selected; the first exception is thrown again.
class Crew {
 public:
  explicit Crew(int ranks) : ranks_(ranks), barrier_(ranks) {}
  template <class Body>
  void run(Body&& body) {
    std::vector<std::thread> threads;
    std::exception_ptr failure;
    std::mutex mutex;
    for (int r = 0; r < ranks_; ++r) {
      threads.emplace_back([&, r] {
        try {
          check_cuda(cudaSetDevice(r), "select a device");
          body(r);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
          barrier_.fail();
        }
      });
    }
    for (std::thread& t : threads) t.join();
    if (failure) std::rethrow_exception(failure);
  }
  [[nodiscard]] SpinBarrier& barrier() { return barrier_; }
  [[nodiscard]] int ranks() const { return ranks_; }

 private:
  int ranks_;
  SpinBarrier barrier_;
};

std::int64_t used_memory() {
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "tell how much memory is free");
  return static_cast<std::int64_t>(total - free);
}

/// Reads GPU 0's clock and power while it lives.
class Monitor {
 public:
  explicit Monitor(MachineSource& source)
      : thread_([this, &source] {
          while (!stop_.load()) {
            if (const auto state = source.state(0)) {
              clocks_.push_back(state->sm_clock_mhz);
              powers_.push_back(state->power_w);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(40));
          }
        }) {}
  ~Monitor() { stop(); }
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  void stop() {
    stop_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] double clock() const { return median(clocks_); }
  [[nodiscard]] double power() const { return median(powers_); }

 private:
  std::atomic<bool> stop_ = false;
  std::vector<double> clocks_, powers_;
  std::thread thread_;
};

class Execution {
 public:
  Execution(const ExecutableProgram& program, const ExecuteOptions& options) : program_(program), options_(options), crew_(static_cast<int>(program.ranks.size())) {
    measured_.program = program_id(program);
    measured_.name = program.name;
    measured_.graph = program.graph;
    measured_.command = options.command;
  }

  MeasuredProgram run() {
    make_ready();
    check_numbers("launched");
    if (program_.graph) capture_graphs(graphs_);
    time_steps();
    trace();
    if (program_.graph) check_numbers("in the CUDA graph");
    return std::move(measured_);
  }

 private:
  void make_ready() {
    std::vector<Key> keys;
    for (const graph::Work& work : program_.works) keys.push_back(key_of(work, program_.row, program_.vocabulary));
    const std::size_t ranks = program_.ranks.size();
    workshops_.resize(ranks);
    queues_.resize(ranks);
    {
      const Context probe(std::size_t{1} << 20);  // libraries and context of GPU 0, before anything of the program
      measured_.memory.context = used_memory() - (1 << 20) - (32 << 20);
      machine_ = make_machine_source();
      measured_.machine = machine_->describe();
      measured_.machine.libraries.merge(library_versions(probe));
    }
    const std::int64_t before = used_memory();
    comms_ = std::make_unique<Communicators>(program_);
    options_.progress("communicators made");
    crew_.run([&](int r) {
      const auto i = static_cast<std::size_t>(r);
      workshops_[i] = make_workshop(keys);
      std::size_t free = 0, total = 0;
      check_cuda(cudaMemGetInfo(&free, &total), "tell how much memory is free");
      constexpr std::size_t kMost = std::size_t{72} << 30;
      queues_[i] = std::make_unique<RankQueue>(program_, static_cast<std::uint32_t>(r), *comms_, *workshops_[i], std::min(kMost, free / 2));
    });
    options_.progress("kernels and buffers made");
    warm_communicators();
    measured_.memory.operands = static_cast<std::int64_t>(queues_[0]->operand_bytes());
    measured_.memory.communicators = std::max<std::int64_t>(0, used_memory() - before - measured_.memory.operands - (32 << 20));
    crew_.run([&](int r) {
      auto& queue = *queues_[static_cast<std::size_t>(r)];
      const std::vector<NumberCheck> checks = queue.check_kernels();
      const std::lock_guard lock(mutex_);
      measured_.numbers.insert(measured_.numbers.end(), checks.begin(), checks.end());
    });
    options_.progress(fmt::format("{} kernels compared with double precision", measured_.numbers.size()));
  }

  /// NCCL connects ranks when an operation is first used, and waits for the others meanwhile: once for all, in one order for all.
  void warm_communicators() {
    for (std::uint32_t g = 0; g < program_.groups.size(); ++g) {
      const auto& members = program_.groups[g].members;
      if (members.empty()) continue;
      const std::size_t uses = std::min<std::size_t>(queues_[members[0]]->uses_of(g), kWarmUses);
      for (std::size_t u = 0; u < uses; ++u) {
        check_nccl(ncclGroupStart(), "begin a group");
        for (const std::uint32_t m : members) {
          const DeviceScope scope(static_cast<int>(m));
          queues_[m]->use(g, u);
        }
        check_nccl(ncclGroupEnd(), "end a group");
        synchronize();
      }
    }
  }

  void synchronize() {
    for (std::size_t r = 0; r < queues_.size(); ++r) {
      const DeviceScope scope(static_cast<int>(r));
      queues_[r]->synchronize();
    }
  }

  /// One step after the results were made wrong: every element must be right then.
  void check_numbers(const char* how) {
    crew_.run([&](int r) {
      auto& queue = *queues_[static_cast<std::size_t>(r)];
      queue.poison_results();
      crew_.barrier().wait();
      enqueue(r);
      queue.synchronize();
      crew_.barrier().wait();
      std::vector<NumberCheck> checks = queue.check_results();
      for (NumberCheck& c : checks) c.what += std::string(", ") + how;
      const std::lock_guard lock(mutex_);
      measured_.numbers.insert(measured_.numbers.end(), checks.begin(), checks.end());
    });
    options_.progress(fmt::format("buffers checked, {}", how));
  }

  void enqueue(int r) {
    const auto i = static_cast<std::size_t>(r);
    if (graphs_.empty()) queues_[i]->step();
    else graphs_[i].launch(queues_[i]->main_stream());
  }

  void capture_graphs(std::vector<GraphExec>& into) {
    std::vector<GraphExec> made(program_.ranks.size());
    crew_.run([&](int r) {
      auto& queue = *queues_[static_cast<std::size_t>(r)];
      const Graph graph = queue.captured_step();
      if (r == 0) {
        std::size_t nodes = 0;
        check_cuda(cudaGraphGetNodes(graph.get(), nullptr, &nodes), "count nodes");
        measured_.graph_nodes = static_cast<int>(nodes);
      }
      const double begin = now();
      made[static_cast<std::size_t>(r)] = graph.instantiate();
      if (r == 0) measured_.graph_instantiate_s = now() - begin;
    });
    into = std::move(made);
    options_.progress("CUDA graphs captured");
  }

  struct StepClock {
    double begin = 0.0, issued = 0.0, end = 0.0;
    double on_device = 0.0;  // between events at both ends of the main stream
  };

  void time_steps() {
    const std::size_t ranks = program_.ranks.size();
    std::vector<StepClock> clocks(ranks);
    std::vector<double> lengths, issues, events;
    std::atomic<bool> go_on = true;
    std::unique_ptr<Monitor> monitor;
    const double start = now();
    crew_.run([&](int r) {
      auto& queue = *queues_[static_cast<std::size_t>(r)];
      const Event first, last;
      Gate gate;
      StepClock& clock = clocks[static_cast<std::size_t>(r)];
      while (go_on.load()) {
        crew_.barrier().wait();
        clock.begin = now();
        // Launching a graph of thousands of nodes takes the host up to a microsecond a node, and training does it a step ahead.
        if (program_.graph) gate.close(queue.main_stream());
        first.record(queue.main_stream());
        enqueue(r);
        last.record(queue.main_stream());
        clock.issued = now();
        if (program_.graph) {
          crew_.barrier().wait();
          gate.open();
        }
        check_cuda(cudaStreamSynchronize(queue.main_stream()), "wait for a step");
        clock.end = now();
        clock.on_device = last.seconds_since(first);
        crew_.barrier().wait();
        if (r == 0) {
          const double t = now();
          double begin = clocks[0].begin, end = clocks[0].end, issue = 0.0, on_device = 0.0;
          for (const StepClock& c : clocks) {
            begin = std::min(begin, c.begin);
            end = std::max(end, c.end);
            issue = std::max(issue, c.issued - c.begin);
            on_device = std::max(on_device, c.on_device);
          }
          if (t - start >= options_.settle_seconds) {
            if (!monitor) monitor = std::make_unique<Monitor>(*machine_);
            lengths.push_back(program_.graph ? on_device : end - begin);
            issues.push_back(issue);
            events.push_back(on_device);
          }
          const bool enough = t - start >= options_.settle_seconds + options_.seconds && static_cast<int>(lengths.size()) >= options_.least_steps;
          go_on.store(!enough);
        }
        crew_.barrier().wait();
      }
    });
    if (monitor) {
      monitor->stop();
      measured_.sm_clock_mhz = monitor->clock();
      measured_.power_w = monitor->power();
    }
    const Summary s = summarize(lengths);
    measured_.steps = {.count = s.count, .median_s = s.median, .least_s = s.least, .greatest_s = s.greatest, .spread_s = s.spread, .event_s = median(events), .issue_s = median(issues)};
    options_.progress(fmt::format("{} steps of {:.3f} ms", s.count, s.median * 1e3));
  }

  static constexpr std::uint64_t kSettling = 1, kTraced = 2;

  /// Steps until the clock is what it is under load, then one that counts.
  ActivityBatch traced_step(ActivitySource& activities, bool by_graph, double settle_seconds) {
    (void)activities.collect();
    std::atomic<bool> go_on = true;
    const double start = now();
    crew_.run([&](int r) {
      auto& queue = *queues_[static_cast<std::size_t>(r)];
      activities.set_mark(kSettling);
      while (true) {
        crew_.barrier().wait();
        if (r == 0) go_on.store(now() - start < settle_seconds);
        crew_.barrier().wait();
        if (!go_on.load()) break;
        if (by_graph) graphs_[static_cast<std::size_t>(r)].launch(queue.main_stream());
        else queue.step();
        check_cuda(cudaStreamSynchronize(queue.main_stream()), "wait for a step");
      }
      if (by_graph) {
        Gate gate;
        gate.close(queue.main_stream());
        activities.set_mark(kTraced);
        graphs_[static_cast<std::size_t>(r)].launch(queue.main_stream());
        crew_.barrier().wait();
        gate.open();
        check_cuda(cudaStreamSynchronize(queue.main_stream()), "wait for a step");  // the gate must outlive its kernel
      } else {
        queue.marked_step(activities);
      }
      check_cuda(cudaStreamSynchronize(queue.main_stream()), "wait for a step");
      activities.clear_mark();
    });
    ActivityBatch batch = activities.collect();
    std::map<std::uint32_t, std::uint64_t> mark_of;
    for (const Mark& m : batch.marks) mark_of[m.correlation] = m.mark;
    std::erase_if(batch.activities, [&](const Activity& a) {
      const auto it = mark_of.find(a.correlation);
      return it != mark_of.end() && (it->second == kSettling || (by_graph && it->second != kTraced));
    });
    return batch;
  }

  void trace() {
    const std::unique_ptr<ActivitySource> activities = make_cupti_source();
    constexpr double kSettle = 0.25;
    std::vector<std::vector<Launched>> launches;
    std::vector<PlacedStep> steps;
    const bool graph = program_.graph;
    for (int i = 0; i < (graph ? 1 : options_.traced_steps); ++i) {
      const ActivityBatch batch = traced_step(*activities, false, graph ? 0.0 : kSettle);
      launches.clear();
      for (const auto& queue : queues_) launches.push_back(queue->launches());
      steps.push_back(place_by_marks(batch, launches));
    }
    if (graph) {
      capture_graphs(graphs_);  // anew: nodes of graphs instantiated before CUPTI came are recorded as one
      const PlacedStep example = std::move(steps.front());
      steps.clear();
      for (int i = 0; i < options_.traced_steps; ++i) steps.push_back(place_by_example(traced_step(*activities, true, kSettle), example));
    }
    measure_tasks(program_, launches, steps, measured_);
    options_.progress(fmt::format("{} steps traced, {:.3f} ms", measured_.steps.traced, measured_.steps.traced_s * 1e3));
  }

  static constexpr std::size_t kWarmUses = 64;
  const ExecutableProgram& program_;
  const ExecuteOptions& options_;
  Crew crew_;
  std::unique_ptr<MachineSource> machine_;
  std::vector<std::shared_ptr<PlanWorkshop>> workshops_;
  std::unique_ptr<Communicators> comms_;
  std::vector<std::unique_ptr<RankQueue>> queues_;
  std::vector<GraphExec> graphs_;
  std::mutex mutex_;
  MeasuredProgram measured_;
};

}  // namespace

void prepare_environment() {
  (void)setenv("NCCL_NVLS_ENABLE", "0", 1);
  (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

int local_gpus() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

MeasuredProgram execute(const ExecutableProgram& program, const ExecuteOptions& options) {
  const int gpus = local_gpus();
  if (static_cast<std::size_t>(gpus) < program.ranks.size()) throw NotExecutable{fmt::format("{} ranks need as many GPUs; this machine has {}", program.ranks.size(), gpus)};
  return Execution(program, options).run();
}

}  // namespace sgsim::calibrate

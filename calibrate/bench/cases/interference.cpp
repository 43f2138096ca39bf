// How kernels slow each other. Labels: compute (matmul, attention, bandwidth), op (a collective) or beside (another such
// kernel), side (whose time it is). Sizes: ranks, bytes and channels of the collective. Every GPU computes while the
// collective runs. A sample is the duration of one kernel, brought to what it would be with the other side beside it all the
// time; the note "alone_ns" is its median duration alone.
#include <cmath>

#include "calibrate/bench/cases/collectives.h"
#include "calibrate/device/cuda/sdpa.h"
#include "calibrate/stats/summary.h"

namespace sgsim::calibrate {
namespace {

/// The computing side on one GPU.
class Load {
 public:
  virtual ~Load() = default;
  virtual void enqueue(cudaStream_t stream) = 0;
};

class MatmulLoad final : public Load {
 public:
  explicit MatmulLoad(Context& c) : plan_(c.blas.plan(kProduct)) {
    constexpr std::size_t kBytes = 8192ull * 8192 * 2;
    for (char** operand : {&a_, &b_, &out_}) {
      *operand = c.pool.take(kBytes);
      fill_random(*operand, kBytes / 2, Element::bfloat16, c.seed++, 1.0F, c.stream.get());
    }
  }
  void enqueue(cudaStream_t stream) override { plan_->run(a_, b_, out_, nullptr, stream); }

 private:
  static constexpr Product kProduct{.m = 8192, .n = 8192, .k = 8192, .b_transposed = true};
  std::unique_ptr<Blas::Plan> plan_;
  char *a_ = nullptr, *b_ = nullptr, *out_ = nullptr;
};

class AttentionLoad final : public Load {
 public:
  explicit AttentionLoad(Context& c) : c_(c) {
    constexpr SdpaShape kShape{.batch = 2, .heads = 32, .kv_heads = 8, .length = 4096, .head_dim = 128};
    try {
      sdpa_ = make_sdpa_forward(c.dnn, kShape);
    } catch (const DnnUnsupported& unsupported) {
      throw Waived{unsupported.reason};
    }
    const auto take = [&](std::size_t elements) {
      char* data = c.pool.take(elements * 2);
      fill_random(data, elements, Element::bfloat16, c.seed++, 1.0F, c.stream.get());
      return data;
    };
    memory_ = {.q = take(kShape.q_elements()), .k = take(kShape.kv_elements()), .v = take(kShape.kv_elements()), .out = take(kShape.q_elements()),
               .stats = c.pool.take(kShape.rows() * 4)};
    scratch_ = c.pool.take(sdpa_->scratch_bytes() + 256);
  }
  void enqueue(cudaStream_t stream) override { sdpa_->run(c_.dnn, memory_, scratch_, stream); }

 private:
  Context& c_;
  std::unique_ptr<Sdpa> sdpa_;
  SdpaMemory memory_;
  char* scratch_ = nullptr;
};

/// A copy kernel's worth of memory traffic: an elementwise kernel of 1.5 GB.
class BandwidthLoad final : public Load {
 public:
  explicit BandwidthLoad(Context& c)
      : task_(prepare_memory(c, {.group = "memory", .labels = {{"kind", "pointwise"}, {"op", "add"}}, .sizes = {{"bytes", 3ll << 29}, {"columns", 0}}})), c_(c) {}
  void enqueue(cudaStream_t) override { std::get<DeviceTimed>(task_.timing).enqueue(0); }

 private:
  Task task_;
  Context& c_;
};

constexpr std::uint64_t kComputeMark = (1ull << 61) + 1, kOtherMark = (1ull << 61) + 2;

struct Intervals {
  std::vector<Activity> compute, other;  // on device 0
};

Intervals split(const ActivityBatch& batch) {
  std::map<std::uint32_t, std::uint64_t> mark_of;
  for (const Mark& m : batch.marks) mark_of[m.correlation] = m.mark;
  Intervals result;
  for (const Activity& a : batch.activities) {
    const auto it = mark_of.find(a.correlation);
    if (it == mark_of.end() || a.device != 0 || a.kind != ActivityKind::kernel) continue;
    if (it->second == kComputeMark) result.compute.push_back(a);
    if (it->second == kOtherMark) result.other.push_back(a);
  }
  return result;
}

double duration(const Activity& a) { return static_cast<double>(a.end_ns - a.start_ns) * 1e-9; }

std::vector<double> durations(const std::vector<Activity>& activities) {
  std::vector<double> result;
  for (const Activity& a : activities) result.push_back(duration(a));
  return result;
}

/// What `mine` would take if `beside` covered it wholly: each record covered for a share f >= 1/4 of its time that takes
/// d gives alone * (1 + (d / alone - 1) / f). With f = 1 that is d.
std::vector<double> overlapped(const std::vector<Activity>& mine, const std::vector<Activity>& beside, double alone) {
  constexpr double kLeastShare = 0.25;
  std::vector<double> result;
  for (const Activity& a : mine) {
    std::int64_t covered = 0;
    for (const Activity& b : beside) covered += std::max<std::int64_t>(0, std::min(a.end_ns, b.end_ns) - std::max(a.start_ns, b.start_ns));
    const double share = std::min(1.0, static_cast<double>(covered) / static_cast<double>(a.end_ns - a.start_ns));
    if (share >= kLeastShare) result.push_back(alone * (1.0 + (duration(a) / alone - 1.0) / share));
  }
  return result;
}

std::unique_ptr<Load> make_load(Context& c, const std::string& name) {
  if (name == "matmul") return std::make_unique<MatmulLoad>(c);
  if (name == "attention") return std::make_unique<AttentionLoad>(c);
  return std::make_unique<BandwidthLoad>(c);
}

constexpr std::size_t kLoadPool = std::size_t{5} << 30;

}  // namespace

/// Contexts and loads of every GPU, made once: an attention plan takes a second to compile.
class InterferenceRig {
 public:
  /// `place`: the GPU; -1 for a second context on GPU 0, whose handles serve another stream.
  Load& load(int place, const std::string& name) {
    const DeviceScope scope(std::max(place, 0));
    auto& slot = loads_[{place, name}];
    if (!slot) slot = make_load(context(place), name);
    context(place).stream.synchronize();
    return *slot;
  }
  Context& context(int place) {
    const DeviceScope scope(std::max(place, 0));
    auto& slot = contexts_[place];
    if (!slot) slot = std::make_unique<Context>(kLoadPool);
    return *slot;
  }

 private:
  std::map<int, std::unique_ptr<Context>> contexts_;
  std::map<std::pair<int, std::string>, std::unique_ptr<Load>> loads_;
};

namespace {

struct State {
  std::vector<Load*> loads;  // by GPU
  std::vector<cudaStream_t> streams;
  Load* beside = nullptr;
  cudaStream_t beside_stream = nullptr;
  NcclGroup* group = nullptr;
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t bytes = 0;
  std::vector<void*> in, out;
  double alone = 0.0;

  void compute() {
    for (std::size_t g = 0; g < loads.size(); ++g) {
      const DeviceScope scope(static_cast<int>(g));
      loads[g]->enqueue(streams[g]);
    }
  }
  void other() {
    if (group != nullptr) group->enqueue(kind, in, out, bytes);
    else beside->enqueue(beside_stream);
  }
  void synchronize() const {
    for (std::size_t g = 0; g < loads.size(); ++g) {
      const DeviceScope scope(static_cast<int>(g));
      check_cuda(cudaDeviceSynchronize(), "wait for a GPU");
    }
  }
};

std::vector<double> measure(State& s, ActivitySource& activities, bool of_compute) {
  constexpr int kAlone = 8;
  constexpr double kTogether = 0.012;  // seconds that both sides are kept busy
  const auto run = [&](int computes, int others) {
    (void)activities.collect();
    for (int i = 0, c = 0, o = 0; i < computes + others; ++i) {
      const bool compute = o >= others || (c < computes && static_cast<std::int64_t>(c) * others <= static_cast<std::int64_t>(o) * computes);
      activities.set_mark(compute ? kComputeMark : kOtherMark);
      if (compute) ++c, s.compute();
      else ++o, s.other();
    }
    activities.clear_mark();
    s.synchronize();
    return split(activities.collect());
  };
  (void)run(2, 2);
  const double compute_alone = median(durations(run(kAlone, 0).compute)), other_alone = median(durations(run(0, kAlone).other));
  s.alone = of_compute ? compute_alone : other_alone;
  if (compute_alone <= 0.0 || other_alone <= 0.0) return {};
  const int computes = std::clamp(static_cast<int>(kTogether / compute_alone), 6, 300), others = std::clamp(static_cast<int>(kTogether / other_alone), 4, 300);
  const Intervals together = run(computes, others);
  std::vector<double> samples = of_compute ? overlapped(together.compute, together.other, compute_alone) : overlapped(together.other, together.compute, other_alone);
  if (samples.empty()) throw Waived{"the two sides never ran side by side: one fills the GPU until it ends"};
  return samples;
}

}  // namespace

std::shared_ptr<InterferenceRig> make_interference_rig() { return std::make_shared<InterferenceRig>(); }

Task prepare_interference(InterferenceRig& rig, Collectives& collectives, ActivitySource& activities, const Key& key) {
  auto s = std::make_shared<State>();
  const int ranks = static_cast<int>(key.size("ranks"));
  if (ranks > collectives.gpus()) throw Waived{"this machine has " + std::to_string(collectives.gpus()) + " GPUs"};
  for (int g = 0; g < ranks; ++g) {
    s->loads.push_back(&rig.load(g, key.label("compute")));
    s->streams.push_back(rig.context(g).stream.get());
  }
  if (key.labels.contains("beside")) {
    s->beside = &rig.load(-1, key.label("beside"));
    s->beside_stream = rig.context(-1).stream.get();
  } else {
    s->kind = collective_kind(key.label("op"));
    s->bytes = key.size("bytes");
    s->group = &collectives.group({.ranks = ranks, .protocol = "", .channels = static_cast<int>(key.size("channels")), .number = 0});
    for (int g = 0; g < ranks; ++g) {
      char* base = collectives.memory(g, static_cast<std::size_t>(s->bytes) * 2);
      s->in.push_back(base);
      s->out.push_back(base + s->bytes);
    }
  }
  const bool of_compute = key.is("side", "compute");
  return {.timing = SelfTimed{.measure = [s, &activities, of_compute] { return measure(*s, activities, of_compute); }},
          .synchronize = [s] { s->synchronize(); },
          .check = {},  // both sides' results are checked where they are measured alone
          .warmups = 2,
          .notes = [s] { return std::map<std::string, std::string>{{"alone_ns", std::to_string(std::llround(s->alone * 1e9))}}; },
          .holds = s};
}

}  // namespace sgsim::calibrate

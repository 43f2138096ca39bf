// Collectives by NCCL over GPUs 0 .. ranks - 1, bfloat16 sums. Labels: op, place (in: the result over the input), launch
// (stream, graph), protocol (default, or forced). Sizes: ranks, bytes (nccl-tests: the whole buffer), channels (0: NCCL's
// choice), groups (communicators over the same GPUs at once; the time is then from the first start to the last end).
#include "calibrate/bench/cases/collectives.h"
#include "calibrate/bench/cases/sampled.cuh"

namespace sgsim::calibrate {
namespace {

/// Whole numbers that bfloat16 holds exactly, and their sums over a few ranks too.
__host__ __device__ inline float pattern(std::int64_t rank, std::int64_t i) { return static_cast<float>((i * 7 + rank * 3) % 13 - 6); }

__global__ void write_pattern(__nv_bfloat16* data, std::int64_t count, std::int64_t rank) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) data[i] = __float2bfloat16(pattern(rank, i));
}

__global__ void count_wrong(const __nv_bfloat16* got, std::int64_t count, CollectiveKind kind, std::int64_t rank, std::int64_t ranks, std::int64_t part, unsigned* wrong) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    float want = 0.0F;
    switch (kind) {
      case CollectiveKind::all_reduce:
        for (std::int64_t r = 0; r < ranks; ++r) want += pattern(r, i);
        break;
      case CollectiveKind::reduce_scatter:
        for (std::int64_t r = 0; r < ranks; ++r) want += pattern(r, rank * part + i);
        break;
      case CollectiveKind::all_gather: want = pattern(i / part, i % part); break;
      case CollectiveKind::all_to_all: want = pattern(i / part, rank * part + i % part); break;
      case CollectiveKind::broadcast: want = pattern(0, i); break;
      case CollectiveKind::send_receive: want = pattern((rank + ranks - 1) % ranks, i); break;
    }
    if (!(__bfloat162float(got[i]) == want)) atomicAdd(wrong, 1u);
  }
}

struct Operation {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t bytes = 0;
  bool in_place = false;
  int ranks = 1;

  [[nodiscard]] std::int64_t count() const { return bytes / 2; }
  [[nodiscard]] std::int64_t part() const { return count() / ranks; }
  [[nodiscard]] std::int64_t in_count() const { return kind == CollectiveKind::all_gather ? part() : count(); }
  [[nodiscard]] std::int64_t out_count() const { return kind == CollectiveKind::reduce_scatter ? part() : count(); }
};

struct State {
  Operation op;
  std::vector<NcclGroup*> groups;
  std::vector<std::vector<void*>> in, out;  // by group, by rank
  std::vector<GraphExec> graphs;            // by group and rank
  std::map<std::string, std::string> notes;

  void enqueue() const {
    if (!graphs.empty()) {
      for (std::size_t i = 0; i < graphs.size(); ++i) {
        const auto rank = static_cast<int>(i % static_cast<std::size_t>(op.ranks));
        const DeviceScope scope(rank);
        graphs[i].launch(groups[i / static_cast<std::size_t>(op.ranks)]->stream(rank));
      }
      return;
    }
    for (std::size_t g = 0; g < groups.size(); ++g) groups[g]->enqueue(op.kind, in[g], out[g], op.bytes);
  }
  void synchronize() const {
    for (const NcclGroup* group : groups) group->synchronize();
  }
  void capture_graphs() {
    // All captures end before a graph is instantiated: instantiating allocates, which a capture on another device forbids.
    std::vector<Graph> captured;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (int r = 0; r < op.ranks; ++r) {
        const DeviceScope scope(r);
        check_cuda(cudaStreamBeginCapture(groups[g]->stream(r), cudaStreamCaptureModeThreadLocal), "begin a capture");
      }
      groups[g]->enqueue(op.kind, in[g], out[g], op.bytes);
      for (int r = 0; r < op.ranks; ++r) {
        const DeviceScope scope(r);
        cudaGraph_t graph = nullptr;
        check_cuda(cudaStreamEndCapture(groups[g]->stream(r), &graph), "end a capture");
        captured.emplace_back(graph);
      }
    }
    for (std::size_t i = 0; i < captured.size(); ++i) {
      const DeviceScope scope(static_cast<int>(i % static_cast<std::size_t>(op.ranks)));
      graphs.push_back(captured[i].instantiate());
    }
  }
};

/// Writes the inputs anew, runs once, and compares every element on every rank.
Check check_collective(State& s) {
  const Operation& op = s.op;
  (void)new_nccl_choices();
  for (std::size_t g = 0; g < s.groups.size(); ++g) {
    for (int r = 0; r < op.ranks; ++r) {
      const DeviceScope scope(r);
      const cudaStream_t stream = s.groups[g]->stream(r);
      if (!op.in_place) poison(s.out[g][static_cast<std::size_t>(r)], static_cast<std::size_t>(op.out_count()) * 2, stream);
      write_pattern<<<512, 256, 0, stream>>>(static_cast<__nv_bfloat16*>(s.in[g][static_cast<std::size_t>(r)]), op.in_count(), r);
      check_launch("write a pattern");
    }
    s.groups[g]->synchronize();
  }
  s.enqueue();
  s.synchronize();
  unsigned all_wrong = 0;
  for (std::size_t g = 0; g < s.groups.size(); ++g) {
    for (int r = 0; r < op.ranks; ++r) {
      const DeviceScope scope(r);
      const DeviceBuffer counter(sizeof(unsigned));
      const cudaStream_t stream = s.groups[g]->stream(r);
      check_cuda(cudaMemsetAsync(counter.data(), 0, sizeof(unsigned), stream), "clear a counter");
      count_wrong<<<512, 256, 0, stream>>>(static_cast<const __nv_bfloat16*>(s.out[g][static_cast<std::size_t>(r)]), op.out_count(), op.kind, r, op.ranks, op.part(),
                                           static_cast<unsigned*>(counter.data()));
      check_launch("compare");
      unsigned wrong = 0;
      check_cuda(cudaMemcpyAsync(&wrong, counter.data(), sizeof wrong, cudaMemcpyDeviceToHost, stream), "read a counter");
      check_cuda(cudaStreamSynchronize(stream), "wait for a comparison");
      all_wrong += wrong;
    }
  }
  return {.error = static_cast<double>(all_wrong), .tolerance = 0.0};
}

void note_choice(State& s) {
  // A graph's choice was logged when it was captured.
  const std::vector<NcclChoice> choices = new_nccl_choices();
  if (choices.empty()) return;
  const NcclChoice& choice = choices.back();
  s.notes["nccl_algorithm"] = choice.algorithm;
  s.notes["nccl_protocol"] = choice.protocol;
  s.notes["nccl_channels"] = std::to_string(choice.channels);
}

}  // namespace

CollectiveKind collective_kind(const std::string& op) {
  if (op == "all_reduce") return CollectiveKind::all_reduce;
  if (op == "all_gather") return CollectiveKind::all_gather;
  if (op == "reduce_scatter") return CollectiveKind::reduce_scatter;
  if (op == "all_to_all") return CollectiveKind::all_to_all;
  if (op == "broadcast") return CollectiveKind::broadcast;
  if (op == "send_receive") return CollectiveKind::send_receive;
  throw InternalError("no collective " + op);
}

NcclGroup& Collectives::group(const NcclOptions& options) {
  auto& slot = groups_[options];
  if (!slot) slot = std::make_unique<NcclGroup>(options);
  return *slot;
}

char* Collectives::memory(int rank, std::size_t bytes) {
  if (bytes > kBytes) throw Waived{"needs more memory than is set aside for collectives"};
  while (static_cast<int>(memory_.size()) <= rank) {
    const DeviceScope scope(static_cast<int>(memory_.size()));
    memory_.emplace_back(kBytes);
  }
  return memory_[static_cast<std::size_t>(rank)].at(0);
}

Task prepare_collective(Collectives& collectives, const Key& key) {
  auto s = std::make_shared<State>();
  const std::string& protocol = key.label("protocol");
  s->op = {.kind = collective_kind(key.label("op")), .bytes = key.size("bytes"), .in_place = key.is("place", "in"), .ranks = static_cast<int>(key.size("ranks"))};
  if (s->op.ranks > collectives.gpus()) throw Waived{"this machine has " + std::to_string(collectives.gpus()) + " GPUs"};
  const auto groups = static_cast<std::size_t>(key.size("groups"));
  const std::size_t buffer = (static_cast<std::size_t>(s->op.bytes) + 511) / 512 * 512;
  for (std::size_t g = 0; g < groups; ++g) {
    s->groups.push_back(&collectives.group({.ranks = s->op.ranks, .protocol = protocol == "default" ? "" : protocol, .channels = static_cast<int>(key.size("channels")),
                                            .number = static_cast<int>(g)}));
    auto& in = s->in.emplace_back();
    auto& out = s->out.emplace_back();
    for (int r = 0; r < s->op.ranks; ++r) {
      char* base = collectives.memory(r, buffer * 2 * groups) + buffer * 2 * g;
      const std::ptrdiff_t own_part = s->op.part() * 2 * r;
      out.push_back(base);
      in.push_back(base + buffer);
      if (!s->op.in_place) continue;
      in.back() = out.back();
      if (s->op.kind == CollectiveKind::all_gather) in.back() = base + own_part;
      if (s->op.kind == CollectiveKind::reduce_scatter) out.back() = base + own_part;
    }
  }
  (void)new_nccl_choices();
  if (key.is("launch", "graph")) {
    s->enqueue();  // connections are made by a first call outside
    s->synchronize();
    (void)new_nccl_choices();
    s->capture_graphs();
    note_choice(*s);
  }
  return {.timing = DeviceTimed{[s](int) { s->enqueue(); }, groups > 1 ? Reduction::span : Reduction::last_member},
          .synchronize = [s] { s->synchronize(); },
          .check =
              [s, protocol] {
                const Check check = check_collective(*s);
                note_choice(*s);
                const auto chosen = s->notes.find("nccl_protocol");
                std::string wanted = protocol;
                std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](unsigned char ch) { return static_cast<char>(std::toupper(ch)); });
                if (protocol != "default" && chosen != s->notes.end() && chosen->second != wanted) throw Waived{"NCCL used " + chosen->second + " although " + protocol + " was asked for"};
                return check;
              },
          .notes = [s] { return s->notes; },
          .holds = s};
}

std::shared_ptr<Collectives> make_collectives(int gpus) { return std::make_shared<Collectives>(gpus); }

}  // namespace sgsim::calibrate

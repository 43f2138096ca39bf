#include "tests/support/engine/synthetic.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/support/engine/program_builder.h"

namespace sgsim::testing {
namespace {

using lower::TaskKind;

// Times in the range of LLaMA-3-70B on A100s: half a layer forward 0.9 ms on one of 8 tensor-parallel ranks, an all-reduce
// of 128 MiB in 0.9 ms inside a node, 16 MiB between stages at 20 GB/s, 2 GB of gradients a rank at 20 GB/s.
constexpr double kHalfLayer = 0.9e-3;
constexpr double kTensorCollective = 0.9e-3;
constexpr double kBoundaryBytes = 16777216.0;
constexpr double kGradientBytes = 2e9;
constexpr double kNicBandwidth = 20e9;
constexpr double kNicLatency = 8e-6;
constexpr double kHost = 12e-6, kLaunch = 5e-6;

class Stage {
 public:
  Stage(const MegatronSize& size, int stage)
      : size_(size), stage_(stage), b_(fmt::format("stage {}", stage), size.compute_slowdown, size.transfer_slowdown) {
    b_.host(kHost, kLaunch);
    for (const char* name : {"compute", "tp", "dp", "forward in", "forward out", "backward in", "backward out"}) b_.stream(name);
    tensor_ = b_.comm(0, "all_reduce tp", kTensorCollective);
    data_ = b_.comm(1, "reduce_scatter dp", 40e-6, kGradientBytes, kNicBandwidth, true, graph::CollectiveOp::reduce_scatter);
    const bool first = stage == 0, last = stage + 1 == size.pp;
    const bool used[] = {!first, !last, !last, !first};
    for (int s = 0; s < 4; ++s) {
      if (used[s]) boundary_[s] = b_.comm(static_cast<std::uint16_t>(2 + s), "boundary", kNicLatency, kBoundaryBytes, kNicBandwidth, true, graph::CollectiveOp::send_receive);
    }
  }

  lower::Program write() {
    const int warmup = std::min(size_.pp - stage_ - 1, size_.micro_batches);
    for (int m = 0; m < warmup; ++m) forward(m);
    for (int m = warmup; m < size_.micro_batches; ++m) {
      forward(m);
      backward(m - warmup);
    }
    for (int m = size_.micro_batches - warmup; m < size_.micro_batches; ++m) backward(m);
    b_.collective(2, data_, {b_.last(0)});
    b_.compute(0, 5e-3, {b_.last(2)});
    return b_.program();
  }

 private:
  void layers(int count, double half_layer) {
    for (int half = 0; half < 2 * count; ++half) {
      b_.compute(0, half_layer, {b_.last(1)});
      b_.collective(1, tensor_, {b_.last(0)});
    }
  }
  void forward(int m) {
    b_.micro_batch(m);
    if (stage_ > 0) b_.communicate(TaskKind::receive, 3, boundary_[0]);
    b_.compute(0, 20e-6, {b_.last(3)});
    layers(size_.layers, kHalfLayer);
    if (stage_ + 1 < size_.pp) b_.communicate(TaskKind::send, 4, boundary_[1], {b_.last(1)});
  }
  void backward(int m) {
    b_.micro_batch(m);
    if (stage_ + 1 < size_.pp) b_.communicate(TaskKind::receive, 5, boundary_[2]);
    b_.compute(0, 20e-6, {b_.last(5), b_.last(1)});
    layers(size_.layers, 2.0 * kHalfLayer);
    if (stage_ > 0) b_.communicate(TaskKind::send, 6, boundary_[3], {b_.last(1)});
  }

  MegatronSize size_;
  int stage_;
  ProgramBuilder b_;
  std::uint32_t tensor_ = 0, data_ = 0, boundary_[4] = {};
};

}  // namespace

lower::Workload megatron(const MegatronSize& size) {
  lower::Workload workload;
  for (int s = 0; s < size.pp; ++s) workload.programs.push_back(Stage(size, s).write());
  const int stage_ranks = size.tp * size.dp;
  for (int r = 0; r < stage_ranks * size.pp; ++r) {
    add_rank(workload, static_cast<std::uint32_t>(r / stage_ranks));
    workload.ranks.back().groups.resize(6);
  }
  const auto group = [&](const char* kind, std::uint32_t slot, const std::vector<std::uint32_t>& members, std::uint32_t last_slot) {
    const GroupId id{static_cast<std::uint32_t>(workload.groups.size())};
    workload.groups.push_back({.kind = kind, .members = {}});
    for (const std::uint32_t m : members) {
      workload.groups.back().members.push_back(RankId{m});
      workload.ranks[m].groups[m == members.back() ? last_slot : slot] = id;
    }
  };
  std::vector<std::uint32_t> members;
  for (int first = 0; first < stage_ranks * size.pp; first += size.tp) {
    members.clear();
    for (int t = 0; t < size.tp; ++t) members.push_back(static_cast<std::uint32_t>(first + t));
    group("tp", 0, members, 0);
  }
  for (int s = 0; s < size.pp; ++s) {
    for (int t = 0; t < size.tp; ++t) {
      members.clear();
      for (int d = 0; d < size.dp; ++d) members.push_back(static_cast<std::uint32_t>(s * stage_ranks + d * size.tp + t));
      group("dp", 1, members, 1);
    }
  }
  for (int r = 0; r < stage_ranks * (size.pp - 1); ++r) {
    const auto a = static_cast<std::uint32_t>(r), b = static_cast<std::uint32_t>(r + stage_ranks);
    group("pp forward", 3, {a, b}, 2);
    group("pp backward", 5, {b, a}, 4);
  }
  return workload;
}

lower::Workload fsdp(const FsdpSize& size) {
  ProgramBuilder b("fsdp", size.compute_slowdown, size.transfer_slowdown);
  b.host(kHost, kLaunch);
  b.stream("compute");
  b.stream("gather");
  b.stream("reduce");
  // 70e9 parameters in bfloat16; each of 8 ranks of a node pushes an eighth of a unit through its own NIC.
  const double bytes = 70e9 / size.units * 2.0 / 8.0;
  const std::uint32_t gather = b.comm(0, "all_gather dp", 200e-6, bytes, kNicBandwidth, true, graph::CollectiveOp::all_gather);
  const std::uint32_t reduce = b.comm(0, "reduce_scatter dp", 200e-6, 2.0 * bytes, kNicBandwidth, true, graph::CollectiveOp::reduce_scatter);
  const auto unit = [&](int u, double device, bool backward) {
    // Unit u + prefetch is gathered while unit u computes: its gather waits for the unit before u.
    for (int next = u == 0 ? 0 : u + size.prefetch; next <= u + size.prefetch && next < size.units; ++next) b.collective(1, gather, {b.last(0)});
    const std::uint32_t gathered = b.last(1).position - static_cast<std::uint32_t>(std::min(size.prefetch, size.units - 1 - u));
    b.compute(0, device, {{.stream = 1, .position = gathered}});
    if (backward) b.collective(2, reduce, {b.last(0)});
  };
  for (int u = 0; u < size.units; ++u) unit(u, 15e-3, false);
  for (int u = 0; u < size.units; ++u) unit(u, 45e-3, true);
  b.compute(0, 10e-3, {b.last(2)});

  lower::Workload workload;
  workload.programs.push_back(b.program());
  std::vector<std::uint32_t> all;
  for (int r = 0; r < size.ranks; ++r) {
    add_rank(workload, 0);
    all.push_back(static_cast<std::uint32_t>(r));
  }
  add_group(workload, "dp", all);
  return workload;
}

}  // namespace sgsim::testing

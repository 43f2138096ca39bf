#include <array>

#include "calibrate/bench/draw.h"
#include "calibrate/bench/sweeps.h"

namespace sgsim::calibrate {
namespace {

constexpr std::array<const char*, 6> kOps = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_receive"};
constexpr std::array<const char*, 3> kMainOps = {"all_reduce", "all_gather", "reduce_scatter"};
constexpr std::int64_t kLeast = 1 << 10, kMost = 1ll << 30;

struct Options {
  const char* place = "out";          // in: the result lies over the input
  const char* launch = "stream";      // graph: captured in a CUDA graph
  const char* protocol = "default";   // LL, LL128, Simple: forced
  std::int64_t channels = 0;          // 0: NCCL's choice; else the most thread blocks it may use
  std::int64_t groups = 1;            // communicators over the same GPUs at once
  const char* set = "grid";
};

/// `bytes` as nccl-tests counts: the whole buffer.
Key collective(const char* op, int ranks, std::int64_t bytes, const Options& o) {
  return {.group = "collective",
          .labels = {{"op", op}, {"place", o.place}, {"launch", o.launch}, {"protocol", o.protocol}, {"set", o.set}},
          .sizes = {{"ranks", ranks}, {"bytes", bytes}, {"channels", o.channels}, {"groups", o.groups}}};
}

void sweep(std::vector<Key>& points, const char* op, int ranks, std::int64_t least, std::int64_t factor, const Options& options) {
  for (std::int64_t bytes = least; bytes <= kMost; bytes *= factor) points.push_back(collective(op, ranks, bytes, options));
}

void add_ranks(std::vector<Key>& points, int ranks) {
  for (const char* op : kOps) sweep(points, op, ranks, kLeast, 2, {});
  for (const char* op : kMainOps) {
    sweep(points, op, ranks, kLeast, 4, {.place = "in"});
    for (const char* protocol : {"LL", "LL128", "Simple"}) sweep(points, op, ranks, kLeast, 4, {.protocol = protocol});
    for (const std::int64_t channels : {1, 4, 8, 16}) sweep(points, op, ranks, 1 << 20, 16, {.channels = channels});
    sweep(points, op, ranks, 1 << 16, 16, {.groups = 2});
  }
  for (const char* op : kOps) sweep(points, op, ranks, kLeast, 16, {.launch = "graph"});
}

}  // namespace

std::vector<Key> held_out_collectives(int gpus) {
  std::vector<Key> points;
  if (gpus < 2) return points;
  Draw draw(20260104);
  for (const char* op : kOps) {
    for (int i = 0; i < 10; ++i) points.push_back(collective(op, gpus, draw.log_uniform(1 << 16, kMost, 4096), {.set = "held_out"}));
  }
  return points;
}

std::vector<Key> collective_sweep(int gpus) {
  std::vector<Key> points;
  sweep(points, "all_reduce", 1, kLeast, 32, {});
  for (int ranks = 2; ranks <= gpus; ranks = ranks * 2 <= gpus || ranks == gpus ? ranks * 2 : gpus) add_ranks(points, ranks);
  return points;
}

std::vector<Key> interference_sweep(int gpus) {
  std::vector<Key> points;
  if (gpus < 2) return points;
  for (const char* compute : {"matmul", "attention", "bandwidth"}) {
    for (const char* op : kMainOps) {
      for (const std::int64_t bytes : {1ll << 22, 1ll << 26, 1ll << 29}) {
        for (const std::int64_t channels : {0, 4, 16}) {
          for (const char* side : {"compute", "transfer"}) {
            points.push_back({.group = "interference", .labels = {{"compute", compute}, {"op", op}, {"side", side}},
                              .sizes = {{"ranks", gpus}, {"bytes", bytes}, {"channels", channels}}});
          }
        }
      }
    }
  }
  for (const char* first : {"matmul", "attention", "bandwidth"}) {
    for (const char* second : {"matmul", "attention", "bandwidth"}) {
      points.push_back({.group = "interference", .labels = {{"compute", first}, {"beside", second}, {"side", "compute"}}, .sizes = {{"ranks", 1}}});
    }
  }
  return points;
}

}  // namespace sgsim::calibrate

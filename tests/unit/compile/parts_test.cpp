// The parts of fusion that stand alone: maximum flow, reduction splits, strides through views.
#include "sim/compile/fuse/access.h"
#include "sim/compile/fuse/max_flow.h"
#include "sim/compile/fuse/reduction_split.h"
#include "tests/support/catch.h"

#include <random>

using namespace sgsim::compile::fuse;

namespace {

Dims dims(std::initializer_list<std::int64_t> values) {
  Dims d;
  for (const std::int64_t v : values) d.push_back(v);
  return d;
}

Read read(std::initializer_list<std::int64_t> strides) {
  Read r;
  r.strides = dims(strides);
  return r;
}

}  // namespace

// s -> a 3, s -> b 2, a -> b 1, a -> t 2, b -> t 3: 5 flow out of s, 5 into t.
TEST_CASE("maximum flow of a small network") {
  FlowNetwork n(4);
  n.add_edge(0, 1, 3);
  n.add_edge(0, 2, 2);
  n.add_edge(1, 2, 1);
  n.add_edge(1, 3, 2);
  n.add_edge(2, 3, 3);
  CHECK(n.maximise(0, 3) == 5);
}

// 0 -> 1 -> 2 -> 3 with capacities 2, 2, 5: both first edges are minimum cuts; the one nearest to the sink leaves only 2, 3.
TEST_CASE("of equal cuts the one nearest to the sink is taken") {
  FlowNetwork n(4);
  n.add_edge(0, 1, 2);
  n.add_edge(1, 2, 2);
  n.add_edge(2, 3, 5);
  CHECK(n.maximise(0, 3) == 2);
  CHECK(n.sink_side(3) == std::vector<char>{0, 0, 1, 1});
}

TEST_CASE("maximum flow equals the least cut of all vertex subsets") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    constexpr int kVertices = 7;
    std::int64_t capacity[kVertices][kVertices] = {};
    FlowNetwork n(kVertices);
    for (int i = 0; i < 14; ++i) {
      const auto from = random() % kVertices, to = random() % kVertices;
      const auto c = static_cast<std::int64_t>(random() % 9);
      if (from == to) continue;
      capacity[from][to] += c;
      n.add_edge(static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), c);
    }
    std::int64_t least = FlowNetwork::kUnlimited;
    for (unsigned subset = 0; subset < (1U << kVertices); ++subset) {
      if (!(subset & 1U) || (subset >> (kVertices - 1)) & 1U) continue;  // source 0 inside, sink outside
      std::int64_t cut = 0;
      for (int a = 0; a < kVertices; ++a) {
        for (int b = 0; b < kVertices; ++b) {
          if ((subset >> a & 1U) && !(subset >> b & 1U)) cut += capacity[a][b];
        }
      }
      least = std::min(least, cut);
    }
    CHECK(n.maximise(0, kVertices - 1) == least);
  }
}

// Grids in profiles of an H200 (validation data set, shared/truth/h200): sums over 1,024 rows of 768 columns in 8 parts
// (gpt2_124m_mb1: 384 blocks of 16 x 8 columns); over 4,096 rows of 8,192 columns in 16 (llama_70b_l1); batch norm over
// 802,816 places of 64 channels in 1,024 parts, those in 8 (resnet50).
TEST_CASE("reductions are cut as profiles show") {
  CHECK(reduction_parts(768, 1024, true) == 8);
  CHECK(reduction_parts(8192, 4096, true) == 16);
  CHECK(reduction_parts(64, 802816, true) == 1024);
  CHECK(reduction_parts(64, 1024, true) == 8);
  CHECK(reduction_parts(4096, 8192, false) == 1);   // many rows: no need
  CHECK(reduction_parts(1, 4096, false) == 1);      // one short row
  CHECK(reduction_parts(1, 1 << 20, false) > 1);    // one long row
  CHECK(reduction_parts(16384, 1024, true) == 1);   // enough results for the whole GPU
}

TEST_CASE("short rows stay in registers, short columns too") {
  CHECK(is_persistent(1024, false));
  CHECK_FALSE(is_persistent(1025, false));
  CHECK(is_persistent(64, true));
  CHECK_FALSE(is_persistent(65, true));
}

TEST_CASE("matrices that are summed both ways are tall and large") {
  CHECK(sums_both_ways(8192, 2048));         // llama_1b
  CHECK_FALSE(sums_both_ways(4096, 8192));   // llama_70b_l1: wider than half its height
  CHECK_FALSE(sums_both_ways(1024, 768));    // gpt2_124m_mb1: stays in the cache
  CHECK_FALSE(sums_both_ways(4096, 1024));   // under 5 Mi elements
}

TEST_CASE("strides go through views as PyTorch's do") {
  const Dims from = dims({2, 3, 4});
  View permute;
  permute.kind = ViewKind::permute;
  permute.permutation = dims({2, 0, 1});
  CHECK(through_view(read({12, 4, 1}), permute, from, dims({4, 2, 3})).strides == dims({1, 12, 4}));
  View reshape;
  reshape.kind = ViewKind::reshape;
  CHECK(through_view(read({12, 4, 1}), reshape, from, dims({6, 4})).strides == dims({4, 1}));
  CHECK(through_view(read({12, 4, 1}), reshape, from, dims({2, 1, 12})).strides == dims({12, 0, 1}));
  const Read transposed = through_view(read({4, 8, 1}), reshape, from, dims({6, 4}));  // dimensions 0 and 1 do not merge
  CHECK(transposed.place != 0);
  CHECK(transposed.touched == 24.0);
  View slice;
  slice.kind = ViewKind::slice;
  slice.dimension = 2;
  slice.start = 1;
  slice.step = 2;
  const Read sliced = through_view(read({12, 4, 1}), slice, from, dims({2, 3, 2}));
  CHECK(sliced.offset == 1);
  CHECK(sliced.strides == dims({12, 4, 2}));
  View select;
  select.kind = ViewKind::slice;
  select.dimension = 1;
  select.start = 2;
  select.drops_dimension = true;
  const Read selected = through_view(read({12, 4, 1}), select, from, dims({2, 4}));
  CHECK(selected.offset == 8);
  CHECK(selected.strides == dims({12, 1}));
  CHECK(broadcast(read({1}), dims({4}), dims({2, 3, 4})).strides == dims({0, 0, 1}));
  CHECK(broadcast(read({1, 1}), dims({3, 1}), dims({2, 3, 4})).strides == dims({0, 1, 0}));
}

TEST_CASE("equal accesses of different loop nests are recognised") {
  auto describe_loops = [](std::vector<Loop> loops) {
    Dependency d;
    describe(d, loops, 0, 0);
    return d;
  };
  const Dependency flat = describe_loops({{24, 1}});
  CHECK(describe_loops({{6, 4}, {4, 1}}).signature == flat.signature);      // contiguous in two loops
  CHECK(describe_loops({{6, 4}, {1, 99}, {4, 1}}).signature == flat.signature);
  CHECK(describe_loops({{24, 1}, {7, 0}}).signature == flat.signature);     // broadcast over an inner loop
  CHECK(describe_loops({{4, 1}, {6, 4}}).signature != flat.signature);      // transposed
  CHECK(describe_loops({{12, 2}}).signature != flat.signature);
  CHECK(flat.contiguous);
  CHECK(flat.whole);
  CHECK_FALSE(describe_loops({{4, 1}, {6, 4}}).contiguous);
  CHECK_FALSE(describe_loops({{24, 1}, {7, 0}}).whole);
}

#include <array>
#include <set>

#include "calibrate/bench/draw.h"
#include "calibrate/bench/sweeps.h"

namespace sgsim::calibrate {
namespace {

constexpr double kMostFlops = 6e12;
constexpr std::int64_t kMostElements = 1ll << 28;  // of one operand

double flops(std::int64_t batch_heads, std::int64_t length, std::int64_t head_dim, bool causal, bool backward) {
  return (backward ? 10.0 : 4.0) * static_cast<double>(batch_heads) * static_cast<double>(length) * static_cast<double>(length) *
         static_cast<double>(head_dim) * (causal ? 0.5 : 1.0);
}

struct Shape {
  std::int64_t batch, heads, kv_heads, length, head_dim;
  bool causal, backward;
  const char* set = "grid";
  const char* mask = "none";
};

bool fits(const Shape& s) {
  return flops(s.batch * s.heads, s.length, s.head_dim, s.causal, s.backward) <= kMostFlops && s.batch * s.heads * s.length * s.head_dim <= kMostElements;
}

Key attention(const Shape& s, const char* kernel = "flash") {
  return {.group = "attention",
          .labels = {{"dtype", "bfloat16"}, {"kernel", kernel}, {"pass", s.backward ? "backward" : "forward"}, {"causal", s.causal ? "yes" : "no"},
                     {"mask", s.mask}, {"set", s.set}},
          .sizes = {{"batch", s.batch}, {"heads", s.heads}, {"kv_heads", s.kv_heads}, {"length", s.length}, {"head_dim", s.head_dim}}};
}

constexpr std::array<std::int64_t, 3> kHeadDims = {64, 96, 128};

void add_grid(std::vector<Key>& points, const Shape& base, const std::vector<std::int64_t>& lengths, const std::vector<std::int64_t>& batch_heads, std::int64_t group) {
  for (const std::int64_t length : lengths) {
    for (const std::int64_t bh : batch_heads) {
      Shape s = base;
      s.heads = bh >= 32 ? 32 : bh;
      s.batch = bh / s.heads;
      s.kv_heads = s.heads / group;
      s.length = length;
      if (s.kv_heads > 0 && fits(s)) points.push_back(attention(s));
    }
  }
}

/// Random attentions, every second one backward, none of which is among `taken` (whatever its set), which grows.
std::vector<Key> random_attention(std::uint64_t seed, int count, const char* set, std::set<Key>& taken) {
  std::vector<Key> points;
  Draw draw(seed);
  while (static_cast<int>(points.size()) < count) {
    Shape s{.batch = draw.log_uniform(1, 16, 1), .heads = draw.log_uniform(4, 64, 4), .kv_heads = 1, .length = draw.log_uniform(256, 16384, 64),
            .head_dim = draw.one_of(kHeadDims), .causal = draw.uniform() < 0.7, .backward = points.size() % 2 == 1, .set = set};
    const std::int64_t group = draw.one_of(std::array<std::int64_t, 4>{1, 1, 4, 8});
    if (s.heads % group != 0) continue;
    s.kv_heads = s.heads / group;
    Key anonymous = attention(s);
    anonymous.labels["set"] = "";
    if (fits(s) && taken.insert(anonymous).second) points.push_back(attention(s));
  }
  return points;
}

std::vector<Key> fixed_attention();

std::set<Key> without_sets(const std::vector<Key>& points) {
  std::set<Key> keys;
  for (Key key : points) {
    key.labels["set"] = "";
    keys.insert(std::move(key));
  }
  return keys;
}

constexpr std::uint64_t kHeldOutSeed = 20260102, kScatterSeed = 8;
constexpr int kHeldOutCount = 100, kScatterCount = 240;

}  // namespace

std::vector<Key> held_out_attention() {
  std::set<Key> taken = without_sets(fixed_attention());
  return random_attention(kHeldOutSeed, kHeldOutCount, "held_out", taken);
}

std::vector<Key> attention_sweep() {
  std::vector<Key> points = fixed_attention();
  std::set<Key> taken = without_sets(points);
  taken.merge(without_sets(held_out_attention()));
  // Lengths that tiles do not divide: the fit of the analytic bound needs them.
  const std::vector<Key> scatter = random_attention(kScatterSeed, kScatterCount, "scatter", taken);
  points.insert(points.end(), scatter.begin(), scatter.end());
  // Half a second without a pause, and with rests: how the time goes with the clock.
  for (const bool backward : {false, true}) {
    for (const std::int64_t head_dim : {64, 128}) {
      for (const std::int64_t length : {1024, 4096}) {
        for (const char* set : {"sustained", "cool"}) {
          points.push_back(attention({.batch = 16384 / length, .heads = 16, .kv_heads = 16, .length = length, .head_dim = head_dim, .causal = true, .backward = backward, .set = set}));
        }
      }
    }
  }
  return points;
}

namespace {

std::vector<Key> fixed_attention() {
  std::vector<Key> points;
  const std::vector<std::int64_t> lengths = {256, 512, 1024, 2048, 4096, 8192, 16384}, batch_heads = {4, 8, 16, 32, 64, 128, 256};
  const std::vector<std::int64_t> few_lengths = {512, 1024, 2048, 4096, 8192}, few_batch_heads = {8, 16, 32, 64, 128};
  for (const bool backward : {false, true}) {
    for (const std::int64_t head_dim : kHeadDims) {
      const bool common = head_dim != 96;
      for (const bool causal : {true, false}) {
        const Shape base{.batch = 1, .heads = 1, .kv_heads = 1, .length = 0, .head_dim = head_dim, .causal = causal, .backward = backward};
        add_grid(points, base, common ? lengths : few_lengths, common ? batch_heads : few_batch_heads, 1);
        if (common && causal) {
          add_grid(points, base, few_lengths, few_batch_heads, 4);
          add_grid(points, base, few_lengths, few_batch_heads, 8);
        }
      }
    }
    // An explicit additive mask, as encoders with padding use it.
    for (const std::int64_t head_dim : {64, 128}) {
      add_grid(points, {.batch = 1, .heads = 1, .kv_heads = 1, .length = 0, .head_dim = head_dim, .causal = false, .backward = backward, .set = "grid", .mask = "dense"},
               few_lengths, {8, 16, 32, 64, 128, 256}, 1);
    }
  }
  for (const std::int64_t length : {512, 1024, 2048}) {
    for (const std::int64_t bh : {16, 64}) {
      const Shape s{.batch = bh / 16, .heads = 16, .kv_heads = 16, .length = length, .head_dim = 64, .causal = true, .backward = false};
      points.push_back(attention(s, "unfused"));
    }
  }
  return points;
}

}  // namespace

}  // namespace sgsim::calibrate

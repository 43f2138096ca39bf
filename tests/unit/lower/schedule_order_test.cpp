#include <fmt/format.h>

#include <algorithm>

#include "sim/lower/schedule/order.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::lower;

namespace {

// "F0 F1 B0": pass, micro-batch; with chunks "F0.1": chunk 1.
std::string text(const std::vector<PassStep>& order, bool chunks = false) {
  std::string s;
  for (const PassStep& p : order) {
    s += fmt::format("{}{}{}", s.empty() ? "" : " ", p.forward ? 'F' : p.gradients == Gradients::weights ? 'W' : 'B', p.micro_batch);
    if (chunks) s += fmt::format(".{}", p.virtual_stage);
  }
  return s;
}

}  // namespace

TEST_CASE("GPipe runs all forward passes first") {
  CHECK(text(pass_order(plan::Schedule::gpipe, 2, 1, 3, 0)) == "F0 F1 F2 B0 B1 B2");
  CHECK(text(pass_order(plan::Schedule::gpipe, 2, 1, 3, 1)) == "F0 F1 F2 B0 B1 B2");
}

// PipeDream-Flush, Narayanan et al. 2021, figure 4 (top): stage s of p runs p - s - 1 forward passes ahead.
TEST_CASE("1F1B alternates after its warm-up") {
  CHECK(text(pass_order(plan::Schedule::one_f_one_b, 2, 1, 4, 0)) == "F0 F1 B0 F2 B1 F3 B2 B3");
  CHECK(text(pass_order(plan::Schedule::one_f_one_b, 2, 1, 4, 1)) == "F0 B0 F1 B1 F2 B2 F3 B3");
  CHECK(text(pass_order(plan::Schedule::one_f_one_b, 4, 1, 2, 0)) == "F0 F1 B0 B1");  // fewer micro-batches than stages
  CHECK(text(pass_order(plan::Schedule::one_f_one_b, 1, 1, 2, 0)) == "F0 B0 F1 B1");
}

// Narayanan et al. 2021, figure 4 (bottom): 2 chunks a stage, micro-batches in groups of p; stage s runs
// 2 (p - s - 1) + (v - 1) p passes ahead: 4 on stage 0 and 2 on stage 1.
TEST_CASE("interleaved 1F1B takes chunks in groups of micro-batches") {
  CHECK(text(pass_order(plan::Schedule::interleaved, 2, 2, 4, 0), true) ==
        "F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 B2.1 B3.1 B2.0 B3.0");
  CHECK(text(pass_order(plan::Schedule::interleaved, 2, 2, 4, 1), true) ==
        "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0");
}

// Qi et al. 2023, figure 3 (ZB-H1): stage s runs W after the input gradients of s micro-batches later.
TEST_CASE("ZB-H1 delays weight gradients by the stage") {
  CHECK(text(pass_order(plan::Schedule::zero_bubble, 2, 1, 3, 0)) == "F0 F1 B0 W0 F2 B1 W1 B2 W2");
  CHECK(text(pass_order(plan::Schedule::zero_bubble, 2, 1, 3, 1)) == "F0 B0 F1 B1 W0 F2 B2 W1 W2");
  CHECK(text(pass_order(plan::Schedule::zero_bubble, 4, 1, 1, 3)) == "F0 B0 W0");  // fewer micro-batches than the delay
}

TEST_CASE("every schedule runs each pass once, forward before backward") {
  for (const auto schedule : {plan::Schedule::gpipe, plan::Schedule::one_f_one_b, plan::Schedule::interleaved}) {
    const int v = schedule == plan::Schedule::interleaved ? 3 : 1;
    for (int pp = 1; pp <= 4; ++pp) {
      for (int m = pp; m <= 3 * pp; m += pp) {
        for (int stage = 0; stage < pp; ++stage) {
          CAPTURE(static_cast<int>(schedule), pp, m, stage);
          const auto order = pass_order(schedule, pp, v, m, stage);
          REQUIRE(order.size() == static_cast<std::size_t>(2 * v * m));
          for (int c = 0; c < v; ++c) {
            for (int i = 0; i < m; ++i) {
              const auto f = std::find(order.begin(), order.end(), PassStep{true, c, i});
              const auto b = std::find(order.begin(), order.end(), PassStep{false, c, i});
              REQUIRE(f != order.end());
              REQUIRE(b != order.end());
              CHECK(f < b);
            }
          }
        }
      }
    }
  }
}

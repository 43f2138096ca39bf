#include "planner/validate/shares.h"

#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::validate;

TEST_CASE("intervals merge, meet and are taken away") {
  const std::vector<Interval> a = merged({{5, 6}, {0, 2}, {1, 3}, {7, 7}});
  CHECK(a == std::vector<Interval>{{0, 3}, {5, 6}});
  CHECK(length(a) == 4);
  const std::vector<Interval> b = merged({{2, 5.5}});
  CHECK(intersection(a, b) == std::vector<Interval>{{2, 3}, {5, 5.5}});
  CHECK(without(a, b) == std::vector<Interval>{{0, 2}, {5.5, 6}});
  CHECK(without(b, a) == std::vector<Interval>{{3, 5}});
}

TEST_CASE("shares of a step by hand") {
  // Kernels 0 to 10 and 14 to 18; a transfer 8 to 12 (half of it beside kernels) that waited from 6; a second one waits 18 to 19 and runs to 20;
  // the step is 22 long. Computation 14, overlapped 2, exposed 2 + 1, waiting 1 (the first wait was beside kernels), idle 22 - 14 - 3 - 1.
  const Shares s = shares_of({{0, 10}, {14, 18}}, {{8, 12}, {19, 20}}, {{6, 8}, {18, 19}}, 22.0);
  CHECK(s.compute.value() == 14);
  CHECK(s.overlapped.value() == 2);
  CHECK(s.exposed.value() == 3);
  CHECK(s.waiting.value() == 1);
  CHECK(s.idle.value() == 4);
}

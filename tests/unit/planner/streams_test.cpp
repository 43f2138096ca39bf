#include "planner/search/streams.h"
#include "tests/support/catch.h"

using sgsim::search::run_streams;
using sgsim::search::Slowdown;
using sgsim::search::StreamOp;

namespace {

std::vector<double> ends_of(const std::vector<StreamOp>& ops, Slowdown slowdown) {
  std::vector<double> ends;
  run_streams(ops, slowdown, ends);
  return ends;
}

// Kernels of 2 s, then a transfer of 3 s of their result beside further kernels of 2 s.
const std::vector<StreamOp> kOverlap = {{.stream = 0, .work = 2.0}, {.stream = 1, .work = 3.0, .waits = {0, -1}}, {.stream = 0, .work = 2.0}};

}  // namespace

TEST_CASE("streams: a transfer beside kernels without interference") {
  // kernels 0-2 and 2-4, transfer 2-5
  CHECK(ends_of(kOverlap, {}) == std::vector<double>{2.0, 5.0, 4.0});
}

TEST_CASE("streams: both slow each other while both run") {
  // From 2 on both run: the kernels need 2 x 2 = 4 s, the transfer 3 x 1.5 = 4.5 s. The kernels end at 6; the transfer has done 4 / 1.5 of its 3 s
  // and ends 3 - 4 / 1.5 = 1/3 s later.
  const auto ends = ends_of(kOverlap, {.compute = 2.0, .transfer = 1.5});
  CHECK(ends[0] == Approx(2.0));
  CHECK(ends[2] == Approx(6.0));
  CHECK(ends[1] == Approx(6.0 + 1.0 / 3.0));
}

TEST_CASE("streams: kernels that wait for a transfer, and a second transfer stream") {
  // transfer a 0-4; kernels wait for it 4-5; transfer b on its own stream after a 4-6
  const std::vector<StreamOp> ops = {{.stream = 1, .work = 4.0}, {.stream = 0, .work = 1.0, .waits = {0, -1}}, {.stream = 2, .work = 2.0, .waits = {0, -1}}};
  CHECK(ends_of(ops, {}) == std::vector<double>{4.0, 5.0, 6.0});
}

TEST_CASE("streams: what the host issues late starts late, and a run ends after its last launch") {
  // Kernels of 2 s whose last is launched at 5; the transfer, issued at 1 and waiting for nothing, runs 1-4. While the first kernels do not run any
  // more and the last is not there, the transfer is not slowed: 1-2 beside kernels at half speed, then alone.
  const std::vector<StreamOp> ops = {{.stream = 0, .work = 2.0, .last_launch = 5.0}, {.stream = 1, .work = 3.0, .issued = 1.0}};
  CHECK(ends_of(ops, {}) == std::vector<double>{5.0, 4.0});
  CHECK(ends_of(ops, {.compute = 1.0, .transfer = 2.0}) == std::vector<double>{5.0, 4.5});
}

TEST_CASE("streams: copies on a stream of their own neither slow nor are slowed") {
  const std::vector<StreamOp> ops = {{.stream = 0, .work = 2.0}, {.stream = sgsim::search::kCopies, .work = 3.0}, {.stream = 1, .work = 1.0, .waits = {1, -1}}};
  CHECK(ends_of(ops, {.compute = 2.0, .transfer = 2.0}) == std::vector<double>{2.0, 3.0, 4.0});
}

#include "calibrate/device/activity.h"
#include "calibrate/device/machine.h"
#include "calibrate/device/nccl_names.h"
#include "tests/support/catch.h"

using namespace sgsim::calibrate;

namespace {

Activity kernel(std::int64_t start, std::int64_t end, std::uint32_t correlation, int device = 0, std::uint32_t stream = 7) {
  return {.name = "k", .start_ns = start, .end_ns = end, .device = device, .stream = stream, .correlation = correlation};
}

}  // namespace

TEST_CASE("records out of order come together by their marks") {
  // Run 1: kernels of 10 and 20 ns, run 2: 11 and 21 ns; delivered backwards, marks too.
  const ActivityBatch batch{.activities = {kernel(161, 182, 4), kernel(150, 161, 3), kernel(30, 50, 2), kernel(10, 20, 1)},
                            .marks = {{4, 2}, {3, 2}, {2, 1}, {1, 1}}};
  const Assembly a = assemble(batch, 1, 2);
  REQUIRE(a.runs.size() == 2);
  CHECK(a.runs[0].activities.front().start_ns == 10);
  CHECK(busy_seconds(a.runs[0]) == Approx(30e-9));
  CHECK(span_seconds(a.runs[0]) == Approx(40e-9));
  CHECK(busy_seconds(a.runs[1]) == Approx(32e-9));
  CHECK(a.losses == AssemblyLosses{});
}

TEST_CASE("a lost record costs its run and is counted") {
  const ActivityBatch batch{.activities = {kernel(10, 20, 1), kernel(20, 30, 2), kernel(50, 60, 3), kernel(110, 120, 5), kernel(120, 130, 6)},
                            .marks = {{1, 1}, {2, 1}, {3, 2}, {5, 3}, {6, 3}},
                            .dropped = 1};
  const Assembly a = assemble(batch, 1, 4);  // run 4 left no record at all
  REQUIRE(a.runs.size() == 2);
  CHECK(a.runs[0].mark == 1);
  CHECK(a.runs[1].mark == 3);
  CHECK(a.losses.incomplete_runs == 2);
  CHECK(a.losses.dropped == 1);
}

TEST_CASE("records without correlation belong to no run") {
  const ActivityBatch batch{.activities = {kernel(10, 20, 1), kernel(12, 900, 0), kernel(30, 40, 77)}, .marks = {{1, 1}}};
  const Assembly a = assemble(batch, 1, 1);
  REQUIRE(a.runs.size() == 1);
  CHECK(busy_seconds(a.runs[0]) == Approx(10e-9));
  CHECK(a.losses.unmarked == 2);
}

TEST_CASE("marks of warm-ups are passed over without a word") {
  const ActivityBatch batch{.activities = {kernel(10, 20, 1), kernel(30, 40, 2)}, .marks = {{1, 1ull << 62}, {2, 5}}};
  const Assembly a = assemble(batch, 5, 1);
  REQUIRE(a.runs.size() == 1);
  CHECK(a.losses == AssemblyLosses{});
}

TEST_CASE("two streams of one run: busy counts both, span counts the overlap once") {
  const ActivityBatch batch{.activities = {kernel(0, 100, 1, 0, 7), kernel(50, 150, 2, 0, 8)}, .marks = {{1, 1}, {2, 1}}};
  const Assembly a = assemble(batch, 1, 1);
  REQUIRE(a.runs.size() == 1);
  CHECK(busy_seconds(a.runs[0]) == Approx(200e-9));
  CHECK(span_seconds(a.runs[0]) == Approx(150e-9));
}

TEST_CASE("of a collective the member that started last tells the transfer") {
  // GPU 0 waits 90 ns in the kernel for GPU 1, which is late; both end together.
  const ActivityBatch batch{.activities = {kernel(0, 100, 1, 0), kernel(90, 100, 2, 1)}, .marks = {{1, 1}, {2, 1}}};
  const Assembly a = assemble(batch, 1, 1);
  CHECK(last_member_seconds(a.runs[0]) == Approx(10e-9));
  CHECK(busy_seconds(a.runs[0]) == Approx(100e-9));
}

TEST_CASE("without any mark runs are told apart by order, and that is said") {
  const ActivityBatch batch{.activities = {kernel(30, 42, 0), kernel(10, 20, 0), kernel(20, 30, 0), kernel(42, 50, 0)}};
  const Assembly a = assemble(batch, 1, 2);
  REQUIRE(a.runs.size() == 2);
  CHECK(a.losses.by_order);
  CHECK(busy_seconds(a.runs[0]) == Approx(20e-9));
  CHECK(busy_seconds(a.runs[1]) == Approx(20e-9));
  CHECK(assemble(batch, 1, 3).runs.empty());  // four records are not three runs
}

TEST_CASE("nothing recorded gives nothing") {
  const Assembly a = assemble({}, 1, 3);
  CHECK(a.runs.empty());
  CHECK(a.losses.incomplete_runs == 3);
  CHECK(busy_seconds({}) == 0.0);
  CHECK(span_seconds({}) == 0.0);
  CHECK(last_member_seconds({}) == 0.0);
}

TEST_CASE("names of NCCL kernels") {
  const auto mangled = parse_nccl_kernel("_Z39ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageILm4096EE");
  REQUIRE(mangled);
  CHECK(*mangled == NcclKernelName{.operation = "AllReduce", .algorithm = "RING", .protocol = "LL"});
  const auto plain = parse_nccl_kernel("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  REQUIRE(plain);
  CHECK(*plain == NcclKernelName{.operation = "AllGather", .algorithm = "RING", .protocol = "LL"});
  const auto wide = parse_nccl_kernel("_Z42ncclDevKernel_AllReduce_Sum_f32_TREE_LL12824ncclDevKernelArgsStorageILm4096EE");
  REQUIRE(wide);
  CHECK(wide->protocol == "LL128");
  CHECK(wide->algorithm == "TREE");
  const auto plain_wide = parse_nccl_kernel("ncclDevKernel_AllReduce_Sum_f32_TREE_LL128(ncclDevKernelArgsStorage<4096ul>)");
  REQUIRE(plain_wide);
  CHECK(*plain_wide == NcclKernelName{.operation = "AllReduce", .algorithm = "TREE", .protocol = "LL128"});
  const auto p2p = parse_nccl_kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)");
  REQUIRE(p2p);
  CHECK(*p2p == NcclKernelName{.operation = "SendRecv"});
  CHECK_FALSE(parse_nccl_kernel("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"));
}

TEST_CASE("NCCL's log tells what it chose") {
  const auto choices = parse_tuning_log(
      "host:1:1 [0] NCCL INFO Bootstrap: Using eth0\n"
      "host:1:1 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}\n"
      "host:1:1 [0] NCCL INFO AllGather: 65536 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..7}\n"
      "host:1:1 [0] NCCL INFO AllGather: cut sh");
  REQUIRE(choices.size() == 2);
  CHECK(choices[0] == NcclChoice{.operation = "AllReduce", .algorithm = "RING", .protocol = "SIMPLE", .bytes = 1048576, .channels = 16});
  CHECK(choices[1] == NcclChoice{.operation = "AllGather", .algorithm = "RING", .protocol = "LL128", .bytes = 65536, .channels = 8});
}

TEST_CASE("reasons for a slower clock, in words") {
  CHECK(throttle_text(0x1).empty());  // idle
  CHECK(throttle_text(0x4) == "power cap");
  CHECK(throttle_text(0x4 | 0x40) == "power cap, thermal (hardware)");
}

// Runs with merged collectives mean what their parts mean one by one. Random programs are written in both forms: tensor-parallel groups
// in lockstep, data-parallel ranks that differ, and beside the runs transfers, kernels and copies on other streams.
#include <rapidcheck.h>

#include <cmath>
#include <random>

#include "sim/engine/engine.h"
#include "tests/support/catch.h"
#include "tests/support/engine/program_builder.h"

using namespace sgsim;
using namespace sgsim::testing;

namespace {

constexpr int kTensorComms = 3;

struct Size {
  std::uint64_t seed = 0;
  int data = 1, tensor = 1, steps = 0;
  bool interference = false;
  double speed = 1.0;
};

/// One program, plain or merged: the same for the same seeds.
class Writer {
 public:
  Writer(const Size& size, int data_rank, bool merged)
      : merged_(merged), structure_(size.seed), times_(size.seed + 17u * static_cast<std::uint64_t>(data_rank + 1)),
        b_("p", size.interference ? 1.3 : 1.0, size.interference ? 1.7 : 1.0) {
    for (const char* name : {"compute", "tp", "dp", "side", "copies"}) b_.stream(name);
    std::mt19937_64 comms(size.seed + 5);
    for (int i = 0; i < kTensorComms; ++i) b_.comm(0, "tp", time(comms));
    b_.comm(1, "dp", 5.0 * time(comms));
    for (int i = 0; i < size.steps; ++i) step();
  }

  [[nodiscard]] const lower::Program& program() const { return b_.program(); }

 private:
  static double time(std::mt19937_64& random) { return 0.1 + 1e-3 * static_cast<double>(random() % 3000); }

  void step() {
    switch (structure_() % 6) {
      case 0: b_.collective(kData, kTensorComms, {b_.last(kCompute)}); break;
      case 1: waits_.push_back(b_.last(kData)); break;
      case 2: b_.compute(kSide, time(times_), {b_.last(kCompute)}); break;
      case 3: b_.copy(kCopies, time(times_), {b_.last(kCompute)}); break;
      default: run(1 + structure_() % 5); break;
    }
  }

  void run(std::uint64_t kernels) {
    std::vector<lower::Dependency> waits;
    for (const lower::Dependency& wait : std::exchange(waits_, {})) {
      if (wait.position > 0) waits = {wait};
    }
    lower::Segment segment{.name = NameId{0}, .recompute = {}};
    segment.first_part = static_cast<std::uint32_t>(b_.program().parts.size());
    double sum = 0.0;
    for (std::uint64_t k = 0; k < kernels; ++k) {
      if (k > 0) {
        const auto comm = static_cast<std::uint32_t>(structure_() % kTensorComms);
        const double transfer = b_.program().comms[comm].transfer.time().value();
        if (merged_) {
          sum += part(transfer, comm);
        } else {
          b_.collective(kTensor, comm, {b_.last(kCompute)});
          waits = {b_.last(kTensor)};
        }
      }
      const double kernel = time(times_);
      if (merged_) {
        sum += part(kernel, lower::Part::kKernels);
      } else {
        b_.compute(kCompute, kernel, waits);
      }
    }
    if (!merged_) return;
    segment.part_count = static_cast<std::uint32_t>(b_.program().parts.size()) - segment.first_part;
    b_.compute(kCompute, sum, waits);
    b_.program().tasks.back().segment = static_cast<std::uint32_t>(b_.program().segments.size());
    b_.program().segments.push_back(segment);
  }

  double part(double time, std::uint32_t comm) {
    b_.program().parts.push_back({.device = Seconds(time), .issue_to_end = Seconds(time), .host = {}, .comm = comm});
    return time;
  }

  static constexpr std::uint16_t kCompute = 0, kTensor = 1, kData = 2, kSide = 3, kCopies = 4;
  bool merged_;
  std::mt19937_64 structure_, times_;
  ProgramBuilder b_;
  std::vector<lower::Dependency> waits_;
};

lower::Workload workload_of(const Size& size, bool merged) {
  lower::Workload workload;
  for (int d = 0; d < size.data; ++d) {
    workload.programs.push_back(Writer(size, d, merged).program());
    for (int t = 0; t < size.tensor; ++t) add_rank(workload, static_cast<std::uint32_t>(d), size.speed);
  }
  const auto rank = [&](int d, int t) { return static_cast<std::uint32_t>(d * size.tensor + t); };
  for (int d = 0; d < size.data; ++d) {
    std::vector<std::uint32_t> members;
    for (int t = 0; t < size.tensor; ++t) members.push_back(rank(d, t));
    add_group(workload, "tp", members);
  }
  for (int t = 0; t < size.tensor; ++t) {
    std::vector<std::uint32_t> members;
    for (int d = 0; d < size.data; ++d) members.push_back(rank(d, t));
    add_group(workload, "dp", members);
  }
  return workload;
}

bool near(Seconds a, Seconds b) { return std::abs((a - b).value()) <= 1e-10 * std::max({std::abs(a.value()), std::abs(b.value()), 1.0}); }

bool near(const timeline::Accounting& a, const timeline::Accounting& b) {
  return near(a.compute, b.compute) && near(a.exposed_comm, b.exposed_comm) && near(a.overlapped_comm, b.overlapped_comm) && near(a.bubble, b.bubble) &&
         near(a.host_bound, b.host_bound) && near(a.end, b.end);
}

}  // namespace

TEST_CASE("merged collectives = collectives one by one") {
  CHECK(rc::check("merged = plain, folded = full", [] {
    Size size;
    size.seed = *rc::gen::arbitrary<std::uint64_t>();
    size.data = *rc::gen::inRange(1, 4);
    size.tensor = *rc::gen::inRange(1, 4);
    size.steps = *rc::gen::inRange(0, 60);
    size.interference = *rc::gen::arbitrary<bool>();
    size.speed = *rc::gen::element(1.0, 0.6, 1.5);
    const timeline::Timeline plain = engine::run_fast(engine::unfolded(workload_of(size, false)), {});
    const lower::Workload workload = workload_of(size, true);
    const timeline::Timeline merged = engine::run_fast(engine::unfolded(workload), {});
    const engine::Folded folded = engine::fold(workload);
    const timeline::Timeline small = engine::run_fast(folded, {});
    RC_ASSERT(near(plain.step_time, merged.step_time));
    RC_ASSERT(near(plain.step_time, small.step_time));
    for (std::size_t r = 0; r < plain.ranks.size(); ++r) {
      RC_ASSERT(near(plain.ranks[r], merged.ranks[r]));
      RC_ASSERT(near(plain.ranks[r], small.ranks[folded.class_of[r]]));
    }
  }));
}

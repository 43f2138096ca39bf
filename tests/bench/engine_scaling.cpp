#include <fmt/format.h>
#include <chrono>
#include "sim/engine/engine.h"
#include "tests/support/engine/synthetic.h"
using namespace sgsim;
int main(int argc, char** argv) {
  auto now = [] { return std::chrono::steady_clock::now(); };
  auto s = [](auto a, auto b) { return std::chrono::duration<double>(b - a).count(); };
  const double f = argc > 1 ? atof(argv[1]) : 1.0;
  for (int kind = 0; kind < 2; ++kind) {
    auto t0 = now();
    auto w = kind ? testing::fsdp({.compute_slowdown = f, .transfer_slowdown = f}) : testing::megatron({.compute_slowdown = f, .transfer_slowdown = f});
    auto t1 = now();
    auto folded = engine::fold(w);
    auto t2 = now();
    auto a = engine::run_fast(folded, {});
    auto t3 = now();
    auto full = engine::unfolded(w);
    auto t4 = now();
    auto b = engine::run_fast(full, {});
    auto t5 = now();
    fmt::print("make {:.3f} fold {:.4f} ({} classes) fast {:.4f} ({} tasks) full {:.3f} ({} tasks) step {:.9f} {:.9f}\n", s(t0, t1), s(t1, t2), folded.multiplicity.size(), s(t2, t3), a.tasks, s(t4, t5), b.tasks, a.step_time.value(), b.step_time.value());
    for (auto& r : a.ranks) fmt::print("  compute {:.4f} exposed {:.4f} overlapped {:.4f} bubble {:.4f} host {:.4f} end {:.4f} sum {:.6f}\n", r.compute.value(), r.exposed_comm.value(), r.overlapped_comm.value(), r.bubble.value(), r.host_bound.value(), r.end.value(), (r.compute + r.exposed_comm + r.bubble + r.host_bound).value());
  }
}

// Rescaling a tiny captured job of two ranks, and comparing two runs.
#include "sim/cluster/builders.h"
#include "sim/core/error.h"
#include "sim/engine/engine.h"
#include "sim/replay/rescale.h"
#include "sim/trace/diff.h"
#include "sim/trace/kernel_kind.h"
#include "tests/support/catch.h"
#include "tests/unit/trace/kineto_text.h"

using namespace sgsim;
using namespace sgsim::testing;

namespace {

struct Captured {
  trace::ImportedRun run;
  trace::Matching matching;
  std::vector<trace::Dependencies> dependencies;
};

// One product of 100 us, then an all-reduce of 16 Mi elements (32 MiB) that transfers in 200 us.
Captured captured() {
  const auto text = [](int rank) { return trace_text({launch(100, 1), launch(120, 2), kernel("sm80_gemm", 110, 100, 7, 1), all_reduce(212, 200, 9, 2, 16 << 20)}, rank, 2); };
  Captured c;
  c.run = import::kineto::read({write_trace("rescale0", text(0)), write_trace("rescale1", text(1))}, {});
  c.matching = trace::match_collectives(c.run);
  for (const trace::RankTrace& rank : c.run.ranks) c.dependencies.push_back(trace::recover_dependencies(c.run, rank));
  return c;
}

cost::Profile profile(const std::string& name) { return cost::load_profile(std::string(SGSIM_SOURCE_DIR) + "/scenarios/profiles/" + name + ".json"); }

double step(const Captured& c, replay::Sizes from, replay::Sizes to, const replay::Machine& a, const replay::Machine& b, std::size_t* folded_ranks = nullptr) {
  auto rescaled = replay::rescale(c.run, c.matching, c.dependencies, {.captured = from, .wanted = to, .from = a, .to = b});
  const engine::Folded folded = engine::fold(std::move(rescaled.workload));
  if (folded_ranks != nullptr) *folded_ranks = folded.multiplicity.size();
  return engine::run_fast(folded, {.spans_of = {}, .all_spans = false}).step_time.value();
}

}  // namespace

TEST_CASE("the captured job rescaled onto itself is the captured job") {
  const Captured c = captured();
  const auto cluster = cluster::builtin_cluster("dgx-a100-80gb", 1).value();
  const auto a100 = profile("a100-80gb");
  CHECK(step(c, {2, 1}, {2, 1}, {cluster, a100}, {cluster, a100}) == Approx(312e-6).epsilon(0.02));  // 100 to 412
}

TEST_CASE("a trace of another GPU than the captured machine's is refused; one that names none is counted") {
  Captured c = captured();
  const auto cluster = cluster::builtin_cluster("dgx-h100", 1).value();
  const auto h100 = profile("h100");
  const replay::Rescale request{.captured = {2, 1}, .wanted = {2, 1}, .from = {cluster, h100}, .to = {cluster, h100}};
  CHECK(count_of(replay::rescale(c.run, c.matching, c.dependencies, request).report, "import.rescale.captured_gpu_not_in_file") == 2);
  for (trace::RankTrace& rank : c.run.ranks) rank.gpu = "NVIDIA H100 80GB HBM3";
  CHECK(count_of(replay::rescale(c.run, c.matching, c.dependencies, request).report, "import.rescale.captured_gpu_not_in_file") == 0);
  c.run.ranks[1].gpu = "NVIDIA A100-SXM4-80GB";
  CHECK_THROWS_WITH(replay::rescale(c.run, c.matching, c.dependencies, request), Catch::Contains("NVIDIA A100-SXM4-80GB") && Catch::Contains("dgx-a100-80gb"));
}

TEST_CASE("captured ranks run their own programs in turn: what they wait for each other's hosts stays") {
  // Rank 1's host comes 300 later with its collective: rank 0 waits for it.
  const auto text = [](int rank) {
    const double late = rank == 1 ? 300.0 : 0.0;
    return trace_text({launch(100, 1), launch(120 + late, 2), kernel("sm80_gemm", 110, 100, 7, 1), all_reduce(212 + (rank == 1 ? 218.0 : 0.0), rank == 1 ? 200 : 418, 9, 2, 16 << 20)}, rank, 2);
  };
  Captured c;
  c.run = import::kineto::read({write_trace("turn0", text(0)), write_trace("turn1", text(1))}, {});
  c.matching = trace::match_collectives(c.run);
  for (const trace::RankTrace& rank : c.run.ranks) c.dependencies.push_back(trace::recover_dependencies(c.run, rank));
  const auto cluster = cluster::builtin_cluster("dgx-a100-80gb", 1).value();
  const auto a100 = profile("a100-80gb");
  std::size_t folded = 0;
  CHECK(step(c, {2, 1}, {2, 1}, {cluster, a100}, {cluster, a100}, &folded) == Approx(530e-6).epsilon(0.02));  // 100 to 630
  CHECK(folded == 2);
  CHECK(step(c, {2, 1}, {8, 1}, {cluster, a100}, {cluster, a100}, &folded) > 530e-6);
  CHECK(folded == 2);
}

TEST_CASE("more data parallel ranks: only the collective grows, and equal ranks fold") {
  const Captured c = captured();
  const auto small = cluster::builtin_cluster("dgx-a100-80gb", 1).value(), large = cluster::builtin_cluster("dgx-a100-80gb", 128).value();
  const auto a100 = profile("a100-80gb");
  std::size_t folded = 0;
  const double eight = step(c, {2, 1}, {8, 1}, {small, a100}, {small, a100}), thousand = step(c, {2, 1}, {1024, 1}, {small, a100}, {large, a100}, &folded);
  CHECK(folded == 2);  // a class for each captured rank
  // A ring of 8 moves 2 x 7/8 of the bytes against 2 x 1/2: 1.75 times at one bandwidth.
  CHECK(eight > 112e-6 + 1.2 * 200e-6);
  CHECK(thousand > eight);
}

TEST_CASE("another GPU: products by peak rate") {
  const Captured c = captured();
  const auto from = cluster::builtin_cluster("dgx-a100-80gb", 1).value(), to = cluster::builtin_cluster("dgx-h100", 1).value();
  const auto a100 = profile("a100-80gb"), h100 = profile("h100");
  const double ratio = a100.gpu.peak.at(graph::DType::bfloat16).value / h100.gpu.peak.at(graph::DType::bfloat16).value;
  auto r = replay::rescale(c.run, c.matching, c.dependencies, {.captured = {2, 1}, .wanted = {2, 1}, .from = {from, a100}, .to = {to, h100}});
  // The product's task: its duration by the ratio, and the gap before it.
  CHECK(r.workload.programs[0].tasks[0].device.value() == Approx(100e-6 * ratio).margin(3e-6));
  CHECK(count_of(r.report, "import.rescale.kernels_by_datasheet") == 1);
}

TEST_CASE("what cannot be rescaled is refused with a reason") {
  const Captured c = captured();
  const auto cluster = cluster::builtin_cluster("dgx-a100-80gb", 1).value();
  const auto a100 = profile("a100-80gb");
  CHECK_THROWS_AS(step(c, {2, 1}, {2, 2}, {cluster, a100}, {cluster, a100}), InputError);   // tp 1 was captured
  CHECK_THROWS_AS(step(c, {4, 1}, {8, 1}, {cluster, a100}, {cluster, a100}), InputError);   // the file has 2 ranks
  CHECK_THROWS_AS(step(c, {2, 1}, {16, 1}, {cluster, a100}, {cluster, a100}), InputError);  // 8 GPUs there
}

TEST_CASE("a tensor size that heads, or all that is known, cannot have is refused; what the trace's communicators say is hinted at") {
  const Captured c = captured();  // no shapes: another size must be a multiple or a divisor
  const auto cluster = cluster::builtin_cluster("dgx-a100-80gb", 1).value();
  const auto a100 = profile("a100-80gb");
  const auto refusal = [&](const Captured& of, replay::Sizes from, replay::Sizes to) -> std::string {
    try {
      (void)step(of, from, to, {cluster, a100}, {cluster, a100});
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  CHECK(refusal(c, {1, 2}, {1, 4}).empty());
  CHECK(refusal(c, {1, 2}, {1, 3}).find("tensor parallel size 3") != std::string::npos);
  CHECK(refusal(c, {2, 1}, {2, 4}).find("2 (1 collectives)") != std::string::npos);
  trace::ImportedRun four = c.run;  // of 4 ranks, whose one communicator has all of them: none is a tensor parallel one of 2
  for (trace::RankTrace& rank : four.ranks) rank.world_size = 4;
  four.groups[0].size = 4;
  CHECK(refusal({four, c.matching, c.dependencies}, {2, 2}, {2, 4}).find("no collective of such a group") != std::string::npos);
  // 2 ranks of 6 heads: 12 in all, divided by 3 and 4, not by 8.
  Captured heads = c;
  const auto text = [](int rank) {
    return trace_text({R"({"ph":"X","cat":"cpu_op","name":"aten::_cudnn_attention_forward","pid":10,"tid":20,"ts":99,"dur":8,"args":{"External id":7,"Input Dims":[[1,6,512,64],[1,6,512,64],[1,6,512,64]],"Input type":["c10::BFloat16"]}})",
                       launch(100, 1), launch(120, 2), kernel("sdpa_flash_fprop", 110, 100, 7, 1), all_reduce(212, 200, 9, 2, 16 << 20)}, rank, 2);
  };
  heads.run = import::kineto::read({write_trace("heads0", text(0)), write_trace("heads1", text(1))}, {});
  CHECK(refusal(heads, {1, 2}, {1, 3}).empty());
  CHECK(refusal(heads, {1, 2}, {1, 8}).find("12 heads in all") != std::string::npos);
}

TEST_CASE("a host that is never late: kernels and transfers follow each other") {
  // Kernel b is issued 1,000 after a: the captured step is host-bound; without the host's times 10 to start, 5, the gap, 5.
  Captured c = captured();
  const auto text = [](int rank) { return trace_text({launch(100, 1), launch(1100, 2), kernel("sm80_gemm", 110, 5, 7, 1), all_reduce(1110, 200, 9, 2, 16 << 20)}, rank, 2); };
  c.run = import::kineto::read({write_trace("fed0", text(0)), write_trace("fed1", text(1))}, {});
  c.matching = trace::match_collectives(c.run);
  c.dependencies.clear();
  for (const trace::RankTrace& rank : c.run.ranks) c.dependencies.push_back(trace::recover_dependencies(c.run, rank));
  const auto cluster = cluster::builtin_cluster("dgx-a100-80gb", 1).value();
  const auto a100 = profile("a100-80gb");
  replay::Rescale request{.captured = {2, 1}, .wanted = {2, 1}, .from = {cluster, a100}, .to = {cluster, a100}};
  const auto time = [&] { return engine::run_fast(engine::fold(replay::rescale(c.run, c.matching, c.dependencies, request).workload), {.spans_of = {}, .all_spans = false}).step_time.value(); };
  CHECK(time() == Approx(1210e-6).margin(3e-6));
  request.host = 0.0;
  CHECK(time() == Approx(215e-6).margin(3e-6));
}

TEST_CASE("diff: by kind, stream and layer, greatest change first") {
  const auto run = [](const std::string& name, double gemm, double copy) {
    return read_text(name, trace_text({annotation("FSDP::pre_forward (m.model.layers.3)", 90, 25, 1), launch(100, 1), launch(130, 2), kernel("sm80_gemm", 110, gemm, 7, 1), kernel("elementwise", 500, copy, 8, 2)}));
  };
  const trace::Diff d = trace::diff_runs(run("diff_a", 100, 10), run("diff_b", 150, 5));
  REQUIRE(d.by_kind.size() == 2);
  CHECK(d.by_kind[0].key == "matrix product");
  CHECK(d.by_kind[0].change() == Approx(50e-6));
  CHECK(d.by_kind[1].change() == Approx(-5e-6));
  REQUIRE(d.by_layer.size() == 2);
  CHECK(d.by_layer[0].key == "layers.3");
  CHECK(d.by_stream[0].key == "1 (busiest)");
  CHECK(trace::diff_text(d, 5).find("matrix product") != std::string::npos);
}

TEST_CASE("kernel kinds by name") {
  using trace::KernelKind;
  using trace::kernel_kind;
  CHECK(kernel_kind("nvjet_sm90_tst_256x128") == KernelKind::matmul);
  CHECK(kernel_kind("ncclDevKernel_AllReduce") == KernelKind::communication);
  CHECK(kernel_kind("cudnn_generated_fort_native_sdpa_sm90") == KernelKind::attention);
  CHECK(kernel_kind("triton_poi_fused_add_0") == KernelKind::pointwise);
  CHECK(kernel_kind("void cuApplyLayerNorm<c10::Half, float>") == KernelKind::normalisation);
  CHECK(kernel_kind("void at::native::(anonymous namespace)::multi_tensor_apply_kernel") == KernelKind::optimizer);
  CHECK(kernel_kind("something") == KernelKind::other);
}

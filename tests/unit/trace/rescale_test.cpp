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

TEST_CASE("one rank of two: what exceeds the transfer was waiting for the other, and is not rescaled") {
  // Kernel 110 to 210, all-reduce of 32 MiB from 212 for 5,000. Two A100s move 32 MiB each over at most 300 GB/s: 112 at least, and the model is not off by 6 times.
  const auto text = [](int rank) { return trace_text({launch(100, 1), launch(120, 2), kernel("sm80_gemm", 110, 100, 7, 1), all_reduce(212, 5000, 9, 2, 16 << 20)}, rank, 2); };
  const auto cluster = cluster::builtin_cluster("dgx-a100-80gb", 1).value();
  const auto a100 = profile("a100-80gb");
  const auto read = [](const std::vector<std::string>& files) {
    Captured c;
    c.run = import::kineto::read(files, {});
    c.matching = trace::match_collectives(c.run);
    for (const trace::RankTrace& rank : c.run.ranks) c.dependencies.push_back(trace::recover_dependencies(c.run, rank));
    return c;
  };
  const auto rescaled = [&](const Captured& c) { return replay::rescale(c.run, c.matching, c.dependencies, {.captured = {2, 1}, .wanted = {2, 1}, .from = {cluster, a100}, .to = {cluster, a100}}); };
  const Captured alone = read({write_trace("alone0", text(0))});
  const replay::Rescaled one = rescaled(alone);
  CHECK(count_of(one.report, replay::kWaitingLeftOut) == 1);
  const double transfer = one.workload.programs[0].comms.at(0).transfer.time().value();
  CHECK(transfer > 112e-6);
  CHECK(transfer < 6 * 112e-6);
  CHECK(step(alone, {2, 1}, {2, 1}, {cluster, a100}, {cluster, a100}) == Approx(112e-6 + transfer).margin(5e-6));
  const double eight = step(alone, {2, 1}, {8, 1}, {cluster, a100}, {cluster, a100});
  CHECK(eight < 112e-6 + 3 * transfer);  // a ring of 8 moves 1.75 times the bytes
  CHECK(eight > 112e-6 + transfer);
  // Both ranks: they were at it for 5,000 together, whatever the model thinks. And the replay of one is as measured.
  const Captured both = read({write_trace("alone0", text(0)), write_trace("alone1", text(1))});
  CHECK(count_of(rescaled(both).report, replay::kWaitingLeftOut) == 0);
  CHECK(step(both, {2, 1}, {2, 1}, {cluster, a100}, {cluster, a100}) == Approx(5112e-6).margin(5e-6));
  const auto built = replay::build_programs(alone.run, alone.matching, alone.dependencies);
  CHECK(engine::run_fast(engine::unfolded(built.workload), {.spans_of = {}, .all_spans = false}).step_time.value() == Approx(5112e-6).margin(5e-6));
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

TEST_CASE("more micro-batches of a profile: the engine's thread is the backward pass, and what a blocking call waits is no time of the host's") {
  // Forward on thread 20: kernel a (launched 100, runs 110 to 1,110), a call that waits for it from 110 to 1,110, kernel b (launched 1,120, for 50). Backward on thread 21:
  // c (launched 1,200) in an operator of the engine, d (launched 1,300) in a hook outside of any; the optimizer's kernel e on thread 20 (launched 1,400), 20 each.
  const auto op = [](const std::string& name, double ts, double dur, int id, int thread) {
    return fmt::format(R"({{"ph":"X","cat":"cpu_op","name":"{}","pid":10,"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"External id":{}}}}})", name, thread, ts, dur, id);
  };
  Captured c;
  c.run = read_text("passes", trace_text({launch(100, 1), call("cudaStreamSynchronize", 110, 1000, 9), launch(1120, 2), op("autograd::engine::evaluate_function: MmBackward0", 1190, 30, 1, 21), launch(1200, 3, 21), launch(1300, 4, 21),
                                          annotation("Optimizer.step#AdamW.step", 1390, 40, 2), launch(1400, 5), kernel("a", 110, 1000, 7, 1), kernel("b", 1130, 50, 7, 2), kernel("c", 1210, 20, 7, 3), kernel("d", 1310, 20, 7, 4),
                                          kernel("e", 1410, 20, 7, 5)}));
  c.matching = trace::match_collectives(c.run);
  c.dependencies.push_back(trace::recover_dependencies(c.run, c.run.ranks[0]));
  REQUIRE(c.dependencies[0].waits.size() == 1);
  const auto cluster = cluster::builtin_cluster("dgx-a100-80gb", 1).value();
  const auto a100 = profile("a100-80gb");
  const auto rescaled = replay::rescale(c.run, c.matching, c.dependencies, {.captured = {1, 1, 1, 1}, .wanted = {1, 1, 1, 3}, .from = {cluster, a100}, .to = {cluster, a100}});
  const lower::Program& program = rescaled.workload.programs.at(0);
  CHECK(program.tasks.size() == 3 * 4 + 1);
  double host = 0.0, device = 0.0;
  for (const lower::Task& task : program.tasks) host += task.host.value(), device += task.device.value();
  CHECK(host == Approx(3 * 300e-6).margin(1e-6));  // a to e is 1,300, of which 1,000 were the device's
  CHECK(device == Approx((3 * 1090 + 20) * 1e-6).margin(30e-6));
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

  // Names that are the same for longer than a row are shown where they differ.
  trace::Diff long_names;
  const std::string begin = "void at::native::vectorized_elementwise_kernel<4, at::native::";
  for (const char* end : {"CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)", "CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
                          "GeluCUDAKernelImpl(at::TensorIteratorBase&)>(int)"}) long_names.by_name.push_back({.key = begin + end, .seconds_a = 1.0, .seconds_b = 2.0});
  const std::string text = trace::diff_text(long_names, 5);
  CHECK(text.find("  vectorized_elementwi..r_add<BFloat16>, arr ") != std::string::npos);
  CHECK(text.find("  vectorized_elementwi..r_add<float>, array< ") != std::string::npos);
  CHECK(text.find("  vectorized_elementwise_kernel<4, GeluCUDAK ") != std::string::npos);
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

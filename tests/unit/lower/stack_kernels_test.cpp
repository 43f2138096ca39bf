#include <algorithm>
#include <set>

#include "sim/import/hf_config/hf_config.h"
#include "sim/lower/memory/replay.h"
#include "sim/lower/program/launches.h"
#include "sim/lower/segment/fused_kernels.h"
#include "sim/lower/segment/fused_loss.h"
#include "sim/lower/segment/fused_softmax.h"
#include "tests/support/catch.h"

using namespace sgsim;
using graph::MemoryBound;

namespace {

constexpr const char* kGpt = R"({"model_type": "gpt2", "n_embd": 512, "n_head": 8, "n_layer": 1, "n_inner": 2048, "n_positions": 128, "vocab_size": 1024,
                                "attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "activation_function": "gelu"})";

graph::OperatorGraph gpt(std::int64_t micro_batch) {
  return import::generate_graph(import::parse_hf_config(kGpt, "gpt.json"), {.micro_batch = micro_batch, .sequence = 128, .flash_attention = false, .autocast = false, .dtype = graph::DType::float16});
}

compile::CompiledGraph fused(const graph::OperatorGraph& graph) {
  Diagnostics diagnostics;
  return lower::segment::compile_fused_kernels(graph, std::vector<bool>(graph.nodes.size(), false), diagnostics);
}

std::vector<const compile::Kernel*> named(const compile::CompiledGraph& compiled, std::string_view name) {
  std::vector<const compile::Kernel*> found;
  for (const compile::Kernel& kernel : compiled.kernels) {
    if (kernel.name == name) found.push_back(&kernel);
  }
  return found;
}

double read(const compile::Kernel& kernel) { return std::get<MemoryBound>(kernel.work).read.value(); }
double written(const compile::Kernel& kernel) { return std::get<MemoryBound>(kernel.work).written.value(); }

}  // namespace

TEST_CASE("Megatron-LM's causal softmax reads the lower triangle and writes all") {
  // Scores of 1 x 8 heads: 8 x 128 x 128 halves = 262,144 bytes. Scale, mask and softmax are one kernel.
  const auto compiled = fused(gpt(1));
  constexpr double kScores = 8.0 * 128 * 128 * 2;
  const auto forward = named(compiled, "_softmax");
  REQUIRE(forward.size() == 1);
  CHECK(read(*forward[0]) == kScores / 2);
  CHECK(written(*forward[0]) == kScores);
  CHECK(named(compiled, "masked_fill").empty());
  // The gradient reads two lower triangles: the output's and its gradient's. It carries the name of the last operator, the scale.
  int backward = 0;
  for (const compile::Kernel* kernel : named(compiled, "mul")) {
    if (kernel->phase != graph::Phase::backward || written(*kernel) != kScores) continue;
    ++backward;
    CHECK(read(*kernel) == kScores);
  }
  CHECK(backward == 1);
}

TEST_CASE("Scores that the fused softmax does not take run in float32, step by step") {
  graph::TensorType scores{.shape = {1, 8, 128, 128}, .dtype = graph::DType::float16, .stride = {}};
  CHECK(lower::segment::has_fused_softmax(scores));
  scores.shape = {2, 128, 128};  // 2 heads of one sample: no multiple of 4
  CHECK_FALSE(lower::segment::has_fused_softmax(scores));
  scores.shape = {8, 4100, 4100};
  CHECK_FALSE(lower::segment::has_fused_softmax(scores));
  scores = {.shape = {8, 128, 128}, .dtype = graph::DType::float32, .stride = {}};
  CHECK_FALSE(lower::segment::has_fused_softmax(scores));

  // The same model with 2 heads: scale, mask, softmax apart. Softmax: 4 bytes read and written, and the cast back reads 4 and writes 2.
  std::string two = kGpt;
  two.replace(two.find("\"n_head\": 8"), 11, "\"n_head\": 2");
  const auto graph = import::generate_graph(import::parse_hf_config(two, "gpt.json"), {.micro_batch = 1, .sequence = 128, .flash_attention = false, .autocast = false, .dtype = graph::DType::float16});
  const auto compiled = fused(graph);
  constexpr double kElements = 2.0 * 128 * 128;
  const auto softmax = named(compiled, "_softmax");
  REQUIRE(softmax.size() == 1);
  CHECK(read(*softmax[0]) == kElements * 8);
  CHECK(written(*softmax[0]) == kElements * 6);
  CHECK(named(compiled, "masked_fill").size() == 2);  // forward and backward, each one kernel
}

TEST_CASE("A fused cross entropy reads 16-bit logits twice and writes their gradient once") {
  Diagnostics diagnostics;
  const auto graph = gpt(2);
  compile::CompiledGraph plain = compile::CompiledGraph(fused(graph)), loss = fused(graph);
  lower::segment::fuse_cross_entropy(loss);
  const auto traffic = [](const compile::CompiledGraph& c) {
    double bytes = 0.0;
    for (const char* name : {"_to_copy", "_log_softmax", "nll_loss_forward", "nll_loss_backward", "_log_softmax_backward_data"}) {
      for (const compile::Kernel* kernel : named(c, name)) bytes += read(*kernel) + written(*kernel);
    }
    return bytes;
  };
  constexpr double kLogits = 2.0 * 128 * 1024 * 2;  // 256 rows of 1,024
  CHECK(traffic(loss) == Approx(3 * kLogits).epsilon(0.02));
  CHECK(traffic(plain) > 8 * kLogits);
  CHECK(loss.kernels.size() == plain.kernels.size());
  // Nothing reads what is no longer made.
  std::set<graph::ValueRef> made;
  for (const compile::Kernel& kernel : loss.kernels) made.insert(kernel.saved.begin(), kernel.saved.end());
  for (const compile::Kernel& kernel : loss.kernels) {
    for (graph::ValueRef v : kernel.reads) {
      if (loss.graph.node(v.node).kind == graph::NodeKind::call && !made.contains(v)) {
        const bool by_plain = std::any_of(plain.kernels.begin(), plain.kernels.end(), [&](const compile::Kernel& k) { return std::find(k.saved.begin(), k.saved.end(), v) != k.saved.end(); });
        CHECK_FALSE(by_plain);
      }
    }
  }
}

TEST_CASE("Under CUDA_LAUNCH_BLOCKING a kernel costs its issue, its start and itself") {
  // 10 us to issue, 5 us to start, 100 us to run: 115 us, of device and host alike; two of them 230 us.
  const lower::RunCost one = lower::blocking(lower::kernel_run(100.0_us, 10.0_us, 5.0_us, 1.0_us));
  CHECK(one.device.value() == Approx(115e-6));
  CHECK(one.host.value() == Approx(115e-6));
  const lower::RunCost two = lower::then(one, one);
  CHECK(two.issue_to_end.value() == Approx(230e-6));
  CHECK(two.device.value() == Approx(230e-6));
}

TEST_CASE("Fragmentation takes what a GPU has free, and no more") {
  const lower::RuntimeMemory runtime{.workspaces = {}, .communication = 1_GiB, .context = 1_GiB, .fragmentation = 0.1, .graph_pool = false, .capacity = 80_GiB};
  CHECK(lower::reserved_of(40_GiB, runtime) == 46_GiB);
  CHECK(lower::reserved_of(75_GiB, runtime) == 80_GiB);  // 84.5 wanted; 77 needed
  CHECK(lower::reserved_of(79_GiB, runtime) == 81_GiB);  // needed: does not fit
}

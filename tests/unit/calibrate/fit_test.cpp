// Fits on made-up measurements whose truth is known.
#include <cmath>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "calibrate/record/fit.h"
#include "calibrate/record/fit_host.h"
#include "calibrate/record/fit_tiles.h"
#include "calibrate/record/key_work.h"
#include "calibrate/stats/least_squares.h"
#include "sim/core/error.h"
#include "sim/core/diagnostics.h"
#include "sim/cost/attention.h"
#include "sim/cost/cost.h"
#include "sim/cost/make/datasheets.h"
#include "sim/cost/matmul.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::calibrate;

namespace {

graph::Matmul product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.batch = 1, .m = m, .n = n, .k = k, .b_transposed = true, .dtype = graph::DType::bfloat16, .out_dtype = graph::DType::bfloat16};
}

Measurement measured(Key key, double seconds, std::vector<std::string> kernels = {}) {
  Measurement m{.key = std::move(key), .time = {}, .kernels = std::move(kernels), .notes = {}};
  m.time = {.count = 10, .outliers = 0, .median = seconds, .spread = 0.0, .least = seconds, .greatest = seconds};
  return m;
}

Key product_key(std::int64_t m, std::int64_t n, std::int64_t k, const char* set) {
  return {.group = "matmul", .labels = {{"dtype", "bfloat16"}, {"layout", "nt"}, {"set", set}}, .sizes = {{"batch", 1}, {"m", m}, {"n", n}, {"k", k}}};
}

Samples with_machine() {
  Samples samples;
  GpuInfo gpu;
  gpu.name = "NVIDIA H200";
  gpu.memory_bytes = 150ll << 30;
  samples.machines.push_back({.host_cpu = "cpu", .host_cores = 1, .driver = "1", .libraries = {}, .gpus = {gpu}, .topology_xml = "", .date = "2026-01-01"});
  samples.commands.push_back("test");
  return samples;
}

struct HostFile {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "sgsim_fit_test_host.json";
  nlohmann::json j;
  HostFile() {
    // Eager: 60 us a forward and 120 us a backward pass, 9 us a call, 4 us a kernel, 3 us a call more backward.
    // Compiled: 150 and 400 us, 18 us a launch, 2 us a library call more, 14 us a parameter.
    nlohmann::json eager = nlohmann::json::array(), compiled = nlohmann::json::array();
    const int shapes[][3] = {{10, 9, 4}, {40, 20, 6}, {80, 75, 20}, {200, 60, 12}, {300, 290, 60}};
    for (const auto& s : shapes) {
      const double calls = s[0], kernels = s[1], parameters = s[2];
      eager.push_back({{"forward_calls", calls}, {"backward_calls", 2 * calls}, {"forward_kernels", {0, kernels}}, {"backward_kernels", {0, 2 * kernels}},
                       {"forward_us", 60 + 9 * calls + 4 * kernels}, {"backward_us", 120 + (9 + 3) * 2 * calls + 4 * 2 * kernels}});
      compiled.push_back({{"forward_kernels", {kernels, calls / 10}}, {"backward_kernels", {kernels, calls / 5}}, {"parameters", parameters},
                          {"forward_us", 150 + 18 * (kernels + calls / 10) + 2 * calls / 10}, {"backward_us", 400 + 18 * (kernels + calls / 5) + 2 * calls / 5 + 14 * parameters}});
    }
    const nlohmann::json optimizer = {{"fixed_us", 50}, {"per_tensor_us", 2}, {"zero_grad_fixed_us", 10}, {"zero_grad_per_tensor_us", 0.2}};
    j = {{"format", "sgsim-pytorch-host"}, {"version", 1}, {"machine", "m"}, {"software", "s"}, {"date", "2026-01-01"}, {"missing", nlohmann::json::object()},
         {"sections", {{"eager_classes", {{"add", {{"recorded_us", 9.0}}}}}, {"eager_stacks", {{"stacks", eager}}}, {"compiled_stacks", {{"stacks", compiled}}},
                       {"optimizers", {{"fused", optimizer}, {"foreach", optimizer}}}, {"loop", {{"copy_to_device_us", 8}, {"synchronize_us", 6}}},
                       {"cuda_graphs", {{"replay_fixed_us", 5}, {"replay_per_node_us", 0.2}}}, {"reduce_overhead", {{"fixed_us", 800}, {"per_parameter_us", 20}}},
                       {"communication", {{"calls", {{"all_reduce_us", 20}, {"all_gather_us", 30}, {"reduce_scatter_us", 40}}}, {"wait_us", 3}, {"ddp", {{"per_layer_us", 100}}}, {"fsdp2", {{"per_layer_us", 1000}}}}}}}};
    write();
  }
  void write() const { std::ofstream(path) << j.dump(); }
  ~HostFile() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("least squares finds a power law and is not pulled by outliers") {
  // y = 3 x^0.5 with one of ten points ten times too high; parameters are log 3 and 0.5.
  std::vector<double> x, y;
  for (int i = 1; i <= 10; ++i) x.push_back(i), y.push_back(3.0 * std::sqrt(i) * (i == 4 ? 10.0 : 1.0));
  const auto residuals = [&](const Vector& p, Vector& r) {
    for (std::size_t i = 0; i < x.size(); ++i) r[i] = p[0] + p[1] * std::log(x[i]) - std::log(y[i]);
  };
  const Vector p = least_squares(residuals, x.size(), {0.0, 0.0}, {.scale = 0.01, .prior = 1e-4});
  CHECK(std::exp(p[0]) == Approx(3.0).epsilon(0.02));
  CHECK(p[1] == Approx(0.5).epsilon(0.02));
}

TEST_CASE("least squares never ends worse than it began") {
  // A residual that no step can lower: its derivative points to a NaN.
  const auto residuals = [](const Vector& p, Vector& r) { r[0] = p[0] > 1e-3 ? std::nan("") : 1.0 - p[0]; };
  const Vector p = least_squares(residuals, 1, {0.0}, {});
  CHECK(p[0] <= 1e-3);
  CHECK(p[0] >= 0.0);
}

TEST_CASE("tiles are read off kernels' names, columns first") {
  CHECK(tile_of({"nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNN"}) == std::pair<std::int64_t, std::int64_t>{128, 192});
  CHECK(tile_of({"fill", "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNN"}) == std::pair<std::int64_t, std::int64_t>{8, 64});
  CHECK(tile_of({"ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn"}) == std::pair<std::int64_t, std::int64_t>{256, 128});
  CHECK(tile_of({"nvjet_sm90_tst_128x64_64x8_1x2_h_bz_splitK_TNT", "splitKreduce_kernel"}).first == 0);
  CHECK(tile_of({"gemv"}).first == 0);
}

TEST_CASE("fitted tiles predict products of kernels that they were fitted on") {
  // Truth: two tiles, 256 x 128 at 0.85 and 128 x 64 at 0.6, k_overhead 100, 3 us, whole waves. Each product is run by the faster.
  const cost::Datasheet gpu = cost::make::datasheet("h200");
  cost::MatmulModel truth = cost::make::product_model(true);
  truth.tiles = {{256, 128, 0.85}, {128, 64, 0.6}};
  truth.wave_weight = truth.partial_wave_weight = 1.0;
  truth.k_overhead = 100.0;
  truth.fixed = 3.0_us;
  truth.memory_efficiency = 0.85;
  truth.sharpness = 5.0;
  std::vector<TiledProduct> products;
  for (const std::int64_t m : {256, 640, 1024, 2048, 3072, 8192}) {
    for (const std::int64_t n : {192, 512, 1024, 2048, 4096, 6144}) {
      for (const std::int64_t k : {128, 512, 2048, 8192}) {
        const graph::Matmul work = product(m, n, k);
        cost::MatmulModel first = truth, second = truth;
        first.tiles = {truth.tiles[0]};
        second.tiles = {truth.tiles[1]};
        const double a = cost::matmul_bound(gpu, first, work).value(), b = cost::matmul_bound(gpu, second, work).value();
        products.push_back({.work = work, .seconds = std::min(a, b), .tile = a <= b ? std::pair<std::int64_t, std::int64_t>{256, 128} : std::pair<std::int64_t, std::int64_t>{128, 64}});
      }
    }
  }
  cost::MatmulModel fitted = cost::make::product_model(true);
  fit_tiles(gpu, fitted, products);
  REQUIRE(fitted.tiles.size() == 2);
  for (const TiledProduct& p : products) CHECK(cost::matmul_bound(gpu, fitted, p.work).value() == Approx(p.seconds).epsilon(0.04));
  cost::MatmulModel untouched = cost::make::product_model(true);
  fit_tiles(gpu, untouched, {products.begin(), products.begin() + 20});
  CHECK(untouched.tiles == cost::make::product_model(true).tiles);  // twenty products are too few
}

TEST_CASE("attention by waves, worked by hand") {
  // 132 SMs at 1 TFLOP/s each; a block of 128 x 128 x 64 takes 2 products x 2 x 128 x 128 x 64 = 4.194304 MFLOP: at efficiency 0.5
  // 8.388608 us; start 1 us, fixed 2 us.
  cost::Profile p;
  p.gpu = cost::make::datasheet("h200");
  p.gpu.sms.value = 132;
  p.gpu.peak[graph::DType::bfloat16].value = FlopsPerSecond(132e12);
  p.factors["attention.helper_memory_efficiency"] = {0.5, "datasheet"};
  cost::AttentionModel m{.pass = graph::Pass::forward, .dense_mask = false, .head_dim = 64, .efficiency = 0.5, .critical_efficiency = 0.5, .fixed = 2.0_us, .sigma = 0.0, .source = ""};
  m.waves = cost::AttentionWaves{.efficiency = 0.5, .start = 1.0_us, .wave_weight = 1.0, .tail = 0.5, .ragged = 1.1};
  graph::Attention a{.batch = 1, .heads = 132, .kv_heads = 132, .q_len = 256, .kv_len = 256, .head_dim = 64, .causal = false, .dtype = graph::DType::bfloat16, .pass = graph::Pass::forward};
  // 132 heads x 2 row blocks = 2 waves, each 1 us + 2 blocks.
  CHECK(cost::attention_bound(p, m, a).value() * 1e6 == Approx(2.0 + 2.0 * (1.0 + 2.0 * 8.388608)));
  a.heads = a.kv_heads = 133;  // 266 / 132: a third wave for two blocks costs a whole one
  CHECK(cost::attention_bound(p, m, a).value() * 1e6 == Approx(2.0 + 3.0 * (1.0 + 2.0 * 8.388608)));
  a.heads = a.kv_heads = 132;
  a.causal = true;  // row blocks of 1 and 2 key blocks: (2 x 1 + 3 blocks) on each SM, and half of the longest behind it
  CHECK(cost::attention_bound(p, m, a).value() * 1e6 == Approx(2.0 + 2.0 + 3.0 * 8.388608 + 0.5 * (1.0 + 2.0 * 8.388608)));
  a.causal = false;
  a.q_len = a.kv_len = 200;  // 128 does not divide 200: still two blocks each way, 1.1 times as long
  CHECK(cost::attention_bound(p, m, a).value() * 1e6 == Approx(2.0 + 2.0 * (1.0 + 2.0 * 8.388608 * 1.1)));
}

TEST_CASE("PyTorch's host costs come out of its micro-graphs") {
  const HostFile file;
  cost::Profile p;
  fit_host(p, {file.path});
  const auto us = [&](const std::string& name) { return p.times.at(name).value.value() * 1e6; };
  CHECK(us("launch.eager.host_per_operator") == Approx(9.0).epsilon(0.03));
  CHECK(us("launch.eager.host_per_kernel") == Approx(4.0).epsilon(0.03));
  CHECK(us("launch.eager.host_backward_extra") == Approx(3.0).epsilon(0.05));
  CHECK(us("launch.compiled.host_per_kernel") == Approx(18.0).epsilon(0.03));
  CHECK(us("launch.compiled.host_per_operator") == Approx(2.0).epsilon(0.2));
  CHECK(us("launch.cuda_graph.host_per_graph") == Approx(5.0 + 256 * 0.2));
  CHECK(us("launch.eager.host_per_collective") == Approx(33.0));
  // Passes 60 + 120, two copies of 8, a wait of 6, zero_grad 10 + 150 x 0.2, optimizer 150 x 2.
  CHECK(us("launch.eager.host_per_step") == Approx(180.0 + 16.0 + 6.0 + 10.0 + 30.0 + 300.0).epsilon(0.05));
  CHECK(p.times.at("launch.eager.host_per_kernel").source == "pytorch-host");
  CHECK(p.sources.at("pytorch-host").kind == cost::ProvenanceKind::measured);
}

TEST_CASE("a file of PyTorch's host costs without what is needed is refused") {
  HostFile file;
  cost::Profile p;
  file.j["sections"].erase("compiled_stacks");
  file.write();
  CHECK_THROWS_AS(fit_host(p, {file.path}), InputError);
  file.j["format"] = "other";
  file.write();
  CHECK_THROWS_AS(fit_host(p, {file.path}), InputError);
  std::ofstream(file.path) << "nonsense";
  CHECK_THROWS_AS(fit_host(p, {file.path}), InputError);
  CHECK_THROWS_AS(fit_host(p, {"/nowhere/at/all.json"}), EnvironmentError);
}

TEST_CASE("a profile of one GPU, with no base, is whole and reads back") {
  // Products at 600 TFLOP/s + 4 us; two of four nodes are left out of the grid, and one shape is held out.
  Samples samples = with_machine();
  const auto seconds = [](std::int64_t m, std::int64_t n, std::int64_t k) { return 4e-6 + 2.0 * static_cast<double>(m * n * k) / 600e12; };
  for (const std::int64_t m : {1024, 2048, 4096}) {
    for (const std::int64_t n : {1024, 2048, 4096}) {
      for (const std::int64_t k : {1024, 4096}) samples.add(measured(product_key(m, n, k, "grid"), seconds(m, n, k)));
    }
  }
  samples.add(measured(product_key(1536, 3072, 2048, "held_out"), seconds(1536, 3072, 2048)));
  for (const std::int64_t bytes : {1 << 20, 1 << 24, 1 << 28}) {
    samples.add(measured({.group = "memory", .labels = {{"kind", "pointwise"}, {"op", "add"}, {"set", "grid"}}, .sizes = {{"bytes", bytes}, {"columns", 0}}}, 2e-6 + static_cast<double>(bytes) / 4e12));
    samples.add(measured({.group = "memory", .labels = {{"kind", "softmax"}, {"op", "softmax"}, {"set", "grid"}}, .sizes = {{"bytes", bytes}, {"columns", 1024}}}, 2e-6 + static_cast<double>(bytes) / 2e12));
  }
  samples.add(measured({.group = "attention", .labels = {{"dtype", "bfloat16"}, {"kernel", "flash"}, {"pass", "forward"}, {"causal", "yes"}, {"mask", "none"}, {"set", "grid"}},
                        .sizes = {{"batch", 1}, {"heads", 32}, {"kv_heads", 32}, {"length", 2048}, {"head_dim", 128}}}, 100e-6));
  const cost::Profile p = fit_profile(samples, {.name = "test", .base = std::nullopt, .samples_file = "test.samples.jsonl"});
  CHECK(p.name == "test");
  CHECK(cost::profile_from_text(cost::to_text(p), "test") == p);
  REQUIRE(p.matmul_tables.size() == 1);
  CHECK(p.matmul_tables[0].held_out.rows == 1);
  CHECK(p.matmul_tables[0].held_out.median < 0.03);
  CHECK(p.sources.at("nccl-tuner").kind == cost::ProvenanceKind::assumed);
  REQUIRE_FALSE(p.attention_models.empty());
  CHECK(p.attention_models[0].waves.has_value());
  // 8 MB in and 8 MB out at 2 TB/s: bytes read and written are counted together.
  Diagnostics diagnostics;
  const graph::MemoryBound softmax{.kind = graph::MemoryKind::softmax, .read = Bytes(1 << 23), .written = Bytes(1 << 23), .flops = Flops(0.0)};
  CHECK(cost::kernel_time(p, softmax, diagnostics).time.value() * 1e6 == Approx(2.0 + 16.777216 / 2.0).epsilon(0.01));
}

TEST_CASE("samples of no machine, and GPUs without a datasheet, are refused") {
  CHECK_THROWS_AS(fit_profile({}, {}), InputError);
  Samples samples = with_machine();
  samples.machines[0].gpus[0].name = "Some GPU";
  CHECK_THROWS_AS(fit_profile(samples, {}), InputError);
}

TEST_CASE("softmax counts the larger of what it reads and writes, as the cost model does") {
  const Key softmax{.group = "memory", .labels = {{"kind", "softmax"}, {"op", "softmax"}}, .sizes = {{"bytes", 1000}, {"columns", 10}}};
  const auto work = std::get<graph::MemoryBound>(*work_of(softmax, 800.0));
  CHECK(work.read == Bytes(400.0));
  CHECK(work.written == Bytes(400.0));
}

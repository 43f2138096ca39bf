#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "sim/cost/cost.h"
#include "sim/cost/make/datasheets.h"
#include "sim/cost/make/robust.h"
#include "sim/cost/make/rows.h"
#include "sim/cost/make/tables.h"
#include "tests/support/catch.h"

namespace sgsim::cost::make {
namespace {

const std::string kTruth = std::string(SGSIM_SOURCE_DIR) + "/../shared/truth";

bool have_truth() {
  if (std::filesystem::exists(kTruth + "/kernels")) return true;
  std::cout << "skipped: the validation data set is not beside the project\n";
  return false;
}

Profile shipped(const std::string& name) { return load_profile(std::string(SGSIM_SOURCE_DIR) + "/scenarios/profiles/" + name + ".json"); }

/// A table with the shipped profile's bound, made of the rows that `keep` accepts.
Profile remade(Profile profile, const std::vector<ProductRow>& rows, bool hopper) {
  MatmulTable table = product_grid(profile.gpu, profile.matmul_models.front(), rows, product_thinning(hopper));
  table.source = profile.matmul_tables.front().source;
  profile.matmul_tables = {table};
  return profile;
}

struct Spread {
  double median = 0.0, p90 = 0.0;
};
Spread spread_of(const std::vector<double>& errors) { return {median(errors), quantile(errors, 0.9)}; }

// Target: median 3 %, p90 10 %. The H100's and H200's rows scatter by 3 to 4 % among themselves (the same shapes measured on
// both differ by 4 % in the middle half, with equal SMs and clocks), which no interpolation can undo.
TEST_CASE("a fifth of the matrix product rows left out") {
  if (!have_truth()) return;
  struct Case {
    const char* name;
    double median, p90;
  };
  for (const Case& c : {Case{"a100-80gb", 0.030, 0.095}, Case{"h100", 0.036, 0.110}, Case{"h200", 0.032, 0.095}}) {
    const GpuFacts& facts = gpu_facts(c.name);
    std::vector<ProductRow> seen, unseen;
    for (const ProductRow& r : read_products(kTruth + "/kernels/" + std::string(facts.products), "bfloat16")) (is_held_out(r) ? unseen : seen).push_back(r);
    const Spread s = spread_of(product_errors(remade(shipped(c.name), seen, facts.hopper), graph::DType::bfloat16, unseen, 512));
    std::cout << fmt::format("{}: held-out products, m, n, k >= 512: median {:.1f} %, p90 {:.1f} % (allowed {:.1f}, {:.1f})\n", c.name, 100 * s.median, 100 * s.p90, 100 * c.median, 100 * c.p90);
    CHECK(s.median <= c.median);
    CHECK(s.p90 <= c.p90);
  }
}

// Models do not live on the grid of a table: whole planes left out are the harder and the more honest question.
TEST_CASE("whole planes of m and n left out") {
  if (!have_truth()) return;
  struct Case {
    const char* name;
    double median, p90;
  };
  for (const Case& c : {Case{"a100-80gb", 0.045, 0.15}, Case{"h100", 0.050, 0.14}, Case{"h200", 0.045, 0.12}}) {
    const GpuFacts& facts = gpu_facts(c.name);
    std::vector<ProductRow> seen, unseen;
    for (const ProductRow& r : read_products(kTruth + "/kernels/" + std::string(facts.products), "bfloat16")) {
      const bool plane = r.m == 1792 || r.m == 1793 || r.m == 3072 || r.m == 3073 || r.n == 3072 || r.n == 5120 || r.n == 12288;
      (plane ? unseen : seen).push_back(r);
    }
    const Spread s = spread_of(product_errors(remade(shipped(c.name), seen, facts.hopper), graph::DType::bfloat16, unseen, 512));
    std::cout << fmt::format("{}: products on planes left out: median {:.1f} %, p90 {:.1f} % (allowed {:.1f}, {:.1f})\n", c.name, 100 * s.median, 100 * s.p90, 100 * c.median, 100 * c.p90);
    CHECK(s.median <= c.median);
    CHECK(s.p90 <= c.p90);
  }
}

// The method by which a GPU that cannot be measured gets its profile, tried on one that was: H200 products from the H200's
// datasheet and another GPU's table, against all the H200's own rows.
TEST_CASE("H200 products from its datasheet and another GPU's table") {
  if (!have_truth()) return;
  const Profile h200 = shipped("h200");
  const auto rows = read_products(kTruth + "/kernels/h200_sxm_gemm_vllm_0.24.0.csv.gz", "bfloat16");
  struct Case {
    const char* from;
    double median, p90;
  };
  for (const Case& c : {Case{"h100", 0.045, 0.13}, Case{"a100-80gb", 0.12, 0.30}}) {
    const GpuFacts& facts = gpu_facts(c.from);
    Profile from = shipped(c.from);
    if (facts.hopper) from.matmul_models = h200.matmul_models;  // its own are carried from the measured H200
    from = remade(from, read_products(kTruth + "/kernels/" + std::string(facts.products), "bfloat16"), facts.hopper);
    Profile carried = h200;
    carried.matmul_tables = {carried_table(from.matmul_tables.front(), from.gpu, from.matmul_models.front(), h200.gpu, h200.matmul_models.front())};
    const Spread s = spread_of(product_errors(carried, graph::DType::bfloat16, rows, 512));
    std::cout << fmt::format("h200 from {}: median {:.1f} %, p90 {:.1f} % (allowed {:.1f}, {:.1f})\n", c.from, 100 * s.median, 100 * s.p90, 100 * c.median, 100 * c.p90);
    CHECK(s.median <= c.median);
    CHECK(s.p90 <= c.p90);
  }
}

// The H100's products are carried from an H200 that was measured at full clock; the published table of an H100 is of another library, at the
// clocks of loops without a pause.
TEST_CASE("H100 products carried from the measured H200 against the published table") {
  if (!have_truth()) return;
  const auto rows = read_products(kTruth + "/kernels/h100_sxm_gemm_vllm_0.24.0.csv.gz", "bfloat16");
  const Spread s = spread_of(product_errors(shipped("h100"), graph::DType::bfloat16, rows, 512));
  std::cout << fmt::format("h100 carried, against the published table: median {:.1f} %, p90 {:.1f} % (allowed 8, 20)\n", 100 * s.median, 100 * s.p90);
  CHECK(s.median <= 0.08);
  CHECK(s.p90 <= 0.20);
}

// Another library on another A100: TensorRT-LLM's table of the same GPU type, which the profile was not made from.
TEST_CASE("A100 products against a second table") {
  if (!have_truth()) return;
  const auto rows = read_products(kTruth + "/kernels/a100_sxm_gemm_trtllm_1.0.0.csv.gz", "bfloat16");
  const Spread s = spread_of(product_errors(shipped("a100-80gb"), graph::DType::bfloat16, rows, 512));
  std::cout << fmt::format("a100-80gb against TensorRT-LLM's table: median {:.1f} %, p90 {:.1f} % (allowed 7, 14)\n", 100 * s.median, 100 * s.p90);
  CHECK(s.median <= 0.07);
  CHECK(s.p90 <= 0.14);
}

}  // namespace
}  // namespace sgsim::cost::make

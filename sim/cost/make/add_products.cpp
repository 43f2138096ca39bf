#include "sim/cost/make/parts.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/make/fits.h"
#include "sim/cost/make/robust.h"
#include "sim/cost/matmul.h"

namespace sgsim::cost::make {
namespace {

/// A table, and how well one made of four fifths of the rows predicts the last fifth.
MatmulTable product_table(Profile& profile, const MatmulModel& model, const std::vector<ProductRow>& rows, bool hopper, const std::string& source) {
  const Thinning thinning = product_thinning(hopper);
  std::vector<ProductRow> seen, unseen;
  for (const ProductRow& r : rows) (is_held_out(r) ? unseen : seen).push_back(r);
  Profile trial = profile;
  trial.matmul_tables = {product_grid(profile.gpu, model, seen, thinning)};
  const std::vector<double> errors = product_errors(trial, model.dtype, unseen, 512);
  MatmulTable table = product_grid(profile.gpu, model, rows, thinning);
  table.held_out = {.rows = static_cast<int>(errors.size()), .median = median(errors), .p90 = quantile(errors, 0.9)};
  table.source = source;
  return table;
}

/// The serving library's 8-bit rows hold the quantisation of their input: the largest value of each row (2 bytes an element read),
/// then the cast (2 read, 1 written). Taken off at 0.6 of HBM and two launches, what is left is 1.01 times cuBLASLt's own time on
/// the H200 (median of 45 shapes of 2,048 rows and more, profile h200-measured; p10 0.93, p90 1.32: few columns run slower there).
void take_off_quantisation(std::vector<ProductRow>& rows, const Datasheet& gpu) {
  constexpr double kBytes = 5.0, kShare = 0.6, kLaunchesUs = 8.0, kLeast = 0.3;
  for (ProductRow& r : rows) {
    const double quantisation = kBytes * static_cast<double>(r.m) * static_cast<double>(r.k) / (kShare * gpu.hbm_bandwidth.value.value()) * 1e6 + kLaunchesUs;
    r.us = std::max(r.us - quantisation, kLeast * r.us);
  }
}

/// Rate of large products against the bound, for shapes outside every table.
double large_efficiency(const Profile& profile, const MatmulModel& model, const std::vector<ProductRow>& rows) {
  std::vector<double> ratios;
  for (const ProductRow& r : rows) {
    if (r.m < 2048 || r.n < 2048 || r.k < 2048) continue;
    ratios.push_back(matmul_bound(profile.gpu, model, {.batch = 1, .m = r.m, .n = r.n, .k = r.k, .b_transposed = true, .dtype = model.dtype, .out_dtype = graph::DType::bfloat16}).value() * 1e6 / r.us);
  }
  return median(ratios);
}

}  // namespace

void add_products(Profile& p, const GpuFacts& facts, const std::string& truth_dir) {
  const std::string path = truth_dir + "/kernels/" + std::string(facts.products);
  const bool smaller = p.name == "a100-40gb";
  Profile measured = p;  // the GPU that the table was measured on
  if (smaller) measured.gpu = datasheet("a100-80gb");
  MatmulModel model = product_model(facts.hopper);
  const auto rows = read_products(path, "bfloat16");
  model.math_efficiency = large_efficiency(measured, model, rows);
  measured.matmul_models = {model};
  MatmulTable table = product_table(measured, model, rows, facts.hopper, "products-bf16");
  if (smaller) table = carried_table(table, measured.gpu, model, p.gpu, model);
  model.sigma = table.held_out.p90 / 1.645 * 1.5;
  p.matmul_models.push_back(model);
  p.matmul_tables.push_back(table);
  p.sources["products-bf16"] = {
      .kind = smaller ? ProvenanceKind::fitted : ProvenanceKind::measured, .source = "validation data set (shared/truth/kernels/" + std::string(facts.products) + ", gemm_dtype bfloat16)",
      .machine = measured.gpu.name, .date = "", .software = facts.hopper ? "vLLM 0.24.0 (torch.nn.functional.linear)" : "SGLang 0.5.10 (torch linear layer)",
      .note = std::string(kLicence) + ". Nodes are robust local fits over " + std::to_string(rows.size()) + " rows; of the fifth left out with m, n, k >= 512: median error " + percent(table.held_out.median) + ", p90 " +
              percent(table.held_out.p90) + (smaller ? ". Carried from the 80 GB GPU by the bound: same SMs and clock, 1.555 instead of 2.039 TB/s" : "")};
  p.sources["product-bound"] = {.kind = ProvenanceKind::fitted, .source = p.sources["products-bf16"].source, .machine = p.sources["products-bf16"].machine, .date = "", .software = p.sources["products-bf16"].software,
                                .note = facts.hopper ? "plain roofline: cuBLAS on Hopper picks among many persistent tiles, and counting waves made held-out errors larger"
                                                     : "tiles and wave weights by coordinate search on held-out error"};
}

void add_fp8(Profile& p, const GpuFacts& facts, const std::string& truth_dir) {
  MatmulModel model = product_model(true);
  model.dtype = graph::DType::float8_e4m3fn;
  model.source = "products-fp8";
  auto rows = read_products(truth_dir + "/kernels/" + std::string(facts.products), "fp8");
  Profile alone = p;
  take_off_quantisation(rows, alone.gpu);
  model.math_efficiency = large_efficiency(alone, model, rows);
  alone.matmul_models = {model};
  MatmulTable table = product_table(alone, model, rows, true, "products-fp8");
  model.sigma = table.held_out.p90 / 1.645 * 1.5;
  p.sources["products-fp8"] = {.kind = ProvenanceKind::measured, .source = "validation data set (shared/truth/kernels/" + std::string(facts.products) + ", gemm_dtype fp8)", .machine = alone.gpu.name, .date = "",
                               .software = "vLLM 0.24.0 (CutlassFP8ScaledMMLinearKernel)",
                               .note = std::string(kLicence) + ". Less the quantisation of the input, which is in the rows' times: 5 bytes an element at 0.6 of HBM and 8 us (rate and launches fitted to cuBLASLt's "
                                       "products of h200-measured). Held out, m, n, k >= 512: median error " + percent(table.held_out.median) + ", p90 " + percent(table.held_out.p90)};
  p.matmul_models.push_back(model);
  p.matmul_tables.push_back(std::move(table));
}

void add_layouts(Profile& p, const Traces& traces) {
  MatmulModel& bf16 = p.matmul_models.front();
  MatmulModel tf32 = product_model(false);
  tf32 = bf16;
  tf32.dtype = graph::DType::float32;
  tf32.source = "products-tf32";
  tf32.math_efficiency = 0.46;
  tf32.sigma = 0.2;
  if (p.gpu.sms.value == 108) tf32.math_efficiency = 0.75;
  p.matmul_models.push_back(tf32);
  p.sources["products-tf32"] = p.gpu.sms.value == 132 ? traced("TF32 kernels of mixtral_l4_eager: 200 to 252 TFLOP/s, 0.46 of the peak")
                                                      : Provenance{.kind = ProvenanceKind::assumed, .source = "no measurement in the data set", .machine = "", .date = "", .software = "", .note = "0.75 of the TF32 peak, as BF16's large products reach 0.8 of theirs"};
  if (p.gpu.sms.value != 132) {
    p.sources["product-bound"].note += "; layouts NN and NT at the linear layer's time and unaligned rows at twice it are assumptions";
    for (MatmulModel& m : p.matmul_models) m.unaligned_factor = 2.0;
    return;
  }
  const LayoutFactors f = layout_factors(p, traces.products);
  for (MatmulModel& m : p.matmul_models) {
    m.nn_factor = f.nn;
    m.nt_factor = f.nt;
    m.unaligned_factor = 2.9;
  }
  p.sources["product-bound"].note += "; layouts: medians over " + std::to_string(f.shapes) + " shapes of training steps traced on an H200 (PyTorch 2.11), p90 of the errors " + percent(f.spread) +
                                     "; unaligned: BERT's vocabulary of 30,522, 2.6 to 3.2 times the aligned time";
  if (p.name != "h200") return;
  // The traced steps ran the linear layers on the same GPU type a little faster than the table's serving library did.
  MatmulTable& table = p.matmul_tables.front();
  for (std::int64_t& ns : table.time_ns) ns = std::llround(static_cast<double>(ns) * f.linear);
  p.sources["products-bf16"].note += ". Times are scaled to " + percent(f.linear) + ", the median of traced linear layers over the table";
}

}  // namespace sgsim::cost::make

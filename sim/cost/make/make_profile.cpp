#include "sim/cost/make/make_profile.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/core/error.h"
#include "sim/cost/make/datasheets.h"
#include "sim/cost/make/fits.h"
#include "sim/cost/make/robust.h"
#include "sim/cost/make/rows.h"
#include "sim/cost/make/tables.h"
#include "sim/cost/make/traces.h"
#include "sim/cost/matmul.h"

namespace sgsim::cost::make {
namespace {

constexpr const char* kTorch = "PyTorch 2.11.0+cu130, CUDA 13.0";
constexpr const char* kLicence = "NVIDIA AIConfigurator's table, Apache-2.0 (docs/NOTICE.md)";

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100.0);
  return text;
}

/// What the traced H200 runs show, read once.
struct Traces {
  std::vector<Traced<graph::Matmul>> products;
  std::vector<Traced<graph::Attention>> attention;
  std::vector<Traced<graph::Convolution>> convolutions;
  std::vector<TracedBytes> bytes;
};

Traces read_traces(const std::string& truth_dir) {
  // One GPU, no NCCL beside the kernels; of the two-GPU runs only attention, whose kernels stand outside the overlap.
  static constexpr const char* kOneGpu[] = {"gpt2_124m_mb1_compile", "gpt2_350m_compile", "llama_1b_compile", "llama_70b_l1_compile", "resnet50_compile"};
  static constexpr const char* kAttentionOnly[] = {"gpt2_124m_mb1_eager", "gpt2_350m_eager", "mixtral_l4_eager", "llama_8b_tp2_eager", "llama_1b_fsdp2_eager"};
  Traces all;
  const auto append = [](auto& to, auto from) { to.insert(to.end(), from.begin(), from.end()); };
  for (const char* run : kOneGpu) {
    const auto kernels = read_trace(truth_dir + "/h200/" + run + ".trace.json.gz");
    append(all.products, traced_products(kernels));
    append(all.attention, traced_attention(kernels));
    append(all.convolutions, traced_convolutions(kernels));
    append(all.bytes, traced_bytes(kernels));
  }
  for (const char* run : kAttentionOnly) append(all.attention, traced_attention(read_trace(truth_dir + "/h200/" + run + ".trace.json.gz")));
  return all;
}

Provenance traced(std::string note) {
  return {.kind = ProvenanceKind::measured, .source = "validation data set (shared/truth/h200/*.trace.json.gz)", .machine = "NVIDIA H200", .date = "2026-11-29", .software = kTorch, .note = std::move(note)};
}

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

/// Rate of large products against the bound, for shapes outside every table.
double large_efficiency(const Profile& profile, const MatmulModel& model, const std::vector<ProductRow>& rows) {
  std::vector<double> ratios;
  for (const ProductRow& r : rows) {
    if (r.m < 2048 || r.n < 2048 || r.k < 2048) continue;
    ratios.push_back(matmul_bound(profile.gpu, model, {.batch = 1, .m = r.m, .n = r.n, .k = r.k, .b_transposed = true, .dtype = model.dtype, .out_dtype = graph::DType::bfloat16}).value() * 1e6 / r.us);
  }
  return median(ratios);
}

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
      .machine = smaller ? "NVIDIA A100-SXM4-80GB" : p.gpu.name, .date = "", .software = facts.hopper ? "vLLM 0.24.0 (torch.nn.functional.linear)" : "SGLang 0.5.10 (torch linear layer)",
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
  const auto rows = read_products(truth_dir + "/kernels/" + std::string(facts.products), "fp8");
  model.math_efficiency = large_efficiency(p, model, rows);
  Profile alone = p;
  alone.matmul_models = {model};
  MatmulTable table = product_table(alone, model, rows, true, "products-fp8");
  model.sigma = table.held_out.p90 / 1.645 * 1.5;
  p.sources["products-fp8"] = {.kind = ProvenanceKind::measured, .source = "validation data set (shared/truth/kernels/" + std::string(facts.products) + ", gemm_dtype fp8)", .machine = p.gpu.name, .date = "",
                               .software = "vLLM 0.24.0 (CutlassFP8ScaledMMLinearKernel: the quantisation of the input is in the time)",
                               .note = std::string(kLicence) + ". Held out, m, n, k >= 512: median error " + percent(table.held_out.median) + ", p90 " + percent(table.held_out.p90)};
  p.matmul_models.push_back(model);
  p.matmul_tables.push_back(std::move(table));
}

/// Layouts, alignment and TF32 from the traces.
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
  p.sources["product-bound"].note += "; layouts from " + std::to_string(f.shapes) + " shapes traced on an H200 (linear layer " + percent(f.linear) + " of the table's time, p90 of all errors " + percent(f.spread) +
                                     "); unaligned: BERT's vocabulary of 30,522, 2.6 to 3.2 times the aligned time";
}

/// The constants of cuDNN's attention on the H200 that was traced.
std::vector<AttentionModel> traced_attention_models(const Traces& traces, double helper_efficiency) {
  Profile h200;
  h200.gpu = datasheet("h200");
  h200.factors["attention.helper_memory_efficiency"] = {helper_efficiency, ""};
  std::vector<AttentionModel> models;
  for (const graph::Pass pass : {graph::Pass::forward, graph::Pass::backward}) {
    for (const bool dense : {false, true}) {
      for (const std::int64_t head_dim : {64, 128}) {
        AttentionModel m{.pass = pass, .dense_mask = dense, .head_dim = head_dim, .efficiency = 0.5, .critical_efficiency = 0.5, .fixed = pass == graph::Pass::forward ? 2.0_us : 4.0_us, .sigma = 0.1, .source = "attention-traced"};
        fit_attention(h200, m, traces.attention);
        models.push_back(m);
      }
    }
  }
  return models;
}

std::vector<Traced<graph::Attention>> table_rows(const AttentionTable& table) {
  std::vector<Traced<graph::Attention>> rows;
  std::size_t i = 0;
  for (const std::int64_t heads : table.batch_heads) {
    for (const std::int64_t length : table.length) {
      const std::int64_t ns = table.time_ns[i++];
      if (ns == 0) continue;
      rows.push_back({.work = {.batch = 1, .heads = heads, .kv_heads = heads, .q_len = length, .kv_len = length, .head_dim = table.head_dim}, .us = static_cast<double>(ns) * 1e-3, .calls = 1});
    }
  }
  return rows;
}

/// A100: the forward pass from its own table; the backward pass by the published ratio of FlashAttention 2; head size 64 and
/// dense masks by ratio.
void carry_attention_to_a100(Profile& p, const AttentionTable& table) {
  const auto is_base = [](const AttentionModel& m) { return m.pass == graph::Pass::forward && !m.dense_mask && m.head_dim == 128; };
  AttentionModel& base = *std::find_if(p.attention_models.begin(), p.attention_models.end(), is_base);
  const double h200_base = base.efficiency;
  fit_attention(p, base, table_rows(table));
  base.source = "attention-table";
  constexpr double kBackward = 0.63 / 0.73, kHead64 = 0.87;
  for (AttentionModel& m : p.attention_models) {
    if (&m == &base) continue;
    double ratio = m.efficiency / h200_base;
    if (!m.dense_mask) ratio = (m.pass == graph::Pass::backward ? kBackward : 1.0) * (m.head_dim == 64 ? kHead64 : 1.0);
    m.efficiency = base.efficiency * ratio;
    m.critical_efficiency = m.efficiency * base.critical_efficiency / base.efficiency;
    m.sigma = 0.15;
    m.source = "attention-carried";
  }
  p.sources["attention-carried"] = {.kind = ProvenanceKind::published, .source = "Dao, FlashAttention-2 (arXiv 2307.08691), abstract and figures 4 to 6: forward up to 73 %, backward up to 63 % of the A100's peak", .machine = "NVIDIA A100-SXM4-80GB", .date = "2023-07",
                                    .software = "FlashAttention 2", .note = "backward 0.63/0.73 of the forward rate of the table; head size 64 at 0.87 of 128; dense masks by the H200's ratio (both assumed)"};
}

void add_attention(Profile& p, const GpuFacts& facts, const std::string& truth_dir, const Traces& traces) {
  constexpr double kHelpers = 0.55;  // 168 MB of row sums and gradient conversion in 64.6 us (llama_8b_fsdp2_compile)
  p.factors["attention.helper_memory_efficiency"] = {kHelpers, "attention-traced"};
  p.sources["attention-traced"] = traced("cuDNN's fused attention, forward and backward; constants fitted to the shapes of gpt2, llama, mixtral and bert runs");
  p.attention_models = traced_attention_models(traces, kHelpers);
  if (p.name == "h200") return;  // its own traces are nearer than another GPU's serving kernels
  const auto rows = read_attention(truth_dir + "/published/kernels.json.gz", facts.attention_gpu, facts.attention_kernel);
  const Datasheet measured_on = datasheet(facts.hopper ? "h100" : "a100-80gb");
  AttentionTable table = attention_grid(measured_on, rows, 0.75);
  table.source = "attention-table";
  const std::vector<double> errors = attention_errors(p, table);
  table.held_out = {.rows = static_cast<int>(errors.size()), .median = median(errors), .p90 = quantile(errors, 0.9)};
  p.sources["attention-table"] = {.kind = ProvenanceKind::measured, .source = "validation data set (shared/truth/published/kernels.json.gz, attention_fwd_causal, " + std::string(facts.attention_kernel) + ")",
                                  .machine = measured_on.name, .date = "", .software = facts.hopper ? "vLLM 0.24.0, FlashAttention 3" : "vLLM 0.14.0, FlashAttention 2",
                                  .note = std::string(kLicence) + ". Less the key-value cache that these kernels also write (2 x its bytes at 0.75 of HBM: heads per group then no longer matters), median over batch, heads and groups. "
                                          "Each node predicted from the others: median error " + percent(table.held_out.median) + ", p90 " + percent(table.held_out.p90)};
  p.attention_tables.push_back(table);
  if (!facts.hopper) carry_attention_to_a100(p, table);
}

void add_memory(Profile& p, const Traces& traces, bool h200) {
  const Datasheet source_gpu = datasheet("h200");
  const auto hbm = source_gpu.hbm_bandwidth.value;
  const double slower = hbm / p.gpu.hbm_bandwidth.value;
  const double clocks = static_cast<double>(source_gpu.sms.value) * source_gpu.clock_hz.value / (static_cast<double>(p.gpu.sms.value) * p.gpu.clock_hz.value);
  const std::string source = h200 ? "bytes-traced" : "bytes-carried";
  struct Kind {
    graph::MemoryKind kind, from;
    double floor_us, plateau, sigma;  // plateau: share of HBM where the traces have no large kernel of the kind
  };
  using graph::MemoryKind;
  static constexpr Kind kKinds[] = {{MemoryKind::pointwise, MemoryKind::pointwise, 1.1, 0.9, 0.1},   {MemoryKind::copy, MemoryKind::pointwise, 1.1, 0.9, 0.1},
                                    {MemoryKind::transpose, MemoryKind::transpose, 1.3, 0.9, 0.12},  {MemoryKind::reduction, MemoryKind::reduction, 1.6, 0.75, 0.15},
                                    {MemoryKind::norm, MemoryKind::norm, 1.6, 0.75, 0.15},           {MemoryKind::pooling, MemoryKind::reduction, 1.6, 0.75, 0.25},
                                    {MemoryKind::cross_entropy, MemoryKind::cross_entropy, 2.0, 0.32, 0.1}, {MemoryKind::softmax, MemoryKind::cross_entropy, 2.0, 0.32, 0.25},
                                    {MemoryKind::embedding, MemoryKind::embedding, 3.0, 0.7, 0.3},   {MemoryKind::gather_scatter, MemoryKind::embedding, 3.0, 0.5, 0.3},
                                    {MemoryKind::embedding_gradient, MemoryKind::embedding_gradient, 5.0, 0.5, 0.4}, {MemoryKind::optimizer, MemoryKind::optimizer, 8.0, 0.72, 0.06}};
  for (const Kind& k : kKinds) {
    std::vector<TracedBytes> points;
    for (const TracedBytes& b : traces.bytes) {
      if (b.kind == k.from) points.push_back(b);
    }
    BandwidthCurve curve = fit_curve(k.kind, points, k.floor_us, hbm * k.plateau);
    curve = scaled_curve(curve, k.from == MemoryKind::cross_entropy ? clocks : slower);
    curve.sigma = h200 ? k.sigma : k.sigma + 0.05;
    curve.source = points.empty() ? "bytes-rates" : source;
    p.bandwidth_curves.push_back(std::move(curve));
  }
  p.sources["bytes-traced"] = traced("Inductor's Triton kernels of five compiled runs: time over the bytes of their arguments; local robust fits at powers of four");
  p.sources["bytes-carried"] = {.kind = ProvenanceKind::fitted, .source = "the H200's curves, see its profile", .machine = "NVIDIA H200", .date = "2026-11-29", .software = kTorch,
                                .note = "launch floor kept, the rest longer by the ratio of HBM bandwidths (softmax and cross-entropy, which arithmetic binds: of SMs times clock). Check on A100: vLLM's residual add of 4,096 x "
                                        "4,096 half, 100 MB in 55 us (published/kernels.json.gz, microsoft/vidur), is 0.90 of HBM as on the H200"};
  p.sources["bytes-rates"] = {.kind = ProvenanceKind::fitted, .source = "validation data set (shared/truth/h200/*.trace.json.gz)", .machine = "NVIDIA H200", .date = "2026-11-29", .software = kTorch,
                              .note = "one rate each: fused AdamW 28 bytes a parameter at 3.4 to 3.5 TB/s, 0.72 of HBM; embedding rows and gathers 0.7 and 0.5; embedding gradients 0.5 (sorted scatter: widely spread)"};
}

void add_convolutions(Profile& p, const Traces& traces, bool h200) {
  const Datasheet source_gpu = datasheet("h200");
  const double compute = source_gpu.peak.at(graph::DType::bfloat16).value / p.gpu.peak.at(graph::DType::bfloat16).value;
  const double memory = source_gpu.hbm_bandwidth.value / p.gpu.hbm_bandwidth.value;
  for (const auto& c : traces.convolutions) {
    // Bound by bytes or by arithmetic on the measured GPU: scaled by what binds.
    const double bytes_s = graph::bytes_of(c.work) / source_gpu.hbm_bandwidth.value / 1.0_s;
    const double flops_s = graph::flops_of(c.work) / source_gpu.peak.at(graph::DType::bfloat16).value / 1.0_s;
    const double slower = h200 ? 1.0 : bytes_s > flops_s ? memory : compute * 0.85;
    p.convolutions.push_back({.work = c.work, .time_ns = std::llround(c.us * slower * 1e3), .source = h200 ? "convolutions-traced" : "convolutions-carried"});
  }
  if (h200) p.sources["convolutions-traced"] = traced("cuDNN and cuBLAS kernels of resnet50_compile, batch 256, channels last");
  else p.sources["convolutions-carried"] = {.kind = ProvenanceKind::fitted, .source = "the H200's convolutions, see its profile", .machine = "NVIDIA H200", .date = "2026-11-29", .software = kTorch,
                                            .note = "longer by the ratio of HBM bandwidths where bytes bind, else by 0.85 of the ratio of peak rates (A100 reaches a larger share of its peak); not measured on this GPU"};
}

void add_collectives(Profile& p, const GpuFacts& facts, const std::string& truth_dir) {
  const auto rows = read_collectives(truth_dir + "/kernels/" + std::string(facts.collectives));
  const FitError error = fit_collectives(p, rows, facts.hopper);
  for (ProtocolCost& c : p.protocols) {
    if (c.source.empty()) c.source = "collectives-fit";
  }
  p.rates["collective.local"].source = "collectives-fit";
  p.factors["collective.sigma"] = {std::max(0.05, error.p90 / 1.645), "collectives-fit"};
  const std::string source = "validation data set (shared/truth/kernels/" + std::string(facts.collectives) + ", half)";
  const std::string machine = p.name == "a100-40gb" ? "8 x NVIDIA A100-SXM4-80GB, NVSwitch" : "8 x " + p.gpu.name + ", NVSwitch";
  p.sources["collectives-fit"] = {.kind = ProvenanceKind::fitted, .source = source, .machine = machine, .date = "", .software = facts.hopper ? "NCCL 2.29.2" : "NCCL 2.27.3",
                                  .note = std::string(kLicence) + ". Model without sweeps over " + std::to_string(error.rows) + " rows: median error " + percent(error.median) + ", p90 " + percent(error.p90)};
  p.sources["collectives-sweep"] = {.kind = ProvenanceKind::measured, .source = source, .machine = machine, .date = "", .software = facts.hopper ? "NCCL 2.29.2" : "NCCL 2.27.3",
                                    .note = std::string(kLicence) + ""};
  for (const graph::CollectiveOp op : {graph::CollectiveOp::all_reduce, graph::CollectiveOp::all_gather, graph::CollectiveOp::reduce_scatter, graph::CollectiveOp::all_to_all}) {
    for (const int ranks : {2, 4, 8}) {
      CollectiveSweep sweep{.op = op, .ranks = ranks, .bytes = {}, .time_ns = {}, .source = "collectives-sweep"};
      for (const CollectiveRow& r : rows) {
        if (r.op != op || r.ranks != ranks || (!sweep.bytes.empty() && r.bytes <= sweep.bytes.back())) continue;
        sweep.bytes.push_back(r.bytes);
        sweep.time_ns.push_back(std::llround(r.us * 1e3));
      }
      p.sweeps.push_back(std::move(sweep));
    }
  }
}

/// Sources that nothing in the profile names.
void drop_unused_sources(Profile& p) {
  std::set<std::string> used = {p.gpu.sms.source, p.gpu.clock_hz.source, p.gpu.memory.source, p.gpu.hbm_bandwidth.source, p.gpu.l2.source, p.gpu.vector_peak.source};
  const auto add = [&used](const auto& tables) {
    for (const auto& t : tables) used.insert(t.source);
  };
  const auto add_values = [&used](const auto& values) {
    for (const auto& [key, v] : values) used.insert(v.source);
  };
  add(p.matmul_models), add(p.matmul_tables), add(p.attention_models), add(p.attention_tables), add(p.convolutions), add(p.bandwidth_curves), add(p.protocols), add(p.sweeps);
  add_values(p.gpu.peak), add_values(p.factors), add_values(p.times), add_values(p.rates);
  std::erase_if(p.sources, [&used](const auto& s) { return !used.contains(s.first); });
}

}  // namespace

Profile make_profile(std::string_view name, const std::string& truth_dir) {
  const GpuFacts& facts = gpu_facts(name);
  Profile p;
  p.name = std::string(name);
  p.gpu = datasheet(name);
  add_sources(p);
  add_constants(p, facts.hopper);
  const Traces traces = read_traces(truth_dir);
  add_products(p, facts, truth_dir);
  if (facts.hopper) add_fp8(p, facts, truth_dir);
  add_layouts(p, traces);
  add_attention(p, facts, truth_dir, traces);
  add_memory(p, traces, p.name == "h200");
  add_convolutions(p, traces, p.name == "h200");
  add_collectives(p, facts, truth_dir);
  drop_unused_sources(p);
  return profile_from_text(to_text(p), p.name);  // rounded and checked as the file will be
}

}  // namespace sgsim::cost::make

#include "sim/cost/make/parts.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/make/fits.h"

namespace sgsim::cost::make {

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
                                    {MemoryKind::cross_entropy, MemoryKind::cross_entropy, 2.0, 0.32, 0.1}, {MemoryKind::softmax, MemoryKind::norm, 1.6, 0.75, 0.25},
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
    // Rows of attention scores stay on chip, as a norm's do. The curve is over the larger of read and written: all bytes over
    // it are 2, 2 and 3/2 for a softmax, its recomputation and its gradient.
    if (k.kind == MemoryKind::softmax) {
      for (std::int64_t& bytes : curve.bytes) bytes = std::llround(static_cast<double>(bytes) * 6.0 / 11.0);
    }
    curve.source = points.empty() ? "bytes-rates" : source;
    p.bandwidth_curves.push_back(std::move(curve));
  }
  p.sources["bytes-traced"] = traced("Inductor's Triton kernels of five compiled runs: time over the bytes of their arguments; local robust fits at powers of four");
  p.sources["bytes-carried"] = {.kind = ProvenanceKind::fitted, .source = "the H200's curves, see its profile", .machine = "NVIDIA H200", .date = "2026-11-29", .software = kTorch,
                                .note = "launch floor kept, the rest longer by the ratio of HBM bandwidths (cross-entropy, which arithmetic binds: of SMs times clock). Check on A100: vLLM's residual add of 4,096 x "
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

}  // namespace sgsim::cost::make

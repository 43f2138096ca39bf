#pragma once

#include "sim/cost/profile.h"
#include "sim/cost/required.h"

namespace sgsim::cost {

/// A profile with round numbers for cases worked by hand: 100 SMs, 100 TFLOP/s, 1 TB/s, 100 GB/s NVLink.
inline Profile small_profile() {
  Profile p;
  p.name = "small";
  p.sources["s"] = {.kind = ProvenanceKind::assumed, .source = "made up", .machine = "", .date = "", .software = "", .note = ""};
  p.gpu = {.name = "small", .sms = {100, "s"}, .clock_hz = {1e9, "s"}, .memory = {Bytes(1e9), "s"}, .hbm_bandwidth = {BytesPerSecond(1e12), "s"}, .l2 = {Bytes(1e6), "s"},
           .peak = {{graph::DType::bfloat16, {FlopsPerSecond(100e12), "s"}}}, .vector_peak = {FlopsPerSecond(10e12), "s"}};
  MatmulModel m;
  m.fixed = 2.0_us;
  m.sharpness = 1e3;  // plain maximum
  m.nn_factor = 1.1;
  m.nt_factor = 1.2;
  m.unaligned_factor = 3.0;
  m.sigma = 0.2;
  m.source = "s";
  p.matmul_models = {m};
  for (const graph::Pass pass : {graph::Pass::forward, graph::Pass::backward}) {
    p.attention_models.push_back({.pass = pass, .dense_mask = false, .head_dim = 128, .efficiency = 0.5, .critical_efficiency = 0.5, .fixed = 1.0_us, .sigma = 0.1, .source = "s"});
  }
  p.bandwidth_curves = {{.kind = graph::MemoryKind::pointwise, .bytes = {1000, 1000000, 100000000}, .time_ns = {1000, 2000, 110000}, .sigma = 0.1, .source = "s"}};
  for (const std::string_view name : kRequiredTimes) p.times[std::string(name)] = {1.0_us, "s"};
  for (const std::string_view name : kRequiredFactors) p.factors[std::string(name)] = {0.5, "s"};
  for (const std::string_view name : kRequiredRates) p.rates[std::string(name)] = {BytesPerSecond(1e11), "s"};
  p.rates["collective.local"].value = BytesPerSecond(1e18);  // own copies cost nothing
  p.protocols = {{Algorithm::ring, Protocol::simple, LinkClass::nvlink, 10.0_us, 1.0_us, 1.0, "s"},
                 {Algorithm::ring, Protocol::simple, LinkClass::network, 20.0_us, 5.0_us, 0.5, "s"},
                 {Algorithm::pairwise, Protocol::simple, LinkClass::nvlink, 10.0_us, 1.0_us, 1.0, "s"},
                 {Algorithm::pairwise, Protocol::simple, LinkClass::network, 20.0_us, 5.0_us, 0.5, "s"}};
  return p;
}

}  // namespace sgsim::cost

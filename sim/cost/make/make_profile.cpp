#include "sim/cost/make/make_profile.h"

#include <cstdio>
#include <set>

#include "sim/cost/make/parts.h"

namespace sgsim::cost::make {
namespace {

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

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100.0);
  return text;
}

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

Profile make_profile(std::string_view name, const std::string& truth_dir, const std::string& measured_h200) {
  const GpuFacts& facts = gpu_facts(name);
  Profile p;
  p.name = std::string(name);
  p.gpu = datasheet(name);
  add_sources(p);
  add_constants(p, facts.hopper);
  const Traces traces = read_traces(truth_dir);
  constexpr double kMeasuredWatts = 700.0;  // the limit under which the H200 was measured
  if (facts.watts > 0.0) {
    carry_from_measured(p, load_profile(measured_h200), facts.watts, kMeasuredWatts);
  } else {
    add_products(p, facts, truth_dir);
    if (facts.hopper) add_fp8(p, facts, truth_dir);
    add_layouts(p, traces);
    add_attention(p, truth_dir, traces);
    add_memory(p, traces, p.name == "h200");
  }
  add_convolutions(p, traces, p.name == "h200");
  add_collectives(p, facts, truth_dir);
  drop_unused_sources(p);
  return profile_from_text(to_text(p), p.name);  // rounded and checked as the file will be
}

}  // namespace sgsim::cost::make

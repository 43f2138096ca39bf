#include "sim/scenario/summarize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/units_text.h"
#include "sim/scenario/interval.h"
#include "sim/scenario/memory_curve.h"
#include "sim/scenario/program_totals.h"

namespace sgsim::scenario {
namespace {

std::vector<NamedTime> largest_first(const std::map<std::string, ProgramTotals::Item>& items) {
  std::vector<NamedTime> times;
  for (const auto& [name, item] : items) {
    times.push_back({.name = name, .time = item.time, .launches = static_cast<std::uint64_t>(std::llround(item.launches))});
  }
  std::stable_sort(times.begin(), times.end(), [](const NamedTime& a, const NamedTime& b) { return a.time > b.time; });
  return times;
}

SourceShares shares_of(const std::array<Seconds, kSources>& by_source) {
  Seconds sum;
  for (const Seconds time : by_source) sum += time;
  SourceShares shares;
  if (sum.value() <= 0.0) return shares;
  for (std::size_t s = 0; s < kSources; ++s) shares.share[s] = by_source[s] / sum;
  return shares;
}

cost::Source source_of(cost::ProvenanceKind kind) {
  switch (kind) {
    case cost::ProvenanceKind::measured: return cost::Source::measured;
    case cost::ProvenanceKind::published: return cost::Source::fitted;  // derived from somebody else's runs
    case cost::ProvenanceKind::fitted: return cost::Source::fitted;
    case cost::ProvenanceKind::assumed: return cost::Source::assumed;
  }
  return cost::Source::assumed;
}

/// Launch times of the execution mode, each counted once.
SourceShares host_sources(const cost::Profile& profile, compile::Execution execution) {
  const char* mode = execution == compile::Execution::eager ? "launch.eager." : execution == compile::Execution::compiled ? "launch.compiled." : "launch.cuda_graph.";
  std::array<Seconds, kSources> count{};
  for (const auto& [name, time] : profile.times) {
    if (!name.starts_with(mode)) continue;
    const auto provenance = profile.sources.find(time.source);
    const auto kind = provenance == profile.sources.end() ? cost::ProvenanceKind::assumed : provenance->second.kind;
    count[static_cast<std::size_t>(source_of(kind))] += 1.0_s;
  }
  return shares_of(count);
}

void add_times(Result& r, const Simulation& simulation) {
  const timeline::Timeline& t = simulation.timeline;
  double ranks = 0.0;
  for (std::size_t i = 0; i < t.ranks.size(); ++i) {
    const double count = t.multiplicity.at(i);
    const timeline::Accounting& a = t.ranks[i];
    ranks += count;
    r.compute += a.compute * count;
    r.exposed_comm += a.exposed_comm * count;
    r.overlapped_comm += a.overlapped_comm * count;
    r.bubble += a.bubble * count;
    r.host_bound += a.host_bound * count;
  }
  SGSIM_CHECK(ranks > 0.0, "an engine returned no ranks");
  for (Seconds* time : {&r.compute, &r.exposed_comm, &r.overlapped_comm, &r.bubble, &r.host_bound}) *time /= ranks;
  r.other_idle = r.step_time - (r.compute + r.exposed_comm + r.bubble + r.host_bound);
  if (r.other_idle < r.step_time * 1e-9) r.other_idle = Seconds(0.0);  // the rounding of a million sums
}

bool alike(const timeline::Accounting& a, const timeline::Accounting& b) {
  const auto near = [](Seconds x, Seconds y) { return std::abs((x - y).value()) <= 1e-9 * std::max({x.value(), y.value(), 1e-9}); };
  return near(a.compute, b.compute) && near(a.exposed_comm, b.exposed_comm) && near(a.bubble, b.bubble) &&
         near(a.host_bound, b.host_bound) && near(a.overlapped_comm, b.overlapped_comm);
}

void add_memory(ClassResult& c, const lower::Memory& memory) {
  c.peak = memory.peak;
  c.reserved = memory.reserved;
  c.graph_pool = memory.graph_pool;
  for (std::size_t k = 0; k < lower::kMemoryClasses; ++k) c.at_peak[k] = memory.at_peak.by_class[k];
  c.live_at_peak = memory.live_at_peak;
}

ClassResult class_result(const lower::Lowered& lowered, const Simulation& simulation, std::size_t simulated) {
  const timeline::Timeline& t = simulation.timeline;
  const std::uint32_t program = simulation.workload.ranks.at(simulated).program.value;
  ClassResult c{.name = simulation.workload.programs.at(program).name, .ranks = t.multiplicity.at(simulated), .example = t.representative.at(simulated),
                .time = t.ranks.at(simulated), .peak = {}, .reserved = {}, .graph_pool = {}, .at_peak = {}, .live_at_peak = {}};
  if (program < lowered.memory.size()) add_memory(c, lowered.memory[program]);
  return c;
}

std::vector<ClassResult> classes_of(const lower::Lowered& lowered, const Simulation& simulation) {
  const timeline::Timeline& t = simulation.timeline;
  std::vector<std::vector<ClassResult>> by_program(simulation.workload.programs.size());
  for (std::size_t i = 0; i < t.ranks.size(); ++i) {
    const std::uint32_t program = simulation.workload.ranks.at(i).program.value;
    auto& list = by_program.at(program);
    const auto same = std::find_if(list.begin(), list.end(), [&](const ClassResult& c) { return alike(c.time, t.ranks[i]); });
    if (same != list.end()) {
      same->ranks += t.multiplicity[i];
      continue;
    }
    list.push_back(class_result(lowered, simulation, i));
  }
  std::vector<ClassResult> classes;
  for (auto& list : by_program) std::move(list.begin(), list.end(), std::back_inserter(classes));
  return classes;
}

ProgramTotals mean_totals(const Simulation& simulation) {
  const timeline::Timeline& t = simulation.timeline;
  std::vector<double> ranks(simulation.workload.programs.size());
  double all = 0.0;
  for (std::size_t i = 0; i < t.ranks.size(); ++i) {
    ranks.at(simulation.workload.ranks.at(i).program.value) += t.multiplicity[i];
    all += t.multiplicity[i];
  }
  ProgramTotals mean;
  for (std::size_t p = 0; p < ranks.size(); ++p) {
    if (ranks[p] > 0.0) accumulate(mean, totals_of(simulation.workload.programs[p]), ranks[p] / all);
  }
  return mean;
}

/// Memory over time of the fullest rank that was recorded.
void add_memory_curve(Result& r, const lower::Lowered& lowered, const Simulation& simulation) {
  constexpr std::size_t kMostPoints = 256;
  std::uint32_t best = ~0U;
  Bytes most;
  for (const timeline::Span& span : simulation.timeline.spans) {
    const std::uint32_t program = simulation.workload.ranks.at(span.rank).program.value;
    if (program >= lowered.memory.size() || lowered.memory[program].reserved <= most) continue;
    most = lowered.memory[program].reserved;
    best = span.rank;
  }
  if (best == ~0U) return;
  const std::uint32_t program = simulation.workload.ranks[best].program.value;
  r.memory_curve_of = simulation.workload.programs[program].name;
  for (const MemoryAt& at : thinned(memory_curve(simulation, lowered.memory[program], best), kMostPoints)) r.memory_curve.emplace_back(at.time, at.by_class);
}

FlopsPerSecond peak_of(const Inputs& inputs, const Scenario& scenario) {
  if (scenario.training.compute_dtype == graph::DType::float32 && !scenario.training.tf32) return inputs.profile->gpu.vector_peak.value;
  const auto peak = inputs.profile->gpu.peak.find(scenario.training.compute_dtype);
  if (peak != inputs.profile->gpu.peak.end()) return peak->second.value;
  throw InputError({.file = scenario.profile, .where = "$.gpu.peak", .found = "no rate for " + std::string(graph::to_text(scenario.training.compute_dtype)),
                    .expected = "the peak rate of training.compute_dtype", .hint = "Choose a type that this GPU computes in"});
}

/// MFU's operations belong to the model, not to how its attention is written: causal attention counts its lower triangle, also
/// where it reads a mask or is unfused. Of a captured graph's mask nobody says what it hides, so it counts in full.
void add_model_flops(Result& r, const Scenario& scenario, const Inputs& inputs, const lower::Lowered& lowered) {
  r.model_flops = lowered.model_flops;
  const bool generated = scenario.model.kind != ModelKind::graph;
  if (inputs.shape.heads == 0) return;
  if (generated && inputs.model == "bert") {
    r.attention_flops = "attention in full";
  } else if (generated) {
    r.model_flops -= lowered.above_diagonal_flops;
    r.attention_flops = "causal attention as half";
  } else if (lowered.above_diagonal_flops.value() > 0.0) {
    r.attention_flops = fmt::format("attention in full, as the graph does not mark it causal ({} if its mask is)", to_text(r.model_flops - lowered.above_diagonal_flops));
  } else {
    r.attention_flops = "causal attention as half";
  }
}

void add_rates(Result& r, const Scenario& scenario, const Inputs& inputs) {
  const double seconds = r.step_time.value();
  if (seconds <= 0.0) return;
  const auto samples = static_cast<double>(scenario.plan.global_batch);
  r.samples_per_second = samples / seconds;
  r.tokens_per_second = samples * static_cast<double>(inputs.graph->sequence) / seconds;
  const FlopsPerSecond all = r.peak_rate * static_cast<double>(r.gpus);
  r.mfu = r.model_flops / r.step_time / all;
  r.hfu = r.hardware_flops / r.step_time / all;
}

}  // namespace

Result summarize(const Scenario& scenario, const Inputs& inputs, const lower::Lowered& lowered, const Simulation& simulation) {
  const timeline::Timeline& t = simulation.timeline;
  Result r;
  r.step_time = t.step_time;
  r.gpus = scenario.cluster.gpus();
  add_model_flops(r, scenario, inputs, lowered);
  r.hardware_flops = lowered.hardware_flops;
  r.peak_rate = peak_of(inputs, scenario);
  add_times(r, simulation);
  add_rates(r, scenario, inputs);
  const ProgramTotals totals = mean_totals(simulation);
  r.compute_sources = shares_of(totals.compute_by_source);
  r.comm_sources = shares_of(totals.comm_by_source);
  r.host_sources = host_sources(*inputs.profile, scenario.training.execution);
  r.kernels = largest_first(totals.kernels);
  r.layers = largest_first(totals.layers);
  r.communication = largest_first(totals.communication);
  r.interval = interval_of(r, totals, model_sigma_of(*inputs.profile));
  r.classes = classes_of(lowered, simulation);
  for (const ClassResult& c : r.classes) {
    r.peak_memory = std::max(r.peak_memory, c.peak);
    r.reserved_memory = std::max(r.reserved_memory, c.reserved);
  }
  add_memory_curve(r, lowered, simulation);
  r.capacity = scenario.cluster.node.gpu.memory;
  r.fits = r.reserved_memory <= r.capacity;
  r.rank_classes = static_cast<std::uint32_t>(t.ranks.size());
  r.tasks = t.tasks;
  r.engine = t.engine;
  r.engine_settings = t.engine_settings;
  r.notes = lowered.notes;
  if (!inputs.left_out.empty()) {
    r.notes.push_back({.rule = "model_config_defaults", .message = fmt::format("{} leaves to the defaults of Hugging Face's config class: {}", scenario.model.path.empty() ? "model.config" : scenario.model.path, fmt::join(inputs.left_out, ", "))});
  }
  r.diagnostics = lowered.diagnostics;
  r.diagnostics.merge(t.diagnostics);
  return r;
}

ClassResult rank_result(const lower::Lowered& lowered, const Simulation& simulation, RankId rank) {
  ClassResult c = class_result(lowered, simulation, simulation.class_of.at(rank.value));
  c.example = rank;
  return c;
}

}  // namespace sgsim::scenario

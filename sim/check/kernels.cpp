#include "sim/check/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sim/core/error.h"
#include "sim/scenario/inputs.h"

namespace sgsim::check {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoTrace = "the record names no trace";

KernelClass class_of(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (name == "mm" || name == "addmm" || name == "bmm" || name == "baddbmm") return KernelClass::product;
  if (has("attention")) return KernelClass::attention;
  if (name.starts_with("convolution") || name.starts_with("cudnn_convolution")) return KernelClass::convolution;
  if (has("adamw") || has("adam") || has("sgd") || has("clip gradients") || has("gradient norms") || has("total norm") || has("step counters")) return KernelClass::optimizer;
  return KernelClass::bandwidth;
}

void add_task(KernelSide& side, const lower::Program& program, const lower::Task& task) {
  if (task.kind == lower::TaskKind::collective || task.kind == lower::TaskKind::send || task.kind == lower::TaskKind::receive) {
    KernelTime& sum = side.by_class[static_cast<std::size_t>(KernelClass::communication)];
    sum.seconds += task.device.value();
    sum.launches += 1.0;
    return;
  }
  const lower::Segment& segment = program.segments.at(task.segment);
  for (std::uint32_t k = segment.first_kernel; k < segment.first_kernel + segment.kernel_count; ++k) {
    const lower::KernelCost& kernel = program.kernels.at(k);
    const std::string& name = program.names.at(kernel.name.value);
    const KernelClass kind = class_of(name);
    const auto add = [&](KernelTime& sum) {
      sum.seconds += kernel.estimate.time.value();
      sum.launches += 1.0;
    };
    add(side.by_class[static_cast<std::size_t>(kind)]);
    const std::int64_t flops = std::llround(kernel.estimate.flops.value());
    if (kind == KernelClass::product) add(side.products[flops]);
    if (kind == KernelClass::attention) add(side.attention[flops]);
  }
}

std::string line(const std::string& name, const KernelTime& p, const KernelTime& m) {
  const std::string error = p.seconds > 0.0 && m.seconds > 0.0 ? fmt::format("{:+.1f} %", 100.0 * (p.seconds / m.seconds - 1.0)) : p.seconds > 0.0 ? "extra" : "missing";
  return fmt::format("    {:<28} {:>10.3f} ms {:>10.3f} ms {:>9} {:>8.0f} {:>8.0f}\n", name, 1e3 * p.seconds, 1e3 * m.seconds, error, p.launches, m.launches);
}

constexpr double kShown = 1e-4;              // seconds; shorter sums are left out
constexpr std::size_t kMissingShown = 10;

/// Kernels of equal operations side by side; of those that only one side has, the longest.
std::string by_flops(const char* what, const std::map<std::int64_t, KernelTime>& predicted, const std::map<std::int64_t, KernelTime>& traced) {
  struct Entry {
    std::int64_t flops = 0;
    KernelTime predicted, traced;
    [[nodiscard]] double longest() const { return std::max(predicted.seconds, traced.seconds); }
    [[nodiscard]] bool matched() const { return predicted.seconds > 0.0 && traced.seconds > 0.0; }
  };
  std::map<std::int64_t, Entry> joined;
  for (const auto& [flops, t] : predicted) joined[flops].predicted = t;
  for (const auto& [flops, t] : traced) joined[flops].traced = t;
  std::vector<Entry> unmatched;
  for (auto& [flops, e] : joined) {
    e.flops = flops;
    if (!e.matched()) unmatched.push_back(e);
  }
  std::stable_sort(unmatched.begin(), unmatched.end(), [](const Entry& a, const Entry& b) { return a.longest() > b.longest(); });
  const double least = unmatched.size() > kMissingShown ? unmatched[kMissingShown - 1].longest() : 0.0;
  std::string text;
  Entry rest;
  std::size_t left = 0, shown = 0;
  for (const auto& [flops, e] : joined) {
    const bool listed = e.matched() || (e.longest() >= std::max(least, kShown) && ++shown <= kMissingShown);
    if (listed && e.longest() >= kShown) text += line(fmt::format("{} of {:.4g} GFLOP", what, static_cast<double>(flops) * 1e-9), e.predicted, e.traced);
    if (listed) continue;
    ++left;
    rest.predicted.seconds += e.predicted.seconds, rest.predicted.launches += e.predicted.launches;
    rest.traced.seconds += e.traced.seconds, rest.traced.launches += e.traced.launches;
  }
  if (left > 0) text += line(fmt::format("{} other sizes, unmatched", left), rest.predicted, rest.traced);
  return text;
}

KernelComparison compare(const Record& record, const Sources& sources, const scenario::RunEngine& engine, scenario::InputCache& cache,
                         const std::map<std::string, std::string>& profiles) {
  KernelComparison c{.id = record.id, .skipped = {}, .predicted = {}, .traced = {}};
  const fs::path trace = fs::path(record.folder) / record.trace;
  if (record.trace.empty()) {
    c.skipped = kNoTrace;
    return c;
  }
  if (!fs::exists(trace)) {
    c.skipped = fmt::format("the trace {} is not there", trace.string());
    return c;
  }
  Question question = question_of(record, sources);
  c.skipped = question.skipped;
  if (!c.skipped.empty()) return c;
  const auto instead = profiles.find(fs::path(question.scenario.profile).stem().string());
  if (instead != profiles.end()) question.scenario.profile = instead->second;
  try {
    const scenario::Outcome outcome = scenario::simulate(question.scenario, cache.load(question.scenario), engine);
    if (const auto* run = std::get_if<scenario::Run>(&outcome)) {
      c.predicted = kernels_of(*run);
      c.traced = read_kernels(trace.string(), record.measured.contains("kernels") ? record.measured.at("kernels") : 0.0);
    } else {
      for (const plan::Violation& v : std::get<std::vector<plan::Violation>>(outcome)) c.skipped += (c.skipped.empty() ? "" : "; ") + v.message;
    }
  } catch (const InputError& error) {
    c.skipped = error.what();
  }
  return c;
}

}  // namespace

KernelSide kernels_of(const scenario::Run& run) {
  KernelSide side;
  const lower::Workload& workload = run.simulation.workload;
  const std::uint32_t rank = run.simulation.class_of.empty() ? 0 : run.simulation.class_of.front();
  const lower::Program& program = workload.programs.at(workload.ranks.at(rank).program.value);
  for (const lower::Task& task : program.tasks) add_task(side, program, task);
  side.step = run.result.step_time.value();
  side.overlapped = run.result.overlapped_comm.value();
  side.busy = (run.result.compute + run.result.exposed_comm).value();
  return side;
}

std::vector<KernelComparison> compare_kernels(const std::vector<Record>& records, const Sources& sources, const scenario::RunEngine& engine,
                                              const std::map<std::string, std::string>& profiles) {
  std::vector<KernelComparison> comparisons;
  scenario::InputCache cache;
  for (const Record& record : records) comparisons.push_back(compare(record, sources, engine, cache, profiles));
  return comparisons;
}

std::string text_report(const std::vector<KernelComparison>& comparisons) {
  std::string text;
  const auto without = std::count_if(comparisons.begin(), comparisons.end(), [](const auto& c) { return c.skipped == kNoTrace; });
  for (const KernelComparison& c : comparisons) {
    if (c.skipped == kNoTrace) continue;
    if (!c.skipped.empty()) {
      text += fmt::format("{}: skipped: {}\n", c.id, c.skipped);
      continue;
    }
    text += fmt::format("{}\n    {:<28} {:>13} {:>13} {:>9} {:>8} {:>8}\n", c.id, "", "predicted", "traced", "error", "launches", "traced");
    for (std::size_t k = 0; k < kKernelClasses; ++k) {
      const KernelTime &p = c.predicted.by_class[k], &m = c.traced.by_class[k];
      if (p.launches > 0.0 || m.launches > 0.0) text += line(name_of(static_cast<KernelClass>(k)), p, m);
    }
    text += by_flops("product", c.predicted.products, c.traced.products) + by_flops("attention", c.predicted.attention, c.traced.attention);
    const auto share = [](double part, double whole) { return whole > 0.0 ? 100.0 * part / whole : 0.0; };
    text += fmt::format("    idle share of the step {:.1f} % predicted, {:.1f} % traced (the profiler slows the host); communication beside computation {:.3f} ms predicted, {:.3f} ms traced\n",
                        100.0 - share(c.predicted.busy, c.predicted.step), 100.0 - share(c.traced.busy, c.traced.step), 1e3 * c.predicted.overlapped, 1e3 * c.traced.overlapped);
  }
  if (comparisons.size() > static_cast<std::size_t>(without)) {
    text += "Traced communication includes waiting for the other ranks; the predicted one is the transfer alone.\n";
  }
  if (without > 0) text += fmt::format("{} records name no trace\n", without);
  return text;
}

}  // namespace sgsim::check

#include "planner/search/families.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "sim/core/units_text.h"

namespace sgsim::search {
namespace {

// Room left when the number of recomputed layers is chosen: twice the median error of closed-form memory (docs/planning.md).
constexpr double kChoiceMargin = 0.01;

void reject(const char* rule, std::uint64_t plans, FamilyResult& result, const std::string& example) {
  if (plans == 0) return;
  Rejection& r = result.rejections[rule];
  if (r.plans == 0) r.example = example;
  r.plans += plans;
}

}  // namespace

void reject_memory(const MemoryRule& rule, const Figures& figures, Rejections& rejections) {
  const bool fits_barely = figures.needed <= rule.capacity;
  Rejection& r = rejections[fits_barely ? "memory_margin" : "memory"];
  if (r.plans++ > 0) return;
  r.example = fits_barely ? fmt::format("{} and {:.3g} % on top are more than {}", to_text(figures.needed), 100.0 * rule.margin, to_text(rule.capacity))
                          : fmt::format("{} of {}", to_text(figures.needed), to_text(rule.capacity));
}

FamilyEstimator::FamilyEstimator(const Problem& problem, const Axes& axes, const SearchOptions& options, LayerCostTable& table)
    : problem_(problem), axes_(axes), options_(options), rule_{.capacity = problem.scenario.cluster.node.gpu.memory, .margin = options.memory_margin}, estimator_(problem, table) {}

void FamilyEstimator::keep(const Candidate& candidate, const Figures& figures, FamilyResult& result) const {
  Found found{.candidate = candidate, .estimate = figures, .timed = false, .exact = {}, .score = 0.0};
  found.score = score(options_.objective, options_.economics, candidate.nodes * problem_.scenario.cluster.node.gpus, candidate.plan.global_batch, figures);
  result.fit.push_back(std::move(found));
}

/// Options of a layout, those that do not fit again with what can be offloaded. Whether any fits.
bool FamilyEstimator::offloaded(const Layout& layout, const std::vector<StateOption>& options, FamilyResult& result) {
  const std::size_t count = axes_.offload_optimizer ? options.size() / 2 : options.size();
  std::vector<std::size_t> open(count);
  std::iota(open.begin(), open.end(), std::size_t{0});
  bool any = false;
  for (const bool activations : {false, true}) {
    if (activations && !offloads_activations(axes_, layout)) continue;
    Layout tried = layout;
    tried.plan.offload.activations = activations;
    for (const bool optimizer : {false, true}) {
      if (optimizer && !axes_.offload_optimizer) continue;
      reject("offload_not_needed", count - open.size(), result, "the same plan fits without");
      std::vector<StateOption> some;
      for (const std::size_t i : open) some.push_back(options[optimizer ? count + i : i]);
      const std::vector<Figures> figures = estimator_.bounds(tried, some);
      result.estimated += some.size();
      std::vector<std::size_t> still_open;
      for (std::size_t i = 0; i < some.size(); ++i) {
        if (!rule_.fits(figures[i]) || options_.objective == Objective::memory) still_open.push_back(open[i]);
        if (figures[i].needed > rule_.limit() * (1.0 + kMemoryDoubt)) {
          reject_memory(rule_, figures[i], result.rejections);
          continue;
        }
        any = true;
        keep(candidate_of(tried, some[i]), figures[i], result);
      }
      open = std::move(still_open);
    }
  }
  return any;
}

/// As few layers recomputed as fit. Whether a larger micro-batch may still do with some.
bool FamilyEstimator::partly_recomputed(const Layout& layout, const std::vector<StateOption>& options, FamilyResult& result) {
  const std::size_t count = axes_.offload_optimizer ? options.size() / 2 : options.size();
  reject("offload_not_needed", options.size() - count, result, "more layers recomputed do it");
  bool any = false;
  const auto answers = estimator_.fewest_recomputed(layout, std::span(options).first(count), rule_.limit() * (1.0 - kChoiceMargin));
  result.estimated += count;
  for (std::size_t i = 0; i < count; ++i) {
    const Estimator::SomeRecomputed& some = answers[i];
    any |= some.layers < some.all;
    if (some.layers == 0) {
      reject("recompute_not_needed", 1, result, "the same plan fits without");
    } else if (some.layers == some.all) {
      reject("recompute_all_layers", 1, result, "some are not enough");
    } else {
      Candidate candidate = candidate_of(layout, options[i]);
      candidate.plan.recompute_layers = some.layers;
      keep(candidate, some.figures, result);
    }
  }
  return any;
}

/// With the layers divided evenly and, in a pipeline, so that the stages take equally long.
bool FamilyEstimator::layout(const Layout& layout, const std::vector<StateOption>& options, FamilyResult& result) {
  const auto plans = [&](const Layout& tried) { return tried.plan.recompute_layers > 0 ? partly_recomputed(tried, options, result) : offloaded(tried, options, result); };
  bool any = plans(layout);
  if (!balances_stages(axes_, layout)) return any;
  Layout balanced = layout;
  balanced.plan.stage_layers = estimator_.balanced_layers(layout);
  if (balanced.plan.stage_layers.empty()) {
    reject("stages_are_balanced", options.size(), result, "the even split has the least busy busiest stage");
    return any;
  }
  return plans(balanced) || any;
}

FamilyResult FamilyEstimator::run(const Family& family) {
  FamilyResult result;
  const cluster::Cluster cluster = resized(problem_.scenario.cluster, family.front().nodes);
  bool full = false;
  for (const Layout& one : family) {
    const std::vector<StateOption> options = state_options(axes_, one, cluster);
    if (full) {  // activations of a larger micro-batch are no smaller, and all else is the same
      reject("memory_of_smaller_micro_batch", plans_of(axes_, one, cluster), result, "a smaller micro-batch did not fit");
    } else if (one.plan.recompute == plan::Recompute::selective && !estimator_.recomputes(one)) {
      reject("recompute_finds_nothing", plans_of(axes_, one, cluster), result, "selective with fused attention is the plan without");
    } else {
      full = !layout(one, options, result);
    }
  }
  return result;
}

}  // namespace sgsim::search

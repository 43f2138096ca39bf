#include "planner/search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "planner/search/estimator.h"
#include "planner/search/exact.h"
#include "planner/search/front.h"
#include "sim/core/units_text.h"

namespace sgsim::search {
namespace {

// Closed-form memory of plans near the limit may be off by so much; those go on and are lowered before they are shown.
constexpr double kMemoryDoubt = 0.05;
// Room left when the number of recomputed layers is chosen: twice the median error of closed-form memory (docs/planning.md).
constexpr double kChoiceMargin = 0.01;
// Plans of one layout differ in buckets and prefetch only: this many of each layout are simulated.
constexpr int kExactALayout = 3;
// Leaders are simulated in groups of this many, whatever the number of threads, so that the same ones are.
constexpr std::size_t kWave = 8;
constexpr std::size_t kMostFront = 160;  // plans simulated for the Pareto front at most

class Search {
 public:
  Search(const Problem& problem, const Axes& axes, const SearchOptions& options)
      : problem_(problem), axes_(axes), options_(options), table_(problem), capacity_(problem.scenario.cluster.node.gpu.memory), started_(Clock::now()) {}

  SearchResult run();

 private:
  using Clock = std::chrono::steady_clock;
  struct FamilyResult {
    std::vector<Found> fit;
    Rejections rejections;
    std::uint64_t estimated = 0;
  };

  [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }
  [[nodiscard]] bool stop() {
    if (stopped_ || options_.cancelled() || (options_.budget > 0.0 && elapsed() > options_.budget)) stopped_ = true;
    return stopped_;
  }
  [[nodiscard]] int gpus(const Candidate& c) const { return c.nodes * problem_.scenario.cluster.node.gpus; }
  [[nodiscard]] double score_of(const Candidate& c, const Figures& f) const { return score(options_.objective, options_.economics, gpus(c), c.plan.global_batch, f); }
  [[nodiscard]] Point point_of(const Found& f) const {
    return {.step_time = f.figures().step_time.value(), .memory = f.figures().reserved.value(), .gpus = static_cast<double>(gpus(f.candidate)),
            .cost = cost_per_sample(options_.economics, gpus(f.candidate), f.figures().step_time, f.candidate.plan.global_batch).value_or(0.0)};
  }

  template <class Work>
  void parallel(std::size_t count, Work work);
  void estimate_all();
  void keep(const Candidate& candidate, const Figures& figures, FamilyResult& result);
  static void reject(const char* rule, std::uint64_t plans, FamilyResult& result, const std::string& example);
  [[nodiscard]] bool estimate_layout(const Layout& layout, const std::vector<StateOption>& options, Estimator& estimator, FamilyResult& result);
  [[nodiscard]] bool estimate_some(const Layout& layout, const std::vector<StateOption>& options, Estimator& estimator, FamilyResult& result);
  void estimate_family(const Family& family, Estimator& estimator, FamilyResult& result);
  void simulate_leaders();
  void simulate(const std::vector<std::size_t>& which);
  void rank();
  void tell(const char* phase, std::uint64_t done, std::uint64_t total);

  const Problem& problem_;
  const Axes& axes_;
  const SearchOptions& options_;
  LayerCostTable table_;
  Bytes capacity_;
  Clock::time_point started_;
  std::atomic<bool> stopped_ = false;
  Space space_;
  std::vector<Found> fit_;                 // by estimated score
  std::vector<bool> too_large_;            // parallel: lowering said so
  std::mutex telling_;
  std::optional<std::pair<double, Figures>> best_;
  std::vector<std::unique_ptr<Exact>> exact_;
  SearchResult result_;
};

/// Calls work(thread, index) for each index below count, in order of index on free threads, until told to stop.
template <class Work>
void Search::parallel(std::size_t count, Work work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failing;
  const auto body = [&](unsigned thread) {
    try {
      for (std::size_t i = next++; i < count && !stop(); i = next++) work(thread, i);
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < std::max(1u, options_.threads); ++t) threads.emplace_back(body, t);
  body(0);
  for (std::thread& t : threads) t.join();
  if (failure) std::rethrow_exception(failure);
}

void Search::tell(const char* phase, std::uint64_t done, std::uint64_t total) {
  const std::lock_guard lock(telling_);
  options_.progress({.phase = phase, .done = done, .total = total, .best = best_ ? std::optional(best_->second) : std::nullopt});
}

void Search::keep(const Candidate& candidate, const Figures& figures, FamilyResult& result) {
  Found found{.candidate = candidate, .estimate = figures, .exact = {}, .score = 0.0};
  found.score = score_of(candidate, figures);
  result.fit.push_back(std::move(found));
}

void Search::reject(const char* rule, std::uint64_t plans, FamilyResult& result, const std::string& example) {
  if (plans == 0) return;
  Rejection& r = result.rejections[rule];
  if (r.plans == 0) r.example = example;
  r.plans += plans;
}

/// Options of a layout, those that do not fit again with what can be offloaded. Whether any fits.
bool Search::estimate_layout(const Layout& layout, const std::vector<StateOption>& options, Estimator& estimator, FamilyResult& result) {
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
      const std::vector<Figures> figures = estimator.estimate(tried, some, capacity_ * (1.0 + kMemoryDoubt));
      result.estimated += some.size();
      std::vector<std::size_t> still_open;
      for (std::size_t i = 0; i < some.size(); ++i) {
        if (figures[i].reserved > capacity_ || options_.objective == Objective::memory) still_open.push_back(open[i]);
        if (figures[i].reserved > capacity_ * (1.0 + kMemoryDoubt)) {
          reject("memory", 1, result, fmt::format("{} of {}", to_text(figures[i].reserved), to_text(capacity_)));
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
bool Search::estimate_some(const Layout& layout, const std::vector<StateOption>& options, Estimator& estimator, FamilyResult& result) {
  bool any = false;
  for (const StateOption& option : options) {
    if (option.offload_optimizer) {
      reject("offload_not_needed", 1, result, "more layers recomputed do it");
      continue;
    }
    const auto some = estimator.fewest_recomputed(layout, option, capacity_ * (1.0 - kChoiceMargin));
    ++result.estimated;
    any |= some.layers < some.all;
    if (some.layers == 0) {
      reject("recompute_not_needed", 1, result, "the same plan fits without");
    } else if (some.layers == some.all) {
      reject("recompute_all_layers", 1, result, "some are not enough");
    } else {
      Candidate candidate = candidate_of(layout, option);
      candidate.plan.recompute_layers = some.layers;
      keep(candidate, some.figures, result);
    }
  }
  return any;
}

void Search::estimate_family(const Family& family, Estimator& estimator, FamilyResult& result) {
  const cluster::Cluster cluster = resized(problem_.scenario.cluster, family.front().nodes);
  bool full = false;
  for (const Layout& layout : family) {
    const std::vector<StateOption> options = state_options(axes_, layout, cluster);
    if (full) {  // activations of a larger micro-batch are no smaller, and all else is the same
      reject("memory_of_smaller_micro_batch", plans_of(axes_, layout, cluster), result, "");
    } else if (layout.plan.recompute == plan::Recompute::selective && !estimator.recomputes(layout)) {
      reject("recompute_finds_nothing", plans_of(axes_, layout, cluster), result, "selective with fused attention is the plan without");
    } else {
      full = !(layout.plan.recompute_layers > 0 ? estimate_some(layout, options, estimator, result) : estimate_layout(layout, options, estimator, result));
    }
  }
}

void Search::estimate_all() {
  std::vector<FamilyResult> results(space_.families.size());
  std::vector<std::unique_ptr<Estimator>> estimators(std::max(1u, options_.threads));
  std::atomic<std::uint64_t> done = 0;
  parallel(results.size(), [&](unsigned thread, std::size_t i) {
    if (!estimators[thread]) estimators[thread] = std::make_unique<Estimator>(problem_, table_);
    estimate_family(space_.families[i], *estimators[thread], results[i]);
    {
      const std::lock_guard lock(telling_);
      for (const Found& f : results[i].fit) {
        if (f.estimate.reserved <= capacity_ && (!best_ || f.score < best_->first)) best_ = {f.score, f.estimate};
      }
    }
    tell("families of plans estimated", ++done, results.size());
  });
  for (FamilyResult& r : results) {
    result_.estimated += r.estimated;
    std::move(r.fit.begin(), r.fit.end(), std::back_inserter(fit_));
    for (const auto& [rule, rejection] : r.rejections) {
      Rejection& total = result_.rejections[rule];
      total.plans += rejection.plans;
      if (total.example.empty()) total.example = rejection.example;
    }
  }
  std::stable_sort(fit_.begin(), fit_.end(), [](const Found& a, const Found& b) { return std::pair(a.score, a.estimate.step_time) < std::pair(b.score, b.estimate.step_time); });
  too_large_.assign(fit_.size(), false);
  best_.reset();
}

void Search::simulate(const std::vector<std::size_t>& which) {
  parallel(which.size(), [&](unsigned thread, std::size_t i) {
    if (!exact_[thread]) exact_[thread] = std::make_unique<Exact>(problem_, table_);
    Found& found = fit_[which[i]];
    found.exact = exact_[thread]->evaluate(found.candidate);
    found.score = score_of(found.candidate, *found.exact);
  });
  for (const std::size_t i : which) {
    const Found& found = fit_[i];
    if (!found.exact) continue;
    ++result_.simulated;
    result_.largest_estimate_error = std::max(result_.largest_estimate_error, std::abs(found.estimate.step_time / found.exact->step_time - 1.0));
    too_large_[i] = found.exact->reserved > capacity_;
    if (!too_large_[i] && (!best_ || found.score < best_->first)) best_ = {found.score, *found.exact};
  }
}

/// Waves in order of the estimates until what is left cannot be better, by `margin`, than the best.
void Search::simulate_leaders() {
  exact_.resize(std::max(1u, options_.threads));
  std::map<std::size_t, int> of_layout;
  std::vector<std::pair<std::size_t, Layout>> layouts;
  const auto layout_of = [&](const Candidate& c) {
    Layout layout{.nodes = c.nodes, .plan = c.plan};
    layout.plan.sharding = plan::Sharding::ddp;
    layout.plan.fsdp = {};
    layout.plan.buckets = {};
    layout.plan.offload.optimizer = false;
    for (const auto& [index, known] : layouts) {
      if (known == layout) return index;
    }
    layouts.emplace_back(layouts.size(), layout);
    return layouts.size() - 1;
  };
  std::size_t next = 0;
  while (next < fit_.size() && result_.simulated < options_.most_exact && !stop()) {
    if (best_ && fit_[next].score > best_->first * (1.0 + options_.margin)) break;
    std::vector<std::size_t> wave;
    for (; next < fit_.size() && wave.size() < kWave; ++next) {
      if (of_layout[layout_of(fit_[next].candidate)]++ < kExactALayout) wave.push_back(next);
    }
    simulate(wave);
    tell("plans simulated", result_.simulated, std::max<std::uint64_t>(result_.simulated, options_.most_exact));
  }
}

void Search::rank() {
  std::vector<Point> points;
  std::vector<std::size_t> of_point;
  const auto collect = [&] {
    points.clear();
    of_point.clear();
    for (std::size_t i = 0; i < fit_.size(); ++i) {
      if (too_large_[i] || fit_[i].figures().reserved > capacity_) continue;
      points.push_back(point_of(fit_[i]));
      of_point.push_back(i);
    }
  };
  // Estimates that make the front are simulated, and the front drawn again, until it holds simulated plans only or enough were simulated.
  std::vector<std::size_t> members;
  for (std::size_t budget = kMostFront;;) {
    collect();
    members = pareto_front(points);
    std::vector<std::size_t> unknown;
    for (const std::size_t m : members) {
      if (!fit_[of_point[m]].exact && unknown.size() < std::min(budget, kWave)) unknown.push_back(of_point[m]);
    }
    if (unknown.empty() || stop()) break;
    budget -= unknown.size();
    simulate(unknown);
  }
  std::vector<bool> shown(fit_.size(), false);
  for (const std::size_t m : members) {
    result_.front.push_back(fit_[of_point[m]]);
    shown[of_point[m]] = true;
  }
  for (std::size_t i = 0; i < fit_.size(); ++i) {
    if (too_large_[i] || fit_[i].estimate.reserved > capacity_ * (1.0 + kMemoryDoubt)) {
      Rejection& r = result_.rejections["memory"];
      if (r.plans++ == 0) r.example = fmt::format("{} of {}", to_text(fit_[i].figures().reserved), to_text(capacity_));
    } else if (fit_[i].exact) {
      result_.ranked.push_back(fit_[i]);
      shown[i] = true;
    }
  }
  std::stable_sort(result_.ranked.begin(), result_.ranked.end(), [](const Found& a, const Found& b) { return a.score < b.score; });
  for (std::size_t i = 0; i < fit_.size(); ++i) {
    if (too_large_[i]) continue;
    ++result_.fitting;
    if (!shown[i]) ++result_.rejections["slower"].plans;
  }
  if (result_.ranked.empty()) {  // stopped before anything was simulated: the estimates
    for (const Found& f : fit_) {
      if (f.estimate.reserved <= capacity_ && result_.ranked.size() < kWave) result_.ranked.push_back(f);
    }
  }
}

SearchResult Search::run() {
  const scenario::Inputs inputs = problem_.cache.load(problem_.scenario);
  space_ = enumerate(axes_, inputs.shape, problem_.scenario.cluster, problem_.scenario.plan, inputs.graph.get());
  result_.rejections = space_.rejections;
  result_.considered = space_.considered;
  result_.legal = space_.plans;
  result_.enumerate_s = elapsed();
  estimate_all();
  result_.estimate_s = elapsed() - result_.enumerate_s;
  result_.complete = !stopped_;
  stopped_ = false;
  simulate_leaders();
  rank();
  result_.exact_s = elapsed() - result_.enumerate_s - result_.estimate_s;
  result_.complete = result_.complete && !stopped_;
  result_.layer_costs = table_.size();
  if (!fit_.empty()) {
    const Candidate& any = fit_.front().candidate;
    result_.flops_a_sample = table_.get(any)->model->model_flops / static_cast<double>(any.plan.micro_batch);
  }
  return std::move(result_);
}

}  // namespace

SearchResult search(const Problem& problem, const Axes& axes, const SearchOptions& options) { return Search(problem, axes, options).run(); }

}  // namespace sgsim::search

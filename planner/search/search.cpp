#include "planner/search/search.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "planner/search/exact.h"
#include "planner/search/families.h"
#include "planner/search/front.h"
#include "planner/search/parallel.h"
#include "sim/core/stop.h"

namespace sgsim::search {
namespace {

// Plans of one layout differ in buckets and prefetch only: this many of each layout are simulated.
constexpr int kExactALayout = 3;
// Plans are timed and leaders simulated in groups of this many, whatever the number of threads, so that the same ones are.
constexpr std::size_t kTimeWave = 1024, kWave = 8;
constexpr std::size_t kMostFront = 160;  // plans simulated for the Pareto front at most
constexpr std::size_t kLastTimed = 256;  // plans still timed, and kWave simulated, when the search is stopped: the best so far is not a guess
// Of a stopped search: seconds for timing those and again for simulating; and the longest that is begun (exact_work, up to 1.5 s).
constexpr double kLastSeconds = 3.0, kLastWork = 20000.0;

struct Entry {
  Found found;
  bool too_large = false;  // lowering said so
  bool too_long = false;   // to simulate: its estimate stands for that
};

class Search {
 public:
  Search(const Problem& problem, const Axes& axes, const SearchOptions& options)
      : problem_(problem), axes_(axes), options_(options), table_(problem), rule_{.capacity = problem.scenario.cluster.node.gpu.memory, .margin = options.memory_margin},
        threads_(std::max(1u, options.threads)), started_(Clock::now()) {}

  SearchResult run();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }
  [[nodiscard]] bool stop() {
    if (finishing_) return elapsed() > finish_until_;
    if (stopped_ || options_.cancelled() || (options_.budget > 0.0 && elapsed() > options_.budget)) stopped_ = true;
    return stopped_;
  }
  [[nodiscard]] int gpus(const Candidate& c) const { return c.nodes * problem_.scenario.cluster.node.gpus; }
  [[nodiscard]] double score_of(const Candidate& c, const Figures& f) const { return score(options_.objective, options_.economics, gpus(c), c.plan.global_batch, f); }
  [[nodiscard]] Point point_of(const Found& f) const {
    return {.step_time = f.figures().step_time.value(), .memory = f.figures().needed.value(), .gpus = static_cast<double>(gpus(f.candidate)),
            .cost = cost_per_sample(options_.economics, gpus(f.candidate), f.figures().step_time, f.candidate.plan.global_batch).value_or(0.0)};
  }
  [[nodiscard]] bool fits(const Entry& e) const { return !e.too_large && rule_.fits(e.found.figures()); }
  [[nodiscard]] double work_of(const Entry& e) const { return exact_work(e.found.candidate, layers_); }
  template <class Work>
  void on_threads(std::size_t count, Work work) {
    parallel(threads_, count, [this] { return stop(); }, work);
  }
  [[nodiscard]] Estimator& estimator(unsigned thread) { return families_[thread]->estimator(); }

  void estimate_all();
  void show_best_so_far(const FamilyResult& result, Estimator& estimator);
  void sort_from(std::size_t first);
  void time(const std::vector<std::size_t>& which);
  void time_promising();
  void simulate(const std::vector<std::size_t>& which);
  void simulate_leaders();
  void finish_early();
  [[nodiscard]] std::vector<std::size_t> front();
  void rank();
  void tell(const char* phase, std::uint64_t done, std::uint64_t total);

  const Problem& problem_;
  const Axes& axes_;
  const SearchOptions& options_;
  LayerCostTable table_;
  MemoryRule rule_;
  unsigned threads_;
  Clock::time_point started_;
  std::atomic<bool> stopped_ = false;
  bool finishing_ = false;                 // stopped, and about to time the best so far
  double finish_until_ = 0.0;              // of elapsed(), while finishing_
  std::int64_t layers_ = 0;
  Space space_;
  std::vector<Entry> entries_;             // plans that may fit, by score
  std::mutex telling_;
  std::optional<std::pair<double, Figures>> best_;
  std::vector<std::unique_ptr<FamilyEstimator>> families_;
  std::vector<std::unique_ptr<Exact>> exact_;
  SearchResult result_;
};

void Search::tell(const char* phase, std::uint64_t done, std::uint64_t total) {
  const std::lock_guard lock(telling_);
  options_.progress({.phase = phase, .done = done, .total = total, .best = best_ ? std::optional(best_->second) : std::nullopt});
}

/// For the progress line only: a family's plan with the lowest bound, timed where it could be the best.
void Search::show_best_so_far(const FamilyResult& result, Estimator& estimator) {
  const auto least = std::min_element(result.fit.begin(), result.fit.end(), [](const Found& a, const Found& b) { return a.score < b.score; });
  if (least == result.fit.end() || !rule_.fits(least->estimate)) return;
  {
    const std::lock_guard lock(telling_);
    if (best_ && least->score >= best_->first) return;
  }
  Figures figures = least->estimate;
  const StateOption option = option_of(least->candidate);
  figures.step_time = estimator.step_times(layout_of(least->candidate), {&option, 1})[0];
  const double score = score_of(least->candidate, figures);
  const std::lock_guard lock(telling_);
  if (!best_ || score < best_->first) best_ = {score, figures};
}

void Search::estimate_all() {
  const std::size_t count = space_.families.size();
  std::vector<FamilyResult> results(count);
  families_.resize(threads_);
  // A stride that visits every family, so that what a stopped search has seen is spread over the space.
  std::size_t stride = std::max<std::size_t>(1, count * 5 / 13);
  while (std::gcd(stride, count) > 1) ++stride;
  std::atomic<std::uint64_t> done = 0;
  on_threads(count, [&](unsigned thread, std::size_t i) {
    if (!families_[thread]) families_[thread] = std::make_unique<FamilyEstimator>(problem_, axes_, options_, table_);
    FamilyResult& result = results[i * stride % count];
    result = families_[thread]->run(space_.families[i * stride % count]);
    show_best_so_far(result, estimator(thread));
    tell("families of plans estimated", ++done, count);
  });
  for (FamilyResult& r : results) {
    result_.estimated += r.estimated;
    for (Found& found : r.fit) entries_.push_back({.found = std::move(found)});
    for (const auto& [rule, rejection] : r.rejections) {
      Rejection& total = result_.rejections[rule];
      total.plans += rejection.plans;
      if (total.example.empty()) total.example = rejection.example;
    }
  }
  best_.reset();
  sort_from(0);
}

void Search::sort_from(std::size_t first) {
  std::stable_sort(entries_.begin() + static_cast<std::ptrdiff_t>(first), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.found.score, a.found.estimate.step_time) < std::pair(b.found.score, b.found.estimate.step_time);
  });
}

/// Estimates in place of bounds. Plans of one layout are timed together.
void Search::time(const std::vector<std::size_t>& which) {
  std::map<Layout, std::vector<std::size_t>> by_layout;
  for (const std::size_t i : which) {
    if (!entries_[i].found.timed) by_layout[layout_of(entries_[i].found.candidate)].push_back(i);
  }
  const std::vector<std::pair<Layout, std::vector<std::size_t>>> groups(by_layout.begin(), by_layout.end());
  on_threads(groups.size(), [&](unsigned thread, std::size_t g) {
    if (!families_[thread]) families_[thread] = std::make_unique<FamilyEstimator>(problem_, axes_, options_, table_);
    std::vector<StateOption> options;
    for (const std::size_t i : groups[g].second) options.push_back(option_of(entries_[i].found.candidate));
    const std::vector<Seconds> times = estimator(thread).step_times(groups[g].first, options);
    for (std::size_t k = 0; k < times.size(); ++k) {
      Found& found = entries_[groups[g].second[k]].found;
      found.estimate.step_time = times[k];
      found.timed = true;
      found.score = score_of(found.candidate, found.estimate);
    }
  });
}

/// In order of their bounds, in waves: what could be among the leaders or on the front, as far as the waves before it tell.
void Search::time_promising() {
  double best = std::numeric_limits<double>::infinity();
  std::vector<Point> front;
  const auto open = [&](const Entry& e) {
    if (e.found.score <= best * (1.0 + options_.margin)) return true;
    const Point point = point_of(e.found);
    return rule_.fits(e.found.estimate) && std::none_of(front.begin(), front.end(), [&](const Point& p) { return dominates(p, point); });
  };
  for (std::size_t next = 0; next < entries_.size() && !stop();) {
    std::vector<std::size_t> wave;
    for (; next < entries_.size() && wave.size() < kTimeWave; ++next) {
      if (open(entries_[next])) wave.push_back(next);
    }
    time(wave);
    std::vector<Point> points = std::move(front);
    for (const std::size_t i : wave) {
      const Found& found = entries_[i].found;
      if (!found.timed || !rule_.fits(found.estimate)) continue;
      best = std::min(best, found.score);
      points.push_back(point_of(found));
    }
    front.clear();
    for (const std::size_t member : pareto_front(points)) front.push_back(points[member]);
    tell("plans timed", next, entries_.size());
  }
  sort_from(0);
}

/// What is too long for that keeps its estimate. One that is under way when the search is stopped is given up, and stays an estimate.
void Search::simulate(const std::vector<std::size_t>& wanted) {
  time(wanted);
  std::vector<std::size_t> which;
  for (const std::size_t i : wanted) {
    Entry& e = entries_[i];
    if (work_of(e) <= kMostWork) {
      which.push_back(i);
      continue;
    }
    if (!e.found.timed || e.too_long) continue;
    e.too_long = true;
    ++result_.too_long;
    if (fits(e) && (!best_ || e.found.score < best_->first)) best_ = {e.found.score, e.found.estimate};
  }
  on_threads(which.size(), [&](unsigned thread, std::size_t i) {
    if (!exact_[thread]) exact_[thread] = std::make_unique<Exact>(problem_, table_);
    Found& found = entries_[which[i]].found;
    const StopScope scope([this] { return stop(); });
    try {
      found.exact = exact_[thread]->evaluate(found.candidate);
    } catch (const Stopped&) {
      return;
    }
    found.score = score_of(found.candidate, *found.exact);
  });
  for (const std::size_t i : which) {
    Entry& e = entries_[i];
    if (!e.found.exact) continue;
    ++result_.simulated;
    result_.largest_estimate_error = std::max(result_.largest_estimate_error, std::abs(e.found.estimate.step_time / e.found.exact->step_time - 1.0));
    e.too_large = !rule_.fits(*e.found.exact);
    if (!e.too_large && (!best_ || e.found.score < best_->first)) best_ = {e.found.score, *e.found.exact};
  }
}

/// Waves in order of the estimates until what is left cannot be better, by `margin`, than the best.
void Search::simulate_leaders() {
  std::map<Layout, int> of_layout;
  std::size_t next = 0;
  while (next < entries_.size() && result_.simulated + result_.too_long < options_.most_exact && !stop()) {
    const double worst = best_ ? best_->first * (1.0 + options_.margin) : std::numeric_limits<double>::infinity();
    std::map<Layout, int> taken;
    std::vector<std::size_t> wave, bounds;
    std::size_t after = next;
    for (; after < entries_.size() && wave.size() < kWave && entries_[after].found.score <= worst; ++after) {
      const Layout layout = layout_of(entries_[after].found.candidate);
      if (!entries_[after].found.timed) bounds.push_back(after);
      if (of_layout[layout] + taken[layout]++ < kExactALayout) wave.push_back(after);
    }
    if (!bounds.empty()) {  // time_promising() thought them hopeless, against a plan that was then found not to fit
      time(bounds);
      sort_from(next);
      continue;
    }
    if (wave.empty()) break;
    for (const auto& [layout, count] : taken) of_layout[layout] += count;
    next = after;
    simulate(wave);
    tell("plans simulated", result_.simulated, std::max<std::uint64_t>(result_.simulated, options_.most_exact));
  }
}

/// Stopped: the most promising of what was seen are timed and a few simulated all the same, unless that takes long.
void Search::finish_early() {
  finish_until_ = elapsed() + kLastSeconds;
  finishing_ = true;
  std::vector<std::size_t> first(std::min(entries_.size(), kLastTimed));
  std::iota(first.begin(), first.end(), std::size_t{0});
  time(first);
  sort_from(0);
  if (result_.simulated == 0) {
    first.clear();
    for (std::size_t i = 0; i < entries_.size() && first.size() < kWave; ++i) {
      if (entries_[i].found.timed && fits(entries_[i]) && work_of(entries_[i]) <= kLastWork) first.push_back(i);
    }
    finish_until_ = elapsed() + kLastSeconds;
    simulate(first);
  }
  finishing_ = false;
}

/// Indices of the front. Bounds that make it are timed and estimates that make it are simulated, and the front is drawn again, until it holds simulated
/// plans only or enough were simulated.
std::vector<std::size_t> Search::front() {
  for (std::size_t budget = kMostFront;;) {
    const bool stopped = stop();
    std::vector<Point> points;
    std::vector<std::size_t> of_point, members, bounds, estimates;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!fits(entries_[i]) || (stopped && !entries_[i].found.timed)) continue;
      points.push_back(point_of(entries_[i].found));
      of_point.push_back(i);
    }
    for (const std::size_t m : pareto_front(points)) members.push_back(of_point[m]);
    for (const std::size_t i : members) {
      if (!entries_[i].found.timed) bounds.push_back(i);
      else if (!entries_[i].found.exact && !entries_[i].too_long && estimates.size() < std::min(budget, kWave)) estimates.push_back(i);
    }
    if (stopped || (bounds.empty() && estimates.empty())) return members;
    if (!bounds.empty()) {
      time(bounds);
      continue;
    }
    budget -= estimates.size();
    simulate(estimates);
    tell("plans simulated for the front", result_.simulated, result_.simulated + budget);
  }
}

void Search::rank() {
  std::vector<bool> shown(entries_.size(), false);
  for (const std::size_t i : front()) {
    result_.front.push_back(entries_[i].found);
    shown[i] = true;
  }
  std::stable_sort(result_.front.begin(), result_.front.end(), [](const Found& a, const Found& b) { return a.figures().step_time < b.figures().step_time; });
  const bool any_exact = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.found.exact && fits(e); });
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Found& found = entries_[i].found;
    if (found.timed) ++result_.timed;
    if (!fits(entries_[i])) {
      reject_memory(rule_, found.figures(), result_.rejections);
      continue;
    }
    ++result_.fitting;
    if (found.exact || entries_[i].too_long || (stopped_ && !any_exact && found.timed)) result_.ranked.push_back(found);
    else if (!shown[i]) ++result_.rejections["slower"].plans;
  }
  if (auto slower = result_.rejections.find("slower"); slower != result_.rejections.end()) slower->second.example = "fits, and neither among the leaders nor on the front";
  std::stable_sort(result_.ranked.begin(), result_.ranked.end(), [](const Found& a, const Found& b) { return a.score < b.score; });
}

SearchResult Search::run() {
  const scenario::Inputs inputs = problem_.cache.load(problem_.scenario);
  space_ = enumerate(axes_, inputs.shape, problem_.scenario.cluster, problem_.scenario.plan, inputs.graph.get());
  layers_ = inputs.shape.layers;
  result_.rejections = space_.rejections;
  result_.considered = space_.considered;
  result_.legal = space_.plans;
  result_.enumerate_s = elapsed();
  exact_.resize(threads_);
  estimate_all();
  time_promising();
  result_.estimate_s = elapsed() - result_.enumerate_s;
  simulate_leaders();
  if (stop()) finish_early();
  rank();
  result_.exact_s = elapsed() - result_.enumerate_s - result_.estimate_s;
  result_.complete = !stopped_;
  result_.layer_costs = table_.size();
  if (!entries_.empty()) {
    const Candidate& any = entries_.front().found.candidate;
    result_.flops_a_sample = table_.get(any)->model->model_flops / static_cast<double>(any.plan.micro_batch);
  }
  return std::move(result_);
}

}  // namespace

SearchResult search(const Problem& problem, const Axes& axes, const SearchOptions& options) { return Search(problem, axes, options).run(); }

}  // namespace sgsim::search

#include "sim/scenario/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <thread>

#include "sim/core/error.h"
#include "sim/core/error.h"
#include "sim/core/units_text.h"

namespace sgsim::scenario {
namespace {

/// What became of one variant.
using Trial = std::variant<Change, Dropped>;

Trial attempt(const Scenario& scenario, const Variant& variant, InputCache& cache, const RunEngine& engine) {
  try {
    const Scenario changed = with(scenario, variant);
    const Outcome outcome = simulate(changed, cache.load(changed), engine);
    if (const auto* violations = std::get_if<std::vector<plan::Violation>>(&outcome)) return Dropped{variant, violations->front().message};
    const Result& result = std::get<Run>(outcome).result;
    if (!result.fits) {
      return Dropped{variant, fmt::format("needs {} of {} a GPU ({} too much)", to_text(result.reserved_memory), to_text(result.capacity), to_text(result.reserved_memory - result.capacity))};
    }
    return Change{.variant = variant, .result = result};
  } catch (const InputError& error) {
    return Dropped{variant, error.problem().found + "; expected " + error.problem().expected};
  } catch (const InternalError& error) {  // a bug of ours in one variant must not hide the others
    return Dropped{variant, error.what()};
  }
}

/// Runs `work(i)` for each i below `count` on several threads; the first exception goes to the caller.
template <class Work>
void in_parallel(std::size_t count, unsigned threads, Work work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto loop = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (failure == nullptr) failure = std::current_exception();
      }
    }
  };
  std::vector<std::thread> crew;
  for (unsigned t = 1; t < threads; ++t) crew.emplace_back(loop);
  loop();
  for (std::thread& thread : crew) thread.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

void sort_out(Explanation& e, std::vector<std::optional<Trial>>& trials) {
  for (auto& trial : trials) {
    if (auto* dropped = std::get_if<Dropped>(&*trial)) {
      e.dropped.push_back(std::move(*dropped));
      continue;
    }
    Change& change = std::get<Change>(*trial);
    change.gain = change.result.samples_per_second / e.result.samples_per_second - 1.0;
    change.memory_added = change.result.reserved_memory - e.result.reserved_memory;
    e.changes.push_back(std::move(change));
  }
  std::stable_sort(e.changes.begin(), e.changes.end(), [](const Change& a, const Change& b) { return a.gain > b.gain; });
}

/// The best changes of plan and execution, two at a time: what hardware and batches do comes on top of any plan.
std::vector<Variant> pairs_of_best(const std::vector<Change>& changes) {
  constexpr std::size_t kBest = 4;
  constexpr double kWorthwhile = 0.005;
  std::vector<Variant> best, pairs;
  for (const Change& change : changes) {
    const bool ours = change.variant.kind == VariantKind::plan || change.variant.kind == VariantKind::execution;
    if (ours && change.gain > kWorthwhile && best.size() < kBest) best.push_back(change.variant);
  }
  for (std::size_t a = 0; a < best.size(); ++a) {
    for (std::size_t b = a + 1; b < best.size(); ++b) {
      if (auto pair = both(best[a], best[b])) pairs.push_back(std::move(*pair));
    }
  }
  return pairs;
}

}  // namespace

std::variant<Explanation, std::vector<plan::Violation>> explain(const Scenario& scenario, InputCache& cache, const RunEngine& engine, unsigned threads) {
  Outcome outcome = simulate(scenario, cache.load(scenario), engine, {.choice = scenario.engine, .record = Record::everything, .ranks = {}});
  if (auto* violations = std::get_if<std::vector<plan::Violation>>(&outcome)) return std::move(*violations);
  const Run& run = std::get<Run>(outcome);
  Explanation e;
  e.result = run.result;
  e.path = by_name(run.simulation, critical_path(run.simulation));
  const auto attempt_all = [&](const std::vector<Variant>& variants) {
    std::vector<std::optional<Trial>> trials(variants.size());
    in_parallel(variants.size(), threads, [&](std::size_t i) { trials[i] = attempt(scenario, variants[i], cache, engine); });
    sort_out(e, trials);
  };
  attempt_all(variants_of(scenario));
  attempt_all(pairs_of_best(e.changes));
  return e;
}

}  // namespace sgsim::scenario

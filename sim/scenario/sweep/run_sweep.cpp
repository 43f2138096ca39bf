#include "sim/scenario/sweep/run_sweep.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/core/error.h"
#include "sim/scenario/read.h"
#include "sim/scenario/sweep/csv.h"
#include "sim/scenario/sweep/store.h"
#include "sim/scenario/sweep/worker_pool.h"

namespace sgsim::scenario {
namespace {

using nlohmann::json;

constexpr int kTellMilliseconds = 500;

std::string pack(const PointOutcome& outcome) {
  return json{{"status", label(outcome.status)}, {"reason", outcome.reason}, {"report", outcome.report}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

PointOutcome unpack(const WorkerPool::Answer& answer) {
  if (!answer.text) return {PointStatus::failed, answer.death, ""};
  const json tree = json::parse(*answer.text);
  return {status_from(tree.at("status").get<std::string>()), tree.at("reason").get<std::string>(), tree.at("report").get<std::string>()};
}

/// Loads what most points share before the workers are forked, so that they share its memory too.
void warm_up(const Sweep& sweep, InputCache& cache) {
  try {
    (void)cache.load(read_scenario(sweep.scenario, sweep.set));
  } catch (const InputError&) {  // the points will say what is wrong, each for itself
  }
}

class Sweeper {
 public:
  Sweeper(const Sweep& sweep, const SweepOptions& options, const std::function<void(const SweepProgress&)>& tell)
      : store_(options.store), tell_(tell) {
    PointKeys keys(options.program_version);
    std::vector<std::string> settings;
    for (std::uint64_t point = 0; point < sweep.points(); ++point) {
      keys_.push_back(keys.key(sweep, point));
      settings.push_back(settings_text(settings_of(sweep, point)));
    }
    store_.set_points(settings, keys_);
    progress_.points = keys_.size();
    plan(options.retry_failed);
  }

  void simulate(const Sweep& sweep, const RunEngine& engine, unsigned workers) {
    tell_(progress_);
    if (!todo_.empty()) {
      InputCache cache;
      warm_up(sweep, cache);
      const bool fresh = std::any_of(keys_.begin(), keys_.end(), [](const PointKeys::Key& key) { return key.own_process; });
      WorkerPool pool(static_cast<unsigned>(std::min<std::size_t>(workers, todo_.size())), fresh,
                      [&](std::uint64_t point) { return pack(simulate_point(sweep, point, cache, engine)); });
      drive(pool);
    }
  }

  /// The points that fit, by samples a second.
  void rank(const Sweep& sweep) {
    std::vector<BestPoint>& best = progress_.best;
    for (std::uint64_t point = 0; point < keys_.size(); ++point) {
      const auto outcome = store_.find(keys_[point]);
      if (!outcome || outcome->status != PointStatus::ok) continue;
      const json report = json::parse(outcome->report);
      best.push_back({.number = point, .settings = settings_text(settings_of(sweep, point)), .step_time_s = report.at("step_time_s").get<double>(),
                      .samples_per_s = report.at("samples_per_s").get<double>(), .mfu = report.at("mfu").get<double>(),
                      .reserved_mem_bytes = report.at("reserved_mem_bytes").get<double>()});
      std::stable_sort(best.begin(), best.end(), [](const BestPoint& a, const BestPoint& b) { return a.samples_per_s > b.samples_per_s; });
      if (best.size() > kMostBest) best.pop_back();
    }
  }

  [[nodiscard]] const SweepProgress& progress() const { return progress_; }
  ResultStore& store() { return store_; }
  [[nodiscard]] const std::vector<PointKeys::Key>& keys() const { return keys_; }

 private:
  /// What is left to do: each distinct key once.
  void plan(bool retry_failed) {
    std::set<std::string> planned;
    for (std::uint64_t point = 0; point < keys_.size(); ++point) {
      const PointKeys::Key& key = keys_[point];
      auto known = store_.find(key);
      if (known && known->status == PointStatus::failed && retry_failed) {
        store_.forget(key);
        known.reset();
      }
      if (known) {
        ++progress_.reused;
        count(known->status);
      } else if (planned.insert(key.hash).second) {
        todo_.push_back(point);
      } else {
        ++twins_[key.hash];
      }
    }
  }

  void drive(WorkerPool& pool) {
    std::size_t next = 0;
    while (next < todo_.size() || pool.has_busy()) {
      while (next < todo_.size() && pool.has_idle()) pool.submit(todo_[next++]);
      if (const auto answer = pool.wait(kTellMilliseconds)) {
        const PointOutcome outcome = unpack(*answer);
        store_.put(keys_[answer->number], outcome);
        count(outcome.status);
        for (std::uint64_t twin = twins_[keys_[answer->number].hash]; twin > 0; --twin) {
          ++progress_.reused;
          count(outcome.status);
        }
      }
      tell_(progress_);
    }
  }

  void count(PointStatus status) {
    ++progress_.done;
    ++progress_.by_status[static_cast<std::size_t>(status)];
  }

  ResultStore store_;
  const std::function<void(const SweepProgress&)>& tell_;
  std::vector<PointKeys::Key> keys_;
  std::vector<std::uint64_t> todo_;
  std::map<std::string, std::uint64_t> twins_;  // points that wait for another with their key
  SweepProgress progress_;
};

}  // namespace

SweepProgress run_sweep(const Sweep& sweep, const RunEngine& engine, const SweepOptions& options, const std::function<void(const SweepProgress&)>& tell) {
  Sweeper run(sweep, options, tell);
  run.simulate(sweep, engine, options.workers);
  if (!options.csv.empty()) write_csv(options.csv, sweep, run.store(), run.keys());
  run.rank(sweep);
  return run.progress();
}

}  // namespace sgsim::scenario

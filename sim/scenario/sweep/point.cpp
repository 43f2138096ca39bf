#include "sim/scenario/sweep/point.h"

#include <array>
#include <chrono>
#include <new>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/core/units_text.h"
#include "sim/scenario/content_hash.h"
#include "sim/scenario/read.h"
#include "sim/scenario/report.h"

namespace sgsim::scenario {
namespace {

constexpr std::array<std::string_view, 5> kStatusWords = {"ok", "does_not_fit", "infeasible", "bad_input", "failed"};

/// What a result depends on: no description, no list of defaults, no file name.
std::string essence(Scenario scenario) {
  scenario.description.clear();
  scenario.defaults.clear();
  scenario.file.clear();
  return effective_text(scenario);
}

PointOutcome outcome_of(const Scenario& scenario, InputCache& cache, const RunEngine& engine) {
  const auto started = std::chrono::steady_clock::now();
  const Inputs inputs = cache.load(scenario);
  const Outcome outcome = simulate(scenario, inputs, engine);
  if (const auto* violations = std::get_if<std::vector<plan::Violation>>(&outcome)) {
    return {PointStatus::infeasible, violations->front().rule + ": " + violations->front().message, ""};
  }
  const Result& r = std::get<Run>(outcome).result;
  const Seconds wall(std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
  const std::string reason = r.fits ? "" : "needs " + to_text(r.reserved_memory) + " of " + to_text(r.capacity) + " a GPU";
  return {r.fits ? PointStatus::ok : PointStatus::does_not_fit, reason, json_report(scenario, inputs, r, wall)};
}

}  // namespace

std::string_view label(PointStatus status) { return kStatusWords[static_cast<std::size_t>(status)]; }

PointStatus status_from(std::string_view text) {
  for (std::size_t i = 0; i < kStatusWords.size(); ++i) {
    if (kStatusWords[i] == text) return static_cast<PointStatus>(i);
  }
  throw EnvironmentError("the result store holds an unknown status '" + std::string(text) + "'");
}

std::vector<Setting> all_settings(const Sweep& sweep, std::uint64_t point) {
  std::vector<Setting> settings = sweep.set;
  const std::vector<Setting> own = settings_of(sweep, point);
  settings.insert(settings.end(), own.begin(), own.end());
  return settings;
}

const std::string& PointKeys::content_of(const std::string& path) {
  auto found = hashes_.find(path);
  if (found == hashes_.end()) {
    std::string hash;
    try {
      hash = content_hash(read_text_file(path));
    } catch (const InputError&) {
      hash = "unreadable";  // the point itself will say so
    }
    found = hashes_.emplace(path, std::move(hash)).first;
  }
  return found->second;
}

PointKeys::Key PointKeys::key(const Sweep& sweep, std::uint64_t point) {
  const std::vector<Setting> settings = all_settings(sweep, point);
  Key key;
  try {
    const Scenario scenario = read_scenario(sweep.scenario, settings);
    key.own_process = scenario.engine.name == EngineName::simgrid;
    key.effective = essence(scenario) + content_of(scenario.model.path) + " " + content_of(scenario.profile) + "\n";
  } catch (const InputError& error) {
    key.effective = error.what();
  }
  key.effective += version_;
  key.hash = content_hash(key.effective);
  return key;
}

PointOutcome simulate_point(const Sweep& sweep, std::uint64_t point, InputCache& cache, const RunEngine& engine) {
  try {
    return outcome_of(read_scenario(sweep.scenario, all_settings(sweep, point)), cache, engine);
  } catch (const InputError& error) {
    return {PointStatus::bad_input, error.what(), ""};
  } catch (const std::bad_alloc&) {
    return {PointStatus::failed, "out of memory", ""};
  } catch (const std::exception& error) {
    return {PointStatus::failed, error.what(), ""};
  }
}

}  // namespace sgsim::scenario

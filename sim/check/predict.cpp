#include "sim/check/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <numeric>
#include <thread>

#include "sim/check/facts.h"
#include "sim/check/measured.h"
#include "sim/core/error.h"
#include "sim/scenario/inputs.h"
#include "sim/scenario/report.h"

namespace sgsim::check {
namespace {

std::string size_text(const std::optional<std::int64_t>& size) { return size ? std::to_string(*size) : "?"; }

std::string group_text(const Record& r) {
  return fmt::format("{} l{} h{} s{} v{} on {} x {}, batch {}, {}", r.model, size_text(r.layers), size_text(r.hidden), size_text(r.sequence),
                     size_text(r.vocab), size_text(r.gpus), r.gpu, size_text(r.global_batch), r.precision);
}

const scenario::StackFile* stack_named(const Sources& sources, const std::string& name) {
  const auto found = std::find_if(sources.stacks.begin(), sources.stacks.end(), [&](const auto& s) { return s.name == name; });
  return found == sources.stacks.end() ? nullptr : &*found;
}

std::string dominating(const scenario::Result& r) {
  const std::pair<const char*, Seconds> shares[] = {{"computation", r.compute}, {"exposed communication", r.exposed_comm}, {"bubble", r.bubble},
                                                    {"host", r.host_bound}, {"other idle", r.other_idle}};
  const auto* largest = std::max_element(std::begin(shares), std::end(shares), [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format("{} {:.0f} %", largest->first, 100.0 * (largest->second / r.step_time));
}

void fill(Row& row, const scenario::Result& result) {
  row.predicted_s = result.step_time.value();
  row.low_s = result.interval.low.value();
  row.high_s = result.interval.high.value();
  row.dominates = dominating(result);
  row.predicted_allocated = result.peak_memory.value();
  row.predicted_reserved = result.reserved_memory.value();
  row.predicted_fits = result.fits;
  if (row.measured_memory) row.predicted_memory = row.memory_kind == MemoryKind::reserved ? row.predicted_reserved : row.predicted_allocated;
}

std::string violations_text(const std::vector<plan::Violation>& violations) {
  std::string text;
  for (const plan::Violation& v : violations) text += (text.empty() ? "" : "; ") + v.message;
  return text;
}

/// The profile of the scenario, or the one that shall stand in its place.
void replace_profile(scenario::Scenario& s, const std::map<std::string, std::string>& profiles) {
  const auto found = profiles.find(std::filesystem::path(s.profile).stem().string());
  if (found != profiles.end()) s.profile = found->second;
}

/// Mean of full recomputation (in `row`) and none, by the share of layers that are run again.
void blend(Row& row, const scenario::Result& none, double share) {
  const auto mean = [&](double full, double without) { return share * full + (1.0 - share) * without; };
  row.predicted_s = mean(*row.predicted_s, none.step_time.value());
  row.low_s = mean(*row.low_s, none.interval.low.value());
  row.high_s = mean(*row.high_s, none.interval.high.value());
  row.predicted_allocated = mean(row.predicted_allocated, none.peak_memory.value());
  row.predicted_reserved = mean(row.predicted_reserved, none.reserved_memory.value());
  if (row.measured_memory) row.predicted_memory = row.memory_kind == MemoryKind::reserved ? row.predicted_reserved : row.predicted_allocated;
}

Row predict_one(const Record& record, const Sources& sources, const scenario::RunEngine& engine, scenario::InputCache& cache, const PredictOptions& options) {
  Row row{.file = record.file, .id = record.id, .source = record.source, .gpu = record.gpu, .model = group_text(record), .framework = record.framework};
  if (!record.is_measured()) {
    row.skipped = "not measured: " + record.kind;
    return row;
  }
  Question question = question_of(record, sources);
  row.stack = question.stack;
  row.assumed = question.assumed;
  row.measured_s = measured_step(record);
  const scenario::StackFile* stack = stack_named(sources, question.stack);
  if (const auto memory = measured_memory(record, stack != nullptr && stack->reports_reserved_memory)) {
    row.measured_memory = memory->bytes;
    row.memory_kind = memory->kind;
  }
  if (mentions(record.outcome, "OOM")) row.measured_fits = false;
  if (row.measured_s || row.measured_memory) row.measured_fits = true;
  row.skipped = question.skipped;
  if (row.skipped.empty() && !row.measured_fits) row.skipped = "nothing measured that can be compared";
  if (!row.skipped.empty()) return row;
  try {
    row.profile = std::filesystem::path(question.scenario.profile).stem().string();
    replace_profile(question.scenario, options.profiles);
    row.plan = scenario::plan_text(question.scenario.plan);
    const scenario::Inputs inputs = cache.load(question.scenario);
    const scenario::Outcome outcome = scenario::simulate(question.scenario, inputs, engine);
    if (const auto* violations = std::get_if<std::vector<plan::Violation>>(&outcome)) {
      row.skipped = violations_text(*violations);
    } else {
      fill(row, std::get<scenario::Run>(outcome).result);
      if (question.recompute_share > 0.0) {
        scenario::Scenario without = question.scenario;
        without.plan.recompute = plan::Recompute::none;
        const scenario::Outcome other = scenario::simulate(without, inputs, engine);
        if (const auto* run = std::get_if<scenario::Run>(&other)) blend(row, run->result, question.recompute_share);
      }
    }
  } catch (const InputError& error) {
    row.skipped = error.what();
  }
  return row;
}

}  // namespace

std::vector<Row> predict(const std::vector<Record>& records, const Sources& sources, const scenario::RunEngine& engine, const PredictOptions& options) {
  std::vector<Row> rows(records.size());
  // Records of one model stand together, so that a thread's cache serves them.
  std::vector<std::size_t> order(records.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return records[a].micro_batch < records[b].micro_batch; });
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return records[a].hidden < records[b].hidden; });
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::atomic<bool> failed{false};
  const auto work = [&] {
    scenario::InputCache cache;
    try {
      for (std::size_t i = next++; i < order.size() && !failed; i = next++) rows[order[i]] = predict_one(records[order[i]], sources, engine, cache, options);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < options.threads; ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return rows;
}

}  // namespace sgsim::check

#include "sim/check/summary.h"

#include <algorithm>
#include <cmath>

namespace sgsim::check {
namespace {

void add_error(std::vector<std::pair<double, std::string>>& errors, const std::optional<double>& error, const std::string& id) {
  if (error) errors.emplace_back(*error, id);
}

ErrorSummary error_summary(const std::vector<std::pair<double, std::string>>& errors) {
  ErrorSummary s;
  s.count = static_cast<int>(errors.size());
  if (errors.empty()) return s;
  std::vector<double> sizes;
  for (const auto& [error, id] : errors) {
    sizes.push_back(std::abs(error));
    s.mean += std::abs(error);
    s.bias += error;
    if (std::abs(error) > s.worst || s.worst_id.empty()) {
      s.worst = std::abs(error);
      s.worst_id = id;
    }
  }
  s.mean /= s.count;
  s.bias /= s.count;
  std::sort(sizes.begin(), sizes.end());
  const std::size_t half = sizes.size() / 2;
  s.median = sizes.size() % 2 == 1 ? sizes[half] : 0.5 * (sizes[half - 1] + sizes[half]);
  return s;
}

void count_pairs(const std::vector<const Row*>& rows, Summary& s) {
  std::map<std::pair<std::string, std::string>, std::vector<const Row*>> models;
  for (const Row* row : rows) {
    if (row->error()) models[{row->file, row->model}].push_back(row);
  }
  for (const auto& [model, plans] : models) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      for (std::size_t j = i + 1; j < plans.size(); ++j) {
        const double measured = *plans[i]->measured_s / *plans[j]->measured_s, predicted = *plans[i]->predicted_s / *plans[j]->predicted_s;
        if (std::max(measured, 1.0 / measured) < 1.0 + kPairMargin) continue;
        ++s.pairs;
        if ((measured > 1.0) == (predicted > 1.0)) ++s.pairs_right;
      }
    }
  }
}

}  // namespace

Summary summarize(const std::vector<const Row*>& rows) {
  Summary s;
  std::vector<std::pair<double, std::string>> times, memories;
  for (const Row* row : rows) {
    ++s.rows;
    if (!row->skipped.empty()) {
      ++s.skipped;
      ++s.skip_reasons[row->skipped];
      continue;
    }
    add_error(times, row->error(), row->id);
    add_error(memories, row->memory_error(), row->id);
    if (const auto inside = row->inside()) {
      ++s.intervals;
      if (*inside) ++s.inside;
    }
    if (row->measured_fits && row->predicted_fits) {
      const bool measured_out = !*row->measured_fits, predicted_out = !*row->predicted_fits;
      s.fit_measured += measured_out ? 1 : 0;
      s.fit_predicted += predicted_out ? 1 : 0;
      s.fit_both += measured_out && predicted_out ? 1 : 0;
    }
  }
  s.time = error_summary(times);
  s.memory = error_summary(memories);
  count_pairs(rows, s);
  return s;
}

std::vector<std::pair<std::string, Summary>> summaries_by_file(const std::vector<Row>& rows) {
  std::vector<std::string> files;
  std::map<std::string, std::vector<const Row*>> by_file;
  for (const Row& row : rows) {
    auto& list = by_file[row.file];
    if (list.empty()) files.push_back(row.file);
    list.push_back(&row);
  }
  std::vector<std::pair<std::string, Summary>> result;
  for (const std::string& file : files) result.emplace_back(file, summarize(by_file[file]));
  return result;
}

Summary summarize_all(const std::vector<Row>& rows) {
  std::vector<const Row*> all;
  for (const Row& row : rows) all.push_back(&row);
  return summarize(all);
}

}  // namespace sgsim::check

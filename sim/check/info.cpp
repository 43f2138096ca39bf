#include "sim/check/info.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "sim/check/collectives.h"
#include "sim/check/record.h"
#include "sim/check/suite.h"
#include "sim/scenario/text_table.h"

namespace sgsim::check {
namespace {

using scenario::TextTable;

std::string records_text(const std::string& path) {
  const std::vector<Record> records = read_records(path);
  std::map<std::string, std::int64_t> gpus, models, frameworks;
  std::int64_t measured = 0, timed = 0, most = 0;
  for (const Record& r : records) {
    measured += r.is_measured() ? 1 : 0;
    timed += r.measured.contains("step_time_s") ? 1 : 0;
    most = std::max(most, r.gpus.value_or(0));
    ++gpus[r.gpu.empty() ? "not said" : r.gpu];
    ++models[r.model.empty() ? "not said" : r.model];
    ++frameworks[r.framework.empty() ? "not said" : r.framework];
  }
  const auto list = [](const std::map<std::string, std::int64_t>& counts) {
    std::string text;
    std::size_t shown = 0;
    for (const auto& [name, count] : counts) {
      if (++shown > 6) return text + fmt::format(", and {} more", counts.size() - 6);
      text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, count);
    }
    return text;
  };
  TextTable table("lr");
  table.row({"runs", std::to_string(records.size())});
  table.row({"measured", std::to_string(measured)});
  table.row({"with a step time", std::to_string(timed)});
  table.row({"most GPUs", std::to_string(most)});
  return fmt::format("{}: records of training runs\n", path) + table.text() +
         fmt::format("  GPUs: {}\n  models: {}\n  frameworks: {}\n", list(gpus), list(models), list(frameworks));
}

std::string suite_text(const std::string& path) {
  const Suite suite = read_suite(path);
  std::size_t reported = 0;
  for (const SuiteEntry& e : suite.entries) reported += e.report_only ? 1 : 0;
  TextTable table("lr");
  table.row({"record files with tolerances", std::to_string(suite.entries.size())});
  table.row({"of these reported only", std::to_string(reported)});
  table.row({"errors as last accepted", std::to_string(suite.baseline.size())});
  return fmt::format("{}: suite of tolerances for sgsim check\n", path) + table.text();
}

}  // namespace

std::optional<std::string> info_text(const std::string& path, std::string_view text) {
  const auto tree = nlohmann::json::parse(text, nullptr, false);
  if (tree.is_array() && !tree.empty() && tree.front().is_object()) {
    const nlohmann::json& row = tree.front();
    if (holds_collectives(text)) return fmt::format("{}: {} measured collectives\n", path, tree.size());
    if (row.contains("measured") || (row.contains("id") && row.contains("model"))) return records_text(path);
  }
  if (!tree.is_object()) return std::nullopt;
  if (tree.contains("tolerances")) return suite_text(path);
  if (const auto models = tree.find("models"); models != tree.end() && models->is_object() && tree.contains("schema_version")) {
    return fmt::format("{}: facts of {} models that records name\n", path, models->size());
  }
  return std::nullopt;
}

}  // namespace sgsim::check

#include "calibrate/record/measured_file.h"

#include <nlohmann/json.hpp>

#include "calibrate/record/machine_json.h"
#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/cost/strict_json.h"

namespace sgsim::calibrate {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::string& file, std::string where, std::string found, std::string expected) {
  throw InputError({.file = file, .where = std::move(where), .found = std::move(found), .expected = std::move(expected), .hint = "sgsim-calibrate execute writes such files"});
}

json write_steps(const MeasuredSteps& s) {
  return {{"count", s.count}, {"median_s", s.median_s}, {"least_s", s.least_s}, {"greatest_s", s.greatest_s}, {"spread_s", s.spread_s},
          {"event_s", s.event_s}, {"issue_s", s.issue_s}, {"traced_s", s.traced_s}, {"traced", s.traced}};
}

MeasuredSteps read_steps(cost::StrictObject o) {
  MeasuredSteps s{.count = static_cast<int>(o.integer("count", 0)), .median_s = o.number("median_s", 0.0), .least_s = o.number("least_s", 0.0), .greatest_s = o.number("greatest_s", 0.0),
                  .spread_s = o.number("spread_s", 0.0), .event_s = o.number("event_s", 0.0), .issue_s = o.number("issue_s", 0.0), .traced_s = o.number("traced_s", 0.0),
                  .traced = static_cast<int>(o.integer("traced", 0))};
  o.finish();
  return s;
}

/// A task is [start_ns, end_ns, busy_ns, records].
std::vector<std::vector<MeasuredTask>> read_ranks(const json& ranks, const std::string& file) {
  std::vector<std::vector<MeasuredTask>> result;
  if (!ranks.is_array()) fail(file, "$.ranks", "no array", "a list of tasks a rank");
  for (const json& rank : ranks) {
    if (!rank.is_array()) fail(file, "$.ranks", "no array", "a list of tasks a rank");
    auto& tasks = result.emplace_back();
    for (const json& t : rank) {
      const bool good = t.is_array() && t.size() == 4 && std::all_of(t.begin(), t.end(), [](const json& v) { return v.is_number_integer(); });
      if (!good) fail(file, "$.ranks", t.dump(), "[start_ns, end_ns, busy_ns, records]");
      tasks.push_back({.start_ns = t[0].get<std::int64_t>(), .end_ns = t[1].get<std::int64_t>(), .busy_ns = t[2].get<std::int64_t>(), .records = t[3].get<int>()});
    }
  }
  return result;
}

std::vector<std::string> read_notes(const json& notes, const std::string& file) {
  std::vector<std::string> result;
  if (!notes.is_array()) fail(file, "$.notes", "no array", "texts");
  for (const json& n : notes) {
    if (!n.is_string()) fail(file, "$.notes", n.dump(), "texts");
    result.push_back(n.get<std::string>());
  }
  return result;
}

}  // namespace

std::string to_text(const MeasuredProgram& m) {
  json ranks = json::array(), works = json::array(), numbers = json::array();
  for (const auto& tasks : m.ranks) {
    json& rank = ranks.emplace_back(json::array());
    for (const MeasuredTask& t : tasks) rank.push_back({t.start_ns, t.end_ns, t.busy_ns, t.records});
  }
  for (const auto& [index, w] : m.works) works.push_back({{"work", index}, {"count", w.count}, {"median_s", w.median_s}, {"least_s", w.least_s}, {"greatest_s", w.greatest_s}});
  for (const NumberCheck& c : m.numbers) numbers.push_back({{"what", c.what}, {"elements", c.elements}, {"wrong", c.wrong}, {"error", c.error}, {"tolerance", c.tolerance}});
  return json{{"schema_version", kMeasuredVersion}, {"program", m.program}, {"name", m.name}, {"launch", m.graph ? "graph" : "stream"}, {"command", m.command},
              {"machine", write_machine(m.machine)}, {"steps", write_steps(m.steps)}, {"graph_instantiate_s", m.graph_instantiate_s}, {"graph_nodes", m.graph_nodes},
              {"memory", {{"context_bytes", m.memory.context}, {"communicators_bytes", m.memory.communicators}, {"operands_bytes", m.memory.operands}}},
              {"sm_clock_mhz", m.sm_clock_mhz}, {"power_w", m.power_w}, {"ranks", ranks}, {"works", works}, {"numbers", numbers},
              {"waits", {{"checked", m.waits_checked}, {"violated", m.waits_violated}}}, {"records", {{"dropped", m.records_dropped}, {"unplaced", m.records_unplaced}}}, {"notes", m.notes}}
             .dump() + "\n";
}

MeasuredProgram measured_from_text(std::string_view text, const std::string& file) {
  const json tree = json::parse(text, nullptr, false);
  if (tree.is_discarded()) fail(file, "$", "no JSON", "a measured program");
  cost::StrictObject o(tree, file, "$");
  if (o.integer("schema_version", 1) != kMeasuredVersion) fail(file, "$.schema_version", o.at("schema_version").dump(), std::to_string(kMeasuredVersion));
  MeasuredProgram m;
  m.program = o.text("program");
  m.name = o.text("name");
  m.graph = o.text("launch") == "graph";
  m.command = o.text("command");
  try {
    m.machine = read_machine(o.at("machine"));
  } catch (const json::exception& error) {
    fail(file, "$.machine", error.what(), "a machine's description");
  }
  m.steps = read_steps(o.object("steps"));
  m.graph_instantiate_s = o.number("graph_instantiate_s", 0.0);
  m.graph_nodes = static_cast<int>(o.integer("graph_nodes", 0));
  cost::StrictObject memory = o.object("memory");
  m.memory = {.context = memory.integer("context_bytes", 0), .communicators = memory.integer("communicators_bytes", 0), .operands = memory.integer("operands_bytes", 0)};
  memory.finish();
  m.sm_clock_mhz = o.number("sm_clock_mhz", 0.0);
  m.power_w = o.number("power_w", 0.0);
  m.ranks = read_ranks(o.at("ranks"), file);
  o.each("works", [&](cost::StrictObject& w) {
    m.works[static_cast<std::uint32_t>(w.integer("work", 0))] = {.count = static_cast<int>(w.integer("count", 0)), .median_s = w.number("median_s", 0.0), .least_s = w.number("least_s", 0.0), .greatest_s = w.number("greatest_s", 0.0)};
  });
  o.each("numbers", [&](cost::StrictObject& n) {
    m.numbers.push_back({.what = n.text("what"), .elements = static_cast<std::uint64_t>(n.integer("elements", 0)), .wrong = static_cast<std::uint64_t>(n.integer("wrong", 0)), .error = n.number("error", 0.0), .tolerance = n.number("tolerance", 0.0)});
  });
  cost::StrictObject waits = o.object("waits"), records = o.object("records");
  m.waits_checked = static_cast<std::uint64_t>(waits.integer("checked", 0));
  m.waits_violated = static_cast<std::uint64_t>(waits.integer("violated", 0));
  waits.finish();
  m.records_dropped = static_cast<std::uint64_t>(records.integer("dropped", 0));
  m.records_unplaced = static_cast<std::uint64_t>(records.integer("unplaced", 0));
  records.finish();
  m.notes = read_notes(o.at("notes"), file);
  o.finish();
  return m;
}

MeasuredProgram load_measured(const std::string& path) { return measured_from_text(read_text_file(path), path); }
void save_measured(const MeasuredProgram& measured, const std::string& path) { write_text_file(path, to_text(measured)); }

}  // namespace sgsim::calibrate

#include "sim/scenario/stack_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/read.h"
#include "sim/scenario/scenario_paths.h"

namespace sgsim::scenario {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kStackVersion = 1;
constexpr const char* kStatements = "a list of statements {\"when\": {PATH: VALUES}, \"set\": {PATH: VALUE}, \"source\": TEXT}";

std::vector<std::string> path_steps(const std::string& path) {
  std::vector<std::string> steps;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t dot = std::min(path.find('.', at), path.size());
    steps.push_back(path.substr(at, dot - at));
    at = dot + 1;
  }
  return steps;
}

/// A misspelt path would never hold, or set nothing that is read.
void check_path(const ObjectReader& section, const std::string& key, const std::string& path) {
  if (!is_scenario_path(path)) section.fail(key, "\"" + path + "\"", "a path of a scenario, such as \"training.compute_dtype\" (docs/formats/scenario.md)");
}

std::string source_of(ObjectReader& section) {
  std::string source = section.text("source", "where that is written");
  if (source.find_first_not_of(" \t\n") == std::string::npos) section.fail("source", "an empty text", "where that is written");
  return source;
}

StackFile::Statement read_statement(const json& value, const std::string& path, Document& document) {
  ObjectReader section(value, path, document);
  StackFile::Statement statement;
  if (const json* when = section.find("when")) {
    if (!when->is_object()) section.fail("when", describe(*when), "an object of scenario paths and values");
    for (const auto& [key, member] : when->items()) {
      check_path(section, "when", key);
      std::vector<std::string>& values = statement.when.emplace_back(key, std::vector<std::string>()).second;
      if (!member.is_array()) values.push_back(member.dump());
      for (const json& value_of : member.is_array() ? member : json::array()) values.push_back(value_of.dump());
    }
  }
  const json& set = section.require("set", "an object of scenario paths and values");
  if (!set.is_object() || set.empty()) section.fail("set", describe(set), "an object of scenario paths and values");
  for (const auto& [key, member] : set.items()) {
    check_path(section, "set", key);
    statement.set.emplace_back(key, member.dump());
  }
  statement.source = source_of(section);
  section.finish();
  return statement;
}

std::vector<std::string> read_texts(const ObjectReader& section, const std::string& key, const json& list) {
  if (!list.is_array()) section.fail(key, describe(list), "a list of texts");
  std::vector<std::string> texts;
  for (const json& item : list) {
    if (!item.is_string()) section.fail(key, describe(item), "a list of texts");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

/// {"512": {"mean": 288, "source": "..."}}
std::map<std::int64_t, std::int64_t> read_sequence_means(ObjectReader& root) {
  std::map<std::int64_t, std::int64_t> means;
  const json* all = root.find("sequence_means");
  if (all == nullptr) return means;
  constexpr const char* kExpected = "an object of lengths, such as {\"512\": {\"mean\": 288, \"source\": \"...\"}}";
  if (!all->is_object()) root.fail("sequence_means", describe(*all), kExpected);
  ObjectReader members = root.object("sequence_means");
  for (const auto& [key, value] : all->items()) {
    std::int64_t longest = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), longest);
    if (error != std::errc() || end != key.data() + key.size() || longest < 1) root.fail("sequence_means", "\"" + key + "\"", kExpected);
    ObjectReader mean = members.object(key);
    means.emplace(longest, mean.integer("mean", {1, longest}));
    (void)source_of(mean);
    mean.finish();
  }
  return means;
}

}  // namespace

StackFile stack_from_text(const std::string& text, const std::string& file) {
  const json tree = parse_document(text, file);
  Document document{.file = file, .set = {}, .defaults = {}};
  ObjectReader root(tree, "$", document);
  (void)root.integer("schema_version", {kStackVersion, kStackVersion});
  StackFile stack;
  stack.name = root.text("name", "the stack's name");
  stack.description = root.text("description", "a text");
  stack.reports_reserved_memory = root.boolean("reports_reserved_memory", false);
  stack.selective_recompute_share = root.number("selective_recompute_share", 0.0, 1.0, 0.0);
  stack.micro_batches_are_stages = root.boolean("micro_batches_are_stages", false);
  stack.sequence_means = read_sequence_means(root);
  stack.frameworks = read_texts(root, "frameworks", root.require("frameworks", "a list of beginnings of the records' field framework"));
  if (const json* sources = root.find("sources")) stack.sources = read_texts(root, "sources", *sources);
  const json& statements = root.require("statements", kStatements);
  if (!statements.is_array()) root.fail("statements", describe(statements), kStatements);
  for (std::size_t i = 0; i < statements.size(); ++i) stack.statements.push_back(read_statement(statements[i], "$.statements[" + std::to_string(i) + "]", document));
  root.finish();
  return stack;
}

namespace {

/// What stands at a path; null where nothing does.
json value_at(const json& tree, const std::string& path) {
  const json* at = &tree;
  for (const std::string& step : path_steps(path)) {
    if (!at->is_object() || !at->contains(step)) return nullptr;
    at = &(*at)[step];
  }
  return *at;
}

bool holds(const json& tree, const StackFile::Statement& statement) {
  return std::all_of(statement.when.begin(), statement.when.end(), [&](const auto& condition) {
    const std::string there = value_at(tree, condition.first).dump();
    return std::find(condition.second.begin(), condition.second.end(), there) != condition.second.end();
  });
}

/// Sets the value unless something stands there, or stands in the way.
void set_if_open(json& tree, const std::string& path, const json& value) {
  const std::vector<std::string> steps = path_steps(path);
  json* at = &tree;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (at->is_null()) *at = json::object();
    if (!at->is_object()) return;
    const bool last = i + 1 == steps.size();
    if (last && at->contains(steps[i]) && !(*at)[steps[i]].is_null()) return;
    at = &(*at)[steps[i]];
  }
  *at = value;
}

}  // namespace

StackFile read_stack_file(const std::string& name_or_path, const std::string& folder) {
  const bool is_path = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".json");
  const fs::path path = is_path ? fs::path(folder) / name_or_path : fs::path(data_folder()) / "stacks" / (name_or_path + ".json");
  if (!is_path && !fs::exists(path)) {
    std::string known;
    for (const StackFile& stack : shipped_stacks()) known += (known.empty() ? "" : ", ") + stack.name;
    throw InputError({.file = name_or_path, .where = "$.stack", .found = "no stack of that name", .expected = "one of " + known + ", or a path", .hint = ""});
  }
  StackFile stack = stack_from_text(read_document_text(path.string()), path.string());
  if (is_path) stack.path = fs::absolute(path).lexically_normal().string();
  return stack;
}

std::vector<StackFile> shipped_stacks() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(fs::path(data_folder()) / "stacks")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<StackFile> stacks;
  for (const std::string& file : files) stacks.push_back(stack_from_text(read_document_text(file), file));
  return stacks;
}

void apply_stack(json& tree, const StackFile& stack) {
  const bool generated = tree.contains("model") && tree["model"].is_object() && !tree["model"].contains("graph");
  const bool inline_config = generated && tree["model"].contains("config") && tree["model"]["config"].is_object();
  for (const StackFile::Statement& statement : stack.statements) {
    if (!holds(tree, statement)) continue;
    for (const auto& [path, value] : statement.set) {
      if (path.starts_with("model.config.") && !inline_config) continue;
      if (path.starts_with("model.") && !generated) continue;
      set_if_open(tree, path, json::parse(value));
    }
  }
}

}  // namespace sgsim::scenario

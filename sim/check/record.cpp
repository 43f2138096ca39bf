#include "sim/check/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/core/json_value.h"
#include "sim/core/text_file.h"

namespace sgsim::check {
namespace {

using nlohmann::json;

std::string text_of(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  if (!value) return {};
  if (value->json().is_string()) return value->text();
  if (value->json().is_boolean() || value->json().is_number()) return value->json().dump();
  value->fail("a text or null");
}

/// Sources write whole numbers as 409.0 too; a fraction of a GPU is an error.
std::optional<std::int64_t> integer_of(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  if (!value) return std::nullopt;
  if (value->json().is_number_float()) {
    const double number = value->json().get<double>();
    if (std::floor(number) != number || std::abs(number) > 1e15) value->fail("a whole number or null");
    return static_cast<std::int64_t>(number);
  }
  return value->integer();
}

std::optional<bool> flag_of(const JsonValue& object, std::string_view key) {
  const auto value = object.find(key);
  return value ? std::optional<bool>(value->flag()) : std::nullopt;
}

/// What is read of "measured" and "derived": a slip there must not make a row vanish among those that have nothing to compare.
bool is_compared(const std::string& name) {
  static const std::set<std::string> kCompared = {"step_time_s", "step_time_s_from_aggregate", "tokens_per_s", "tokens_per_s_per_gpu", "samples_per_s", "tflops_per_gpu",
                                                  "peak_mem_gib", "peak_mem_gib_per_rank", "peak_mem_gb"};
  return kCompared.contains(name);
}

void check_figure(const JsonValue& value) {
  const json& v = value.json();
  if (v.is_array()) {
    for (std::size_t i = 0; i < value.list_size(); ++i) check_figure(value.item(i));
    return;
  }
  if (!v.is_number() || v.get<double>() <= 0.0 || v.get<double>() > 1e18) value.fail("a number above 0, or null");
}

std::map<std::string, double> numbers_of(const JsonValue& row, std::string_view key) {
  std::map<std::string, double> numbers;
  const auto section = row.find(key);
  if (!section) return numbers;
  section->check_object();
  for (const auto& [name, value] : section->json().items()) {
    if (is_compared(name) && !value.is_null()) check_figure(section->at(name));
    if (value.is_number()) numbers[name] = value.get<double>();
    if (!value.is_array()) continue;
    // A figure a rank: the largest.
    for (const json& item : value) {
      if (item.is_number()) numbers[name] = std::max(numbers[name], item.get<double>());
    }
  }
  return numbers;
}

void read_hardware(const JsonValue& h, Record& r) {
  r.gpu = text_of(h, "gpu");
  r.interconnect = text_of(h, "interconnect");
  r.gpus = integer_of(h, "gpus");
  r.gpus_per_node = integer_of(h, "gpus_per_node");
}

void read_model(const JsonValue& m, Record& r) {
  r.model = text_of(m, "name");
  r.family = text_of(m, "family");
  r.positions = text_of(m, "positions");
  r.activation = text_of(m, "activation");
  r.layers = integer_of(m, "layers");
  r.hidden = integer_of(m, "hidden");
  r.heads = integer_of(m, "heads");
  r.kv_heads = integer_of(m, "kv_heads");
  r.ffn = integer_of(m, "ffn");
  r.vocab = integer_of(m, "vocab");
  r.sequence = integer_of(m, "seq");
  r.experts = integer_of(m, "experts");
  r.experts_per_token = integer_of(m, "experts_per_token");
  r.tied_embeddings = flag_of(m, "tied_embeddings");
  if (const auto params = m.find("params_b")) r.params_b = params->number();
}

void read_parallel(const JsonValue& p, Record& r) {
  r.dp = integer_of(p, "dp");
  r.tp = integer_of(p, "tp");
  r.pp = integer_of(p, "pp");
  r.vpp = integer_of(p, "vpp");
  r.cp = integer_of(p, "cp");
  r.ep = integer_of(p, "ep");
  r.micro_batch = integer_of(p, "micro_batch");
  r.global_batch = integer_of(p, "global_batch");
  // A source's mean over runs may be a fraction; its text ("varies") says nothing.
  if (const auto value = p.find("grad_accum"); value && value->json().is_number()) {
    if (std::abs(value->number()) > 1e15) value->fail("a number from 1 to 1e9, or null");
    r.grad_accum = static_cast<std::int64_t>(std::llround(value->number()));
  }
  r.sharding = text_of(p, "sharding");
  r.recompute = text_of(p, "recompute");
  r.schedule = text_of(p, "schedule");
  r.overlap = text_of(p, "overlap");
  r.fsdp_mixed_precision = text_of(p, "fsdp_mixed_precision");
  r.sequence_parallel = flag_of(p, "sequence_parallel");
}

void read_facts(const JsonValue& row, Record& r) {
  r.source = text_of(row, "source");
  r.kind = text_of(row, "kind");
  r.framework = text_of(row, "framework");
  r.precision = text_of(row, "precision");
  r.execution = text_of(row, "execution");
  r.optimizer = text_of(row, "optimizer");
  r.notes = text_of(row, "notes");
  r.outcome = text_of(row, "outcome");
  r.flops_convention = text_of(row, "flops_convention");
  r.graph = text_of(row, "graph");
  r.trace = text_of(row, "trace");
  for (const char* part : {"hardware", "model", "parallel"}) {
    if (row.find(part)) continue;
    r.unreadable = fmt::format("no {}", part);
    return;
  }
  read_hardware(row.at("hardware"), r);
  read_model(row.at("model"), r);
  read_parallel(row.at("parallel"), r);
  r.measured = numbers_of(row, "measured");
  r.derived = numbers_of(row, "derived");
  if (const auto assumed = row.find("assumptions")) {
    assumed->check_object();
    for (const auto& [path, value] : assumed->json().items()) r.assumptions[path] = value.dump();
  }
}

/// "measured.step_time_s: "0.4 s", expected a number above 0, or null" of an error at "$[3].measured.step_time_s".
std::string reason_of(const InputProblem& p) {
  const std::size_t dot = p.where.find('.');
  return (dot == std::string::npos ? std::string() : p.where.substr(dot + 1) + ": ") + p.found + ", expected " + p.expected;
}

Record read_record(const JsonValue& row) {
  row.check_object();
  Record r;
  r.id = row.at("id").text();
  if (r.id.empty()) row.at("id").fail("a name");
  try {
    read_facts(row, r);
  } catch (const InputError& error) {
    r.unreadable = reason_of(error.problem());
  }
  return r;
}

}  // namespace

std::string file_name_of(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (const char* ending : {".gz", ".json"}) {
    if (name.ends_with(ending)) name.resize(name.size() - std::string_view(ending).size());
  }
  return name;
}

std::vector<Record> records_from_text(std::string_view text, const std::string& path) {
  const json tree = parse_json(text, path);
  const JsonValue root(tree, path);
  std::vector<Record> records;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  for (std::size_t i = 0; i < root.list_size(); ++i) {
    records.push_back(read_record(root.item(i)));
    records.back().file = file_name_of(path);
    records.back().folder = folder;
  }
  return records;
}

std::vector<Record> read_records(const std::string& path) { return records_from_text(read_text_file(path), path); }

bool holds_collectives(std::string_view text) {
  const std::string_view start = text.substr(0, 4000);
  return start.find("\"op\"") != std::string_view::npos && start.find("\"bytes\"") != std::string_view::npos && start.find("\"parallel\"") == std::string_view::npos;
}

}  // namespace sgsim::check

#include "sim/import/torch_trace/records.h"

#include <array>
#include <set>

#include <fmt/format.h>

namespace sgsim::import::torch_trace {
namespace {

/// Keys of every record; the other one names its kind.
bool is_frame_key(const std::string& key) {
  static const std::set<std::string, std::less<>> kKeys = {"frame_id", "frame_compile_id", "attempt", "has_payload", "rank", "compiled_autograd_id", "stack", "pathname", "lineno", "timestamp", "thread"};
  return kKeys.contains(key);
}

std::optional<std::int64_t> number(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number_integer() ? std::optional(found->get<std::int64_t>()) : std::nullopt;
}

void read_frame(Record& record) {
  const auto frame = number(record.json, "frame_id"), compile = number(record.json, "frame_compile_id");
  if (frame) record.frame = fmt::format("[{}/{}]", *frame, compile.value_or(0));
  record.rank = number(record.json, "rank");
  for (const auto& [key, value] : record.json.items()) {
    if (!is_frame_key(key) && record.type.empty()) record.type = key;
  }
}

}  // namespace

std::string_view json_of(std::string_view line) {
  const bool level = line.size() > 8 && std::string_view("VIDWEC").find(line[0]) != std::string_view::npos && line.substr(1, 4).find_first_not_of("0123456789") == std::string_view::npos && line[5] == ' ';
  if (!level) return {};
  const std::size_t bracket = line.find("] {");
  return bracket == std::string_view::npos ? std::string_view() : line.substr(bracket + 2);
}

bool Records::take_line(std::string_view& line) {
  if (text_.empty()) return false;
  const std::size_t end = std::min(text_.find('\n'), text_.size());
  line = text_.substr(0, end);
  text_.remove_prefix(std::min(end + 1, text_.size()));
  ++number_;
  return true;
}

bool Records::next(Record& record) {
  record = {};
  std::string_view line;
  while (take_line(line)) {
    const std::string_view json = json_of(line);
    if (json.empty()) {
      stray_ += line.empty() ? 0 : 1;
      continue;
    }
    record.line = number_;
    record.json = nlohmann::json::parse(json, nullptr, false);
    if (record.json.is_object()) read_frame(record);
    record.payload_line = number_ + 1;
    while (text_.starts_with('\t') || text_.starts_with("\n\t")) {  // an empty line inside has lost its tab
      std::string_view payload;
      (void)take_line(payload);
      record.payload += payload.substr(payload.empty() ? 0 : 1);
      record.payload += '\n';
    }
    return true;
  }
  return false;
}

}  // namespace sgsim::import::torch_trace

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/scenario/json_reader.h"

namespace sgsim::scenario {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestDocument = 64ULL << 20;
constexpr std::size_t kDeepest = 64;

struct Position {
  std::size_t line = 1, column = 1;
};

Position position_of(std::string_view text, std::size_t byte) {
  Position at;
  for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++at.line;
      at.column = 1;
    } else {
      ++at.column;
    }
  }
  return at;
}

/// Catches what the parser itself lets through: a key given twice (it keeps the last) and endless nesting.
class Strictness {
 public:
  explicit Strictness(const std::string& file) : file_(&file) {}

  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    if (static_cast<std::size_t>(depth) > kDeepest) {
      throw InputError({.file = *file_, .where = "", .found = fmt::format("nesting deeper than {}", kDeepest),
                        .expected = "a document of SGSim", .hint = ""});
    }
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end && !keys_.empty()) keys_.pop_back();
    if (event == json::parse_event_t::key && !keys_.empty()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) {
        throw InputError({.file = *file_, .where = "", .found = "the key \"" + key + "\" twice in one object",
                          .expected = "each key once", .hint = "Remove one of them"});
      }
    }
    return true;
  }

 private:
  const std::string* file_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

json parse_document(std::string_view text, const std::string& file) {
  if (text.size() > kLargestDocument) {
    throw InputError({.file = file, .where = "", .found = fmt::format("{} bytes", text.size()),
                      .expected = "at most 64 MiB", .hint = ""});
  }
  // The parser takes a NUL for the end of the text, whatever comes behind it.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    const Position at = position_of(text, nul + 1);
    throw InputError({.file = file, .where = fmt::format("line {}, column {}", at.line, at.column), .found = "a NUL byte", .expected = "JSON", .hint = ""});
  }
  Strictness strictness(file);
  try {
    return json::parse(text.begin(), text.end(), std::ref(strictness));
  } catch (const json::parse_error& error) {
    const Position at = position_of(text, error.byte);
    std::string what = error.what();
    if (const auto colon = what.find("; last read"); colon != std::string::npos) what.resize(colon);
    if (const auto colon = what.find(": "); colon != std::string::npos) what.erase(0, colon + 2);
    throw InputError({.file = file, .where = fmt::format("line {}, column {}", at.line, at.column),
                      .found = what.empty() ? "broken JSON" : what, .expected = "JSON", .hint = ""});
  } catch (const json::exception& error) {
    throw InputError({.file = file, .where = "", .found = std::string("a value that JSON cannot hold (") + error.what() + ")",
                      .expected = "JSON", .hint = ""});
  }
}

std::string read_document_text(const std::string& path) { return read_text_file(path, kLargestDocument); }

std::string describe(const json& value) {
  constexpr std::size_t kLongest = 60;
  if (value.is_object()) return fmt::format("an object with {} key{}", value.size(), value.size() == 1 ? "" : "s");
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

}  // namespace sgsim::scenario

#include "sim/import/fx_text/python_text.h"

#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "sim/core/error.h"

namespace sgsim::import::fx_text {
namespace {

constexpr int kDeepest = 32;

bool is_name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.'; }

/// Text and line number of one statement: lines joined while a bracket is open, comments gone, string contents kept.
struct Line {
  std::string text;
  int number = 0;
};

class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  bool next(Line& line) {
    line = {};
    line.number = number_;
    int depth = 0;
    char quote = 0;
    bool any = false;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      any = true;
      if (c == '\n') ++number_;
      if (quote != 0) {
        line.text += c == '\n' ? ' ' : c;
        if (c == '\\' && at_ < text_.size()) line.text += text_[at_++];
        if (c == quote || c == '\n') quote = 0;
      } else if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '\n') {
        if (depth <= 0) return true;
        line.text += ' ';
      } else {
        if (c == '"' || c == '\'') quote = c;
        depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
        line.text += c == '\t' || c == '\r' ? ' ' : c;
      }
    }
    return any;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  int number_ = 1;
};

class Parser {
 public:
  Parser(const Line& line, const std::string& file) : text_(line.text), line_(line.number), file_(file) {}

  [[nodiscard]] bool end() {
    skip_space();
    return at_ >= text_.size();
  }
  bool take(std::string_view what) {
    skip_space();
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  void expect(std::string_view what) {
    if (!take(what)) fail(fmt::format("'{}'", what));
  }
  std::string name() {
    skip_space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  [[noreturn]] void fail(const std::string& expected) const {
    throw InputError({.file = file_, .where = fmt::format("line {}", line_), .found = at_ >= text_.size() ? "the end of the statement" : "\"" + std::string(text_.substr(at_, 60)) + "\"",
                      .expected = expected, .hint = "only graphs printed by torch.fx are read"});
  }

  std::string quoted() {
    const char quote = text_[at_++];
    std::string result;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      result += text_[at_++];
    }
    if (at_ >= text_.size()) fail("a closing quote");
    ++at_;
    return result;
  }

  [[nodiscard]] bool at(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }

  [[nodiscard]] bool at_quote() {
    skip_space();
    return at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'');
  }

  Expression expression(int depth = 0) {
    if (depth > kDeepest) fail(fmt::format("at most {} brackets inside each other", kDeepest));
    skip_space();
    if (at_ >= text_.size()) fail("a value");
    const char c = text_[at_];
    if (c == '"' || c == '\'') return {quoted()};
    if (c == '[' || c == '(') return list(depth);
    if (c == '{') return {dictionary()};
    if (c == '-' || (c >= '0' && c <= '9') || c == '.') return number();
    if (is_name_char(c)) return named(depth);
    fail("a value");
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  Expression list(int depth) {
    const char open = text_[at_++];
    const std::string_view close = open == '[' ? "]" : ")";
    std::vector<Expression> items;
    while (!take(close)) {
      if (!items.empty()) {
        expect(",");
        if (take(close)) break;
      }
      items.push_back(expression(depth + 1));
    }
    return {std::move(items)};
  }

  /// Options of higher-order operators: kept as text.
  std::string dictionary() {
    const std::size_t begin = at_;
    int open = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        (void)quoted();
        continue;
      }
      open += c == '{' ? 1 : c == '}' ? -1 : 0;
      ++at_;
      if (open == 0) return std::string(text_.substr(begin, at_ - begin));
    }
    fail("}");
  }

  Expression number() {
    const bool negative = take("-");
    skip_space();
    if (text_.substr(at_).starts_with("inf")) {
      at_ += 3;
      return {negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()};
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_name_char(text_[at_]) || ((text_[at_] == '-' || text_[at_] == '+') && (text_[at_ - 1] == 'e')))) ++at_;
    const std::string_view digits = text_.substr(begin, at_ - begin);
    std::int64_t integer = 0;
    const char* const last = digits.data() + digits.size();
    if (const auto [end, error] = std::from_chars(digits.data(), last, integer); error == std::errc() && end == last) return {negative ? -integer : integer};
    double real = 0.0;
    const auto [end, error] = std::from_chars(digits.data(), last, real);
    if (end != last || digits.empty()) fail("a number");
    return {negative ? -real : real};
  }

  Expression named(int depth) {
    std::string text = name();
    if (text == "None") return {};
    if (text == "True" || text == "False") return {text == "True"};
    if (text == "inf" || text == "nan") return {text == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN()};
    skip_space();
    if (at_ < text_.size() && text_[at_] == '(') return call(std::move(text), depth);
    if (at_ < text_.size() && text_[at_] == '[') {
      ++at_;
      const Expression index = expression(depth + 1);
      expect("]");
      if (!std::holds_alternative<std::int64_t>(index.value)) fail("a number as index");
      return {Item{.name = std::move(text), .index = std::get<std::int64_t>(index.value)}};
    }
    return {Name{std::move(text)}};
  }

  Expression call(std::string callee, int depth) {
    Call result{.callee = std::move(callee), .args = {}, .kwargs = {}};
    expect("(");
    bool first = true;
    while (!take(")")) {
      if (!first) {
        expect(",");
        if (take(")")) break;
      }
      first = false;
      const std::size_t begin = at_;
      std::string key = name();
      skip_space();
      if (!key.empty() && at_ < text_.size() && text_[at_] == '=' && !text_.substr(at_).starts_with("==")) {
        ++at_;
        result.kwargs.push_back({.first = std::move(key), .second = expression(depth + 1)});
      } else {
        at_ = begin;
        result.args.push_back(expression(depth + 1));
      }
    }
    return {std::move(result)};
  }

  std::string_view text_;
  int line_;
  const std::string& file_;
  std::size_t at_ = 0;
};

void parse_parameters(Parser& parser, Function& function) {
  while (!parser.take(")")) {
    if (parser.take(",") || parser.take("*")) continue;
    std::string name = parser.name();
    if (name.empty()) parser.fail("a parameter");
    std::string annotation;
    if (parser.take(":")) annotation = parser.at_quote() ? parser.quoted() : parser.name();
    if (name != "self") function.parameters.emplace_back(std::move(name), std::move(annotation));
  }
}

/// Names that a joint graph declares with their types before it takes them out of its two parameters.
using Declared = std::map<std::string, std::string>;

/// `a: "f32[2]"; b: "f32[2]";`: the rest of such a line, after its first name and type.
void parse_declarations(Parser& parser, Declared& declared) {
  while (parser.take(";")) {
    if (parser.end()) return;
    const std::string name = parser.name();
    parser.expect(":");
    if (name.empty() || !parser.at_quote()) parser.fail("a name with its type");
    declared.insert_or_assign(name, parser.quoted());
  }
}

/// `a, b, = fx_pytree.tree_flatten_spec(...)`: the names are the real parameters.
void take_parameters(Parser& parser, std::string first, const Declared& declared, Function& function) {
  std::vector<std::string> names = {std::move(first)};
  while (parser.take(",")) {
    std::string name = parser.name();
    if (!name.empty()) names.push_back(std::move(name));
  }
  parser.expect("=");
  if (!parser.take("fx_pytree.")) parser.fail("fx_pytree.tree_flatten_spec(...)");
  function.parameters.clear();
  for (std::string& name : names) {
    const auto type = declared.find(name);
    function.parameters.emplace_back(std::move(name), type == declared.end() ? std::string() : type->second);
  }
}

/// False: the statement drops or declares names.
bool parse_statement(Parser& parser, Statement& statement, Declared& declared, Function& function) {
  statement.name = parser.name();
  if (statement.name.empty()) parser.fail("a statement");
  if (parser.at(',')) {
    take_parameters(parser, std::move(statement.name), declared, function);
    return false;
  }
  if (parser.take(":")) statement.annotation = parser.at_quote() ? parser.quoted() : parser.name();
  if (parser.at(';')) {
    declared.insert_or_assign(statement.name, statement.annotation);
    parse_declarations(parser, declared);
    return false;
  }
  parser.expect("=");
  statement.expression = parser.expression();
  if (std::holds_alternative<Name>(statement.expression.value) && parser.take("=")) return false;
  if (!parser.end() && !parser.take(";")) parser.fail("the end of the statement");
  return !std::holds_alternative<None>(statement.expression.value);
}

[[noreturn]] void fail_without(bool forward, const std::string& file) {
  throw InputError({.file = file, .where = "", .found = forward ? "a forward without return" : "no def forward(...)", .expected = "a graph printed by torch.fx", .hint = ""});
}

}  // namespace

Function parse_forward(std::string_view text, const std::string& file) {
  Lines lines(text);
  Line line;
  Function function;
  Declared declared;
  bool inside = false;
  while (lines.next(line)) {
    Parser parser(line, file);
    if (parser.end()) continue;
    if (!inside) {
      if (!parser.take("def forward(")) continue;
      inside = true;
      function.line = line.number;
      parse_parameters(parser, function);
      continue;
    }
    Statement statement;
    statement.line = line.number;
    if (parser.take("return ") || parser.take("return(") || parser.take("return[")) {
      const std::size_t at = line.text.find("return") + 6;
      const Line rest{.text = line.text.substr(at), .number = line.number};
      Parser value(rest, file);
      statement.expression = value.expression();
      if (!value.end()) value.fail("the end of the statement");
      function.statements.push_back(std::move(statement));
      return function;
    }
    if (parse_statement(parser, statement, declared, function)) function.statements.push_back(std::move(statement));
  }
fail_without(inside, file);
}

std::vector<std::pair<std::string, std::string>> parse_signature(std::string_view text, const std::string& file) {
  Lines lines(text);
  Line line;
  while (lines.next(line)) {
    Parser parser(line, file);
    if (parser.end() || !parser.take("def forward(")) continue;
    Function function;
    parse_parameters(parser, function);
    return std::move(function.parameters);
  }
  fail_without(false, file);
}

}  // namespace sgsim::import::fx_text

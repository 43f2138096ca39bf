#include "sim/import/nccl_topo/xml.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"

namespace sgsim::import::xml {
namespace {

constexpr std::size_t kDeepest = 64;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == ':';
}

/// Skips what stands before an element: space, declarations, comments. False where something else is or nothing.
bool skip_prolog(std::string_view text, std::size_t& at) {
  while (at < text.size()) {
    if (is_space(text[at])) {
      ++at;
    } else if (text.substr(at).starts_with("<!--")) {
      const std::size_t end = text.find("-->", at + 4);
      if (end == std::string_view::npos) return false;
      at = end + 3;
    } else if (text.substr(at).starts_with("<?") || text.substr(at).starts_with("<!")) {
      const std::size_t end = text.find('>', at);
      if (end == std::string_view::npos) return false;
      at = end + 1;
    } else {
      return text[at] == '<';
    }
  }
  return false;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Element run() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    std::vector<Element> open;
    while (true) {
      if (!skip_to_tag(open.empty())) {
        if (open.empty()) fail("the end of the file", "an element");
        fail("the end of the file", "</" + open.back().name + ">");
      }
      if (peek("</")) {
        if (close(open)) return std::move(open.front());
        continue;
      }
      Element element = start_tag();
      const bool empty = peek("/>");
      at_ += empty ? 2 : 1;
      if (open.size() >= kDeepest) fail(fmt::format("more than {} elements inside each other", kDeepest), "a flatter file");
      if (!empty) {
        open.push_back(std::move(element));
      } else if (open.empty()) {
        check_end();
        return element;
      } else {
        open.back().children.push_back(std::move(element));
      }
    }
  }

 private:
  [[noreturn]] void fail(std::string found, std::string expected) const {
    throw InputError({.file = file_, .where = fmt::format("line {}", line()), .found = std::move(found), .expected = std::move(expected), .hint = ""});
  }
  [[nodiscard]] int line() const {
    return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n'));
  }
  [[nodiscard]] bool peek(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  /// To the next tag that opens or closes an element. Text between elements is skipped inside the root only.
  bool skip_to_tag(bool outside) {
    while (at_ < text_.size()) {
      if (skip_prolog(text_, at_)) return true;
      if (at_ >= text_.size()) return false;
      if (outside) fail(fmt::format("'{}'", text_[at_]), "an element");
      if (text_[at_] == '<') fail("an unclosed comment or declaration", "its end");
      const std::size_t next = text_.find('<', at_);
      at_ = next == std::string_view::npos ? text_.size() : next;
    }
    return false;
  }

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }

  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    if (at_ == begin) fail(at_ < text_.size() ? fmt::format("'{}'", text_[at_]) : "the end of the file", "a name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  Element start_tag() {
    ++at_;
    Element element;
    element.name = name();
    line_of_last_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
    counted_ = at_;
    element.line = line_of_last_;
    while (true) {
      skip_space();
      if (peek("/>") || peek(">")) return element;
      std::string key = name();
      skip_space();
      if (!peek("=")) fail("the attribute '" + key + "' without a value", "key=\"value\"");
      ++at_;
      skip_space();
      element.attributes.insert_or_assign(std::move(key), value());
    }
  }

  std::string value() {
    if (at_ >= text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) fail("a value without quotes", "key=\"value\"");
    const char quote = text_[at_++];
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("an unclosed value", std::string(1, quote));
    std::string result = unescape(text_.substr(at_, end - at_));
    at_ = end + 1;
    return result;
  }

  /// The five named entities; others are kept as they are written.
  static std::string unescape(std::string_view raw) {
    static constexpr std::pair<std::string_view, char> kEntities[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
    std::string out;
    while (!raw.empty()) {
      std::size_t taken = 0;
      for (const auto& [entity, c] : kEntities) {
        if (!raw.starts_with(entity)) continue;
        out += c;
        taken = entity.size();
      }
      if (taken == 0) {
        out += raw.front();
        taken = 1;
      }
      raw.remove_prefix(taken);
    }
    return out;
  }

  /// True when the root is closed.
  bool close(std::vector<Element>& open) {
    at_ += 2;
    const std::string closed = name();
    skip_space();
    if (!peek(">")) fail("'</" + closed + "' without '>'", "'>'");
    ++at_;
    if (open.empty() || open.back().name != closed) fail("</" + closed + ">", open.empty() ? "an element" : "</" + open.back().name + ">");
    if (open.size() == 1) {
      check_end();
      return true;
    }
    Element element = std::move(open.back());
    open.pop_back();
    open.back().children.push_back(std::move(element));
    return false;
  }

  void check_end() {
    if (skip_prolog(text_, at_)) fail("a second root element", "the end of the file");
    if (at_ < text_.size()) fail("text after the root element", "the end of the file");
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t counted_ = 0;
  int line_of_last_ = 1;
};

}  // namespace

const std::string& Element::attribute(std::string_view key) const {
  static const std::string kEmpty;
  const auto found = attributes.find(key);
  return found == attributes.end() ? kEmpty : found->second;
}

Element parse(std::string_view text, const std::string& file) { return Parser(text, file).run(); }

std::string_view root_name(std::string_view head) {
  std::size_t at = head.starts_with("\xef\xbb\xbf") ? 3 : 0;
  if (!skip_prolog(head, at)) return {};
  std::size_t end = ++at;
  while (end < head.size() && is_name(head[end])) ++end;
  return head.substr(at, end - at);
}

}  // namespace sgsim::import::xml

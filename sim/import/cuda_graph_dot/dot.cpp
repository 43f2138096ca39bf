#include "sim/import/cuda_graph_dot/dot.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/core/error.h"

namespace sgsim::import::dot {
namespace {

constexpr std::size_t kDeepest = 64;

/// A name, number or text (`word`), or one of the signs { } [ ] = ; , : -> (--, for undirected edges).
struct Token {
  bool word = false;
  std::string text;
};

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& file) : text_(text), file_(file) { advance(); }

  [[nodiscard]] const Token& now() const { return now_; }
  [[nodiscard]] bool end() const { return end_; }
  [[nodiscard]] bool sign(std::string_view s) const { return !end_ && !now_.word && now_.text == s; }
  [[nodiscard]] bool keyword(std::string_view k) const { return !end_ && now_.word && now_.text == k; }
  std::string take() {
    std::string text = std::move(now_.text);
    advance();
    return text;
  }
  void skip(std::string_view s) {
    if (sign(s)) advance();
  }
  [[noreturn]] void fail(std::string_view expected) const {
    throw InputError({.file = file_, .where = fmt::format("line {}", 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n')),
                      .found = end_ ? "the end of the file" : "\"" + now_.text.substr(0, 60) + "\"", .expected = std::string(expected), .hint = ""});
  }

 private:
  void advance() {
    skip_space();
    now_ = {};
    end_ = at_ >= text_.size();
    if (end_) return;
    const char c = text_[at_];
    if (c == '"') {
      quoted();
    } else if (c == '<') {
      html();
    } else if (text_.substr(at_).starts_with("->") || text_.substr(at_).starts_with("--")) {
      now_.text = text_.substr(at_, 2);
      at_ += 2;
    } else if (std::string_view("{}[]=;,:+").find(c) != std::string_view::npos) {
      now_.text = std::string(1, c);
      ++at_;
    } else {
      bare();
    }
  }

  void skip_space() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (static_cast<unsigned char>(rest[0]) <= ' ') {
        ++at_;
      } else if (rest.starts_with("//") || (rest[0] == '#' && (at_ == 0 || text_[at_ - 1] == '\n'))) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (rest.starts_with("/*")) {
        const std::size_t close = text_.find("*/", at_ + 2);
        at_ = close == std::string_view::npos ? text_.size() : close + 2;
      } else {
        return;
      }
    }
  }

  void quoted() {
    now_.word = true;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        now_.text += text_[at_] == 'n' || text_[at_] == 'l' || text_[at_] == 'r' ? '\n' : text_[at_];
      } else {
        now_.text += text_[at_];
      }
    }
    if (at_ >= text_.size()) {
      end_ = true;
      fail("a closing quote");
    }
    ++at_;
  }

  void html() {
    now_.word = true;
    const std::size_t begin = at_ + 1;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      depth += text_[at_] == '<' ? 1 : text_[at_] == '>' ? -1 : 0;
      if (depth == 0) {
        now_.text = text_.substr(begin, at_ - begin);
        ++at_;
        return;
      }
    }
    end_ = true;
    fail("a closing '>'");
  }

  void bare() {
    now_.word = true;
    const std::size_t begin = at_;
    while (at_ < text_.size() && static_cast<unsigned char>(text_[at_]) > ' ' && std::string_view("{}[]=;,:\"<>+").find(text_[at_]) == std::string_view::npos) {
      if (at_ > begin && text_[at_] == '-' && at_ + 1 < text_.size() && (text_[at_ + 1] == '>' || text_[at_ + 1] == '-')) break;
      ++at_;
    }
    if (at_ == begin) {
      now_ = {.word = false, .text = std::string(1, text_[at_])};
      ++at_;
      return;
    }
    now_.text = text_.substr(begin, at_ - begin);
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  Token now_;
  bool end_ = false;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : lexer_(text, file) {}

  Graph run() {
    if (lexer_.keyword("strict")) lexer_.take();
    if (!lexer_.keyword("digraph")) lexer_.fail("digraph");
    lexer_.take();
    graph_.clusters.emplace_back();
    if (lexer_.now().word && !lexer_.end()) graph_.clusters[0].name = lexer_.take();
    if (!lexer_.sign("{")) lexer_.fail("{");
    lexer_.take();
    open_.push_back(0);
    while (!open_.empty()) statement();
    if (!lexer_.end()) lexer_.fail("the end of the file: one graph");
    return std::move(graph_);
  }

 private:
  void statement() {
    if (lexer_.end()) lexer_.fail("}");
    if (lexer_.sign(";") || lexer_.sign(",")) {
      lexer_.take();
    } else if (lexer_.sign("}")) {
      lexer_.take();
      open_.pop_back();
    } else if (lexer_.sign("{") || lexer_.keyword("subgraph")) {
      open_subgraph();
    } else if (!lexer_.now().word) {
      lexer_.fail("a node, an edge or an attribute");
    } else {
      node_or_edge();
    }
  }

  void open_subgraph() {
    Cluster cluster;
    if (lexer_.keyword("subgraph")) {
      lexer_.take();
      if (lexer_.now().word && !lexer_.end()) cluster.name = lexer_.take();
    }
    if (!lexer_.sign("{")) lexer_.fail("{");
    if (open_.size() >= kDeepest) lexer_.fail(fmt::format("at most {} subgraphs inside each other", kDeepest));
    lexer_.take();
    graph_.clusters.push_back(std::move(cluster));
    open_.push_back(static_cast<std::uint32_t>(graph_.clusters.size() - 1));
  }

  void node_or_edge() {
    std::string name = lexer_.take();
    if (lexer_.sign("=")) {  // an attribute of the (sub)graph
      lexer_.take();
      std::string value = lexer_.take();
      if (name == "label") graph_.clusters[open_.back()].label = std::move(value);
      return;
    }
    if (name == "graph" || name == "node" || name == "edge") {
      if (lexer_.sign("[")) {
        (void)attributes();
        return;
      }
    }
    std::uint32_t from = node(name);
    bool edge = false;
    skip_port();
    while (lexer_.sign("->") || lexer_.sign("--")) {
      edge = true;
      lexer_.take();
      if (lexer_.end() || !lexer_.now().word) lexer_.fail("the node at the end of the edge");
      const std::uint32_t to = node(lexer_.take());
      skip_port();
      graph_.edges.push_back({.from = from, .to = to});
      from = to;
    }
    while (lexer_.sign("[")) {
      std::string label = attributes();
      if (edge) continue;
      graph_.nodes[from].cluster = open_.back();
      if (!label.empty()) graph_.nodes[from].label = std::move(label);
    }
  }

  void skip_port() {
    while (lexer_.sign(":")) {
      lexer_.take();
      if (!lexer_.end() && lexer_.now().word) lexer_.take();
    }
  }

  /// Takes [key=value ...]; the label.
  std::string attributes() {
    std::string label;
    lexer_.take();
    while (!lexer_.sign("]")) {
      if (lexer_.end()) lexer_.fail("]");
      const std::string key = lexer_.take();
      if (!lexer_.sign("=")) continue;
      lexer_.take();
      if (lexer_.end()) lexer_.fail("a value");
      std::string value = lexer_.take();
      while (lexer_.sign("+")) {  // "a" + "b"
        lexer_.take();
        value += lexer_.take();
      }
      if (key == "label") label = std::move(value);
    }
    lexer_.take();
    return label;
  }

  std::uint32_t node(const std::string& id) {
    const auto [found, added] = ids_.try_emplace(id, static_cast<std::uint32_t>(graph_.nodes.size()));
    if (added) graph_.nodes.push_back({.id = id, .label = "", .cluster = open_.back()});
    return found->second;
  }

  Lexer lexer_;
  Graph graph_;
  std::vector<std::uint32_t> open_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

}  // namespace

Graph parse(std::string_view text, const std::string& file) { return Parser(text, file).run(); }

}  // namespace sgsim::import::dot

#include "sim/import/cuda_graph_dot/node_label.h"

#include <array>
#include <charconv>

namespace sgsim::import::cuda_graph_dot {
namespace {

struct Word {
  std::string_view word;
  NodeKind kind;
};
/// As CUDA 11 to 13 print them; longer words before those that they begin with.
constexpr std::array<Word, 21> kWords{{
    {"KERNEL", NodeKind::kernel},
    {"MEMCPY", NodeKind::copy},
    {"MEMSET", NodeKind::set},
    {"HOST", NodeKind::host},
    {"CHILD_GRAPH", NodeKind::child_graph},
    {"CHILD GRAPH", NodeKind::child_graph},
    {"GRAPH", NodeKind::child_graph},
    {"CONDITIONAL", NodeKind::conditional},
    {"EMPTY", NodeKind::passive},
    {"EVENT_RECORD", NodeKind::passive},
    {"EVENT_WAIT", NodeKind::passive},
    {"WAIT_EVENT", NodeKind::passive},
    {"RECORD_EVENT", NodeKind::passive},
    {"EVENT", NodeKind::passive},
    {"EXT_SEMAS_SIGNAL", NodeKind::passive},
    {"EXT_SEMAS_WAIT", NodeKind::passive},
    {"EXT_SEM", NodeKind::passive},
    {"MEM_ALLOC", NodeKind::passive},
    {"MEM_FREE", NodeKind::passive},
    {"BATCH_MEM_OP", NodeKind::passive},
    {"WAIT", NodeKind::passive},
}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9'); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r\n{}|").find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  while (!text.empty() && std::string_view(" \t\r\n{}|").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

std::uint64_t number_at(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() ? value : 0;
}

/// "<<<4,256,0>>>" and "<<<{8,32},128,0>>>": blocks of the grid.
std::uint32_t grid_blocks(std::string_view config) {
  config.remove_prefix(3);
  const bool braces = config.starts_with("{");
  if (braces) config.remove_prefix(1);
  std::uint64_t blocks = 1;
  do {
    blocks *= std::min<std::uint64_t>(number_at(config), 1U << 20U);
    blocks = std::min<std::uint64_t>(blocks, 0xffffffffU);
    if (!braces || !config.starts_with(",")) break;
    config.remove_prefix(1);
  } while (true);
  return static_cast<std::uint32_t>(blocks);
}

void read_kernel(std::string_view label, NodeLabel& result) {
  const std::size_t config = label.find("<<<");
  if (config == std::string_view::npos) return;
  result.blocks = grid_blocks(label.substr(config));
  std::size_t begin = label.find_last_of("|\n", config);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  result.name = trimmed(label.substr(begin, config - begin));
}

/// The value of the cell after "Width |": bytes of a row; rows in "Height |".
double extent(std::string_view label, std::string_view key) {
  std::size_t at = label.find(key);
  if (at == std::string_view::npos) return 0.0;
  at += key.size();
  while (at < label.size() && (label[at] == ' ' || label[at] == '|')) ++at;
  std::string_view rest = label.substr(at);
  return static_cast<double>(number_at(rest));
}

void read_copy(std::string_view label, NodeLabel& result) {
  static constexpr std::array<std::string_view, 5> kDirections = {"HtoD", "DtoH", "DtoD", "HtoH", "PtoP"};
  for (const std::string_view direction : kDirections) {
    if (label.find(direction) != std::string_view::npos) result.name = direction;
  }
  const double width = extent(label, "Width"), height = extent(label, "Height"), depth = extent(label, "Depth");
  result.bytes = width * (height > 0 ? height : 1.0) * (depth > 0 ? depth : 1.0);
}

/// The value under a heading of a table: "{{ID | pitch | width} | {3 | 0 | 640}}". Nothing where the label has no such heading.
std::optional<std::uint64_t> value_under(std::string_view label, std::string_view heading) {
  for (std::size_t open = label.find('{'); open != std::string_view::npos; open = label.find('{', open + 1)) {
    const std::size_t close = label.find_first_of("{}", open + 1);
    if (close == std::string_view::npos || label[close] == '{') continue;
    std::size_t column = 0;
    for (std::string_view row = label.substr(open + 1, close - open - 1);; ++column) {
      const std::size_t end = std::min(row.find('|'), row.size());
      if (trimmed(row.substr(0, end)) == heading) break;
      if (end == row.size()) {
        column = label.size();
        break;
      }
      row.remove_prefix(end + 1);
    }
    const std::size_t below = label.find('{', close);
    if (column == label.size() || below == std::string_view::npos) continue;
    std::string_view values = label.substr(below + 1, label.find('}', below) - below - 1);
    for (; column > 0; --column) values.remove_prefix(std::min(values.find('|'), values.size() - 1) + 1);
    while (!values.empty() && values.front() == ' ') values.remove_prefix(1);
    return values.empty() ? std::nullopt : std::optional(number_at(values));
  }
  return std::nullopt;
}

// Memory sets have a table of their own; their width counts elements.
void read_set(std::string_view label, NodeLabel& result) {
  const auto width = value_under(label, "width"), height = value_under(label, "height"), element = value_under(label, "elementSize");
  if (width) result.bytes = static_cast<double>(*width) * static_cast<double>(std::max<std::uint64_t>(1, height.value_or(1))) * static_cast<double>(std::max<std::uint64_t>(1, element.value_or(1)));
}

void read_child(std::string_view label, NodeLabel& result) {
  for (std::size_t at = label.find("graph_"); at != std::string_view::npos; at = label.find("graph_", at + 1)) {
    std::size_t end = at + 6;
    while (end < label.size() && label[end] >= '0' && label[end] <= '9') ++end;
    if (end > at + 6) result.child = label.substr(at, end - at);
  }
}

}  // namespace

std::optional<NodeLabel> read_label(std::string_view label) {
  const std::string_view text = trimmed(label);
  NodeLabel result;
  for (const Word& word : kWords) {
    const bool ends = text.size() == word.word.size() || (text.size() > word.word.size() && !is_letter(text[word.word.size()]));
    if (!text.starts_with(word.word) || !ends) continue;
    result.kind = word.kind;
    result.word = word.word;
    if (word.kind == NodeKind::kernel) read_kernel(text, result);
    if (word.kind == NodeKind::copy || word.kind == NodeKind::set) read_copy(text, result);
    if (word.kind == NodeKind::set) read_set(text, result);
    if (word.kind == NodeKind::child_graph || word.kind == NodeKind::conditional) read_child(text, result);
    return result;
  }
  // Without the verbose flags a kernel is its number and its name: "0\nvecAdd<<<4,256,0>>>".
  if (text.find("<<<") != std::string_view::npos) {
    result.word = "KERNEL";
    read_kernel(text, result);
    return result;
  }
  const std::size_t line = text.find('\n');
  if (line != std::string_view::npos && text.substr(0, line).find_first_not_of("0123456789") == std::string_view::npos) return read_label(text.substr(line + 1));
  return std::nullopt;
}

}  // namespace sgsim::import::cuda_graph_dot

#include "sim/import/simai/lines.h"

#include <charconv>

namespace sgsim::import::simai {
namespace {

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(value) : std::nullopt;
}

}  // namespace

bool take_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  const std::size_t end = std::min(text.find('\n'), text.size());
  line = text.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  text.remove_prefix(std::min(end + 1, text.size()));
  return true;
}

std::vector<std::string_view> columns(std::string_view line) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return parts;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    parts.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::vector<std::string_view> cells(std::string_view line) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = line.find(',');
    parts.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return parts;
    line.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> whole_number(std::string_view text) { return parse_number<std::int64_t>(text); }
std::optional<double> number(std::string_view text) { return parse_number<double>(text); }

std::optional<trace::CommKind> collective_kind(std::string_view name) {
  using trace::CommKind;
  std::string plain;
  for (const char c : name) {
    if (c != '_') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  static constexpr std::pair<std::string_view, CommKind> kKinds[] = {
      {"allreduce", CommKind::all_reduce}, {"allgather", CommKind::all_gather}, {"reducescatter", CommKind::reduce_scatter},
      {"alltoall", CommKind::all_to_all},  {"broadcast", CommKind::broadcast},  {"reduce", CommKind::reduce},
      {"isend", CommKind::send},           {"irecv", CommKind::receive},        {"send", CommKind::send},
      {"recv", CommKind::receive},         {"barrier", CommKind::barrier}};
  for (const auto& [text, kind] : kKinds) {
    if (text == plain) return kind;
  }
  return std::nullopt;
}

RunBuilder::RunBuilder(std::string format, const std::string& file) {
  run_.format = std::move(format);
  run_.ranks.resize(1);
  run_.ranks[0].file = file;
}

std::uint32_t RunBuilder::stream(const std::string& name) {
  trace::RankTrace& rank = run_.ranks[0];
  const auto [found, added] = streams_.try_emplace(name, static_cast<std::uint32_t>(rank.streams.size()));
  if (added) rank.streams.push_back({.device = 0, .stream = static_cast<std::int64_t>(found->second), .name = run_.strings.intern(name)});
  return found->second;
}

std::uint32_t RunBuilder::append(std::string_view name, std::uint32_t stream_index, trace::Nanoseconds duration) {
  trace::RankTrace& rank = run_.ranks[0];
  trace::DeviceOp op;
  op.name = run_.strings.intern(name);
  op.stream = stream_index;
  op.duration = duration;
  rank.device_ops.push_back(op);
  return static_cast<std::uint32_t>(rank.device_ops.size() - 1);
}

std::uint32_t RunBuilder::compute(std::string_view name, trace::Nanoseconds duration) { return append(name, stream("compute"), duration); }

std::uint32_t RunBuilder::communication(std::string_view name, trace::CommKind kind, std::string_view group, std::uint32_t group_size, double bytes, trace::Nanoseconds duration) {
  const std::uint32_t index = append(name, stream(std::string(group)), duration);
  trace::RankTrace& rank = run_.ranks[0];
  const std::string key = std::string(group) + "/" + std::to_string(group_size);
  const auto [found, added] = groups_.try_emplace(key, static_cast<std::uint32_t>(run_.groups.size()));
  if (added) run_.groups.push_back({.name = run_.strings.intern(group), .description = 0, .ranks = {}, .size = group_size});
  trace::Collective collective;
  collective.kind = kind;
  collective.name = run_.strings.intern(name);
  collective.group = found->second;
  collective.sequence = sequences_[key]++;
  collective.bytes = bytes;
  collective.device_op = index;
  rank.device_ops[index].collective = static_cast<std::uint32_t>(rank.collectives.size());
  rank.collectives.push_back(collective);
  return index;
}

void RunBuilder::edge(std::uint32_t from, std::uint32_t to) {
  run_.ranks[0].edges.push_back({.from = {trace::NodeTable::device_ops, from}, .to = {trace::NodeTable::device_ops, to}, .data = true});
}

}  // namespace sgsim::import::simai

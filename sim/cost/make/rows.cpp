#include "sim/cost/make/rows.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/core/json_value.h"
#include "sim/core/text_file.h"

namespace sgsim::cost::make {
namespace {

/// A table of comma-separated values without quotes, as the published tables are.
class Csv {
 public:
  Csv(std::string text, std::string file) : text_(std::move(text)), file_(std::move(file)) {
    next();
    for (std::size_t i = 0; i < cells_.size(); ++i) columns_[std::string(cells_[i])] = i;
  }

  /// Moves to the next row; false at the end.
  bool next() {
    if (at_ >= text_.size()) return false;
    std::size_t end = text_.find('\n', at_);
    if (end == std::string::npos) end = text_.size();
    std::string_view line(text_.data() + at_, end - at_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at_ = end + 1;
    ++line_;
    cells_.clear();
    for (std::size_t from = 0; from <= line.size();) {
      std::size_t comma = line.find(',', from);
      if (comma == std::string_view::npos) comma = line.size();
      cells_.push_back(line.substr(from, comma - from));
      from = comma + 1;
    }
    return true;
  }

  std::string_view text(std::string_view column) const {
    const auto found = columns_.find(column);
    if (found == columns_.end() || found->second >= cells_.size()) fail("no column " + std::string(column), "a table with this column");
    return cells_[found->second];
  }
  template <class T>
  T number(std::string_view column) const {
    const std::string_view cell = text(column);
    T value{};
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc{} || end != cell.data() + cell.size()) fail("\"" + std::string(cell) + "\"", "a number in " + std::string(column));
    return value;
  }

 private:
  [[noreturn]] void fail(std::string found, std::string expected) const {
    throw InputError({.file = file_, .where = "line " + std::to_string(line_), .found = std::move(found), .expected = std::move(expected), .hint = ""});
  }

  std::string text_, file_;
  std::size_t at_ = 0;
  int line_ = 0;
  std::vector<std::string_view> cells_;
  std::map<std::string, std::size_t, std::less<>> columns_;
};

std::optional<graph::CollectiveOp> op_of(std::string_view name) {
  if (name == "all_reduce") return graph::CollectiveOp::all_reduce;
  if (name == "all_gather") return graph::CollectiveOp::all_gather;
  if (name == "reduce_scatter") return graph::CollectiveOp::reduce_scatter;
  if (name == "alltoall") return graph::CollectiveOp::all_to_all;
  return std::nullopt;
}

}  // namespace

std::vector<ProductRow> read_products(const std::string& path, std::string_view gemm_dtype) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, double> fastest;
  Csv csv(read_text_file(path), path);
  while (csv.next()) {
    if (csv.text("gemm_dtype") != gemm_dtype) continue;
    const auto us = csv.number<double>("latency") * 1e3;
    const auto [at, fresh] = fastest.try_emplace({csv.number<std::int64_t>("m"), csv.number<std::int64_t>("n"), csv.number<std::int64_t>("k")}, us);
    if (!fresh) at->second = std::min(at->second, us);
  }
  std::vector<ProductRow> rows;
  for (const auto& [shape, us] : fastest) rows.push_back({std::get<0>(shape), std::get<1>(shape), std::get<2>(shape), us});
  return rows;
}

std::vector<CollectiveRow> read_collectives(const std::string& path) {
  std::vector<CollectiveRow> rows;
  Csv csv(read_text_file(path), path);
  while (csv.next()) {
    const auto op = op_of(csv.text("op_name"));
    if (!op || csv.text("nccl_dtype") != "half") continue;
    rows.push_back({.op = *op, .ranks = csv.number<int>("num_gpus"), .bytes = 2 * csv.number<std::int64_t>("message_size"), .us = csv.number<double>("latency") * 1e3});
  }
  std::sort(rows.begin(), rows.end(), [](const CollectiveRow& a, const CollectiveRow& b) { return std::tie(a.op, a.ranks, a.bytes, a.us) < std::tie(b.op, b.ranks, b.bytes, b.us); });
  return rows;
}

std::vector<AttentionRow> read_attention(const std::string& path, std::string_view gpu, std::string_view kernel) {
  const nlohmann::json all = parse_json(read_text_file(path), path);
  std::vector<AttentionRow> rows;
  for (const nlohmann::json& r : all) {
    if (r.value("op", "") != "attention_fwd_causal" || r.value("gpu", "") != gpu || r.value("notes", "").find(kernel) == std::string::npos) continue;
    rows.push_back({.batch = r.at("batch"), .heads = r.at("heads"), .kv_heads = r.at("kv_heads"), .head_dim = r.at("head_dim"), .length = r.at("seq"), .us = r.at("time_us")});
  }
  return rows;
}

}  // namespace sgsim::cost::make

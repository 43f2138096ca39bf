#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/import/simai/lines.h"
#include "sim/import/simai/simai.h"

namespace sgsim::import::simai {
namespace {

std::string_view after(std::string_view text, std::string_view prefix) { return text.starts_with(prefix) ? text.substr(prefix.size()) : text; }

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file), builder_("simai", file) {}

  trace::ImportedRun run() {
    std::string_view line;
    while (take_line(text_, line)) {
      ++line_number_;
      if (line.empty()) continue;
      if (line.starts_with("[rank")) {
        builder_.report().add("import.simai.rank_range", Severity::info, line);
      } else if (line.starts_with("comm_type,")) {
        read_header(line);
      } else {
        read_row(cells(line));
      }
    }
    if (columns_.empty()) throw InputError({.file = file_, .where = "", .found = "no header line", .expected = "comm_type,comm_group,...", .hint = ""});
    return builder_.finish();
  }

 private:
  void read_header(std::string_view line) {
    columns_.clear();
    const auto names = cells(line);
    for (std::size_t i = 0; i < names.size(); ++i) columns_.emplace(names[i], i);
  }

  std::string_view cell(const std::vector<std::string_view>& row, std::string_view column) const {
    const auto found = columns_.find(column);
    return found == columns_.end() ? std::string_view() : row[found->second];
  }

  void dropped(std::string_view what, std::string_view example) { builder_.report().add(fmt::format("import.simai.{}", what), Severity::error, fmt::format("line {}: {}", line_number_, example)); }

  void read_row(const std::vector<std::string_view>& row) {
    if (columns_.empty() || row.size() != columns_.size()) {
      dropped("broken_line", fmt::format("{} cells, {} columns", row.size(), columns_.size()));
      return;
    }
    const std::string_view type = after(cell(row, "comm_type"), "CommType.");
    if (type == "epoch_end") {
      builder_.report().add("import.simai.epoch_end", Severity::info, fmt::format("line {}", line_number_));
      return;
    }
    if (type == "computation") {
      const std::uint32_t index = builder_.compute(cell(row, "stage"), elapsed(row));
      chain(index);
      builder_.report().add("import.simai.compute", Severity::info, cell(row, "stage"));
      return;
    }
    const auto kind = collective_kind(type == "all_gather_into_tensor" ? "all_gather" : type == "reduce_scatter_tensor" ? "reduce_scatter" : type == "all_to_all_single" ? "all_to_all" : type);
    if (!kind) {
      dropped("unknown_communication", type);
      return;
    }
    const std::string_view group = after(cell(row, "comm_group"), "CommGroup.");
    const auto size = whole_number(cell(row, "comm_group_size"));
    const auto bytes = number(cell(row, "msg_size"));
    const std::string name = fmt::format("{} {}", cell(row, "stage"), type);
    chain(builder_.communication(name, *kind, group, size && *size > 0 ? static_cast<std::uint32_t>(std::min<std::int64_t>(*size, 1 << 24)) : 0, bytes && *bytes >= 0 ? *bytes : -1.0, elapsed(row)));
    builder_.report().add(fmt::format("import.simai.collectives.{}", trace::name_of(*kind)), Severity::info, name);
    if (!bytes && *kind != trace::CommKind::barrier) builder_.report().add("import.simai.size_absent", Severity::warning, fmt::format("line {}: {}", line_number_, name));
  }

  /// Milliseconds in the file; 0 where it says None.
  trace::Nanoseconds elapsed(const std::vector<std::string_view>& row) {
    const auto time = number(cell(row, "_elapsed_time"));
    if (!time || !(*time > 0.0) || *time > 1e9) return 0;
    builder_.report().add("import.simai.measured_time", Severity::info, fmt::format("line {}: {} ms", line_number_, *time));
    return static_cast<trace::Nanoseconds>(*time * 1e6);
  }

  /// The list is executed in order.
  void chain(std::uint32_t index) {
    if (last_ != trace::kNone) builder_.edge(last_, index);
    last_ = index;
  }

  std::string_view text_;
  const std::string& file_;
  int line_number_ = 0;
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::uint32_t last_ = trace::kNone;
  RunBuilder builder_;
};

}  // namespace

trace::ImportedRun parse_list(std::string_view text, const std::string& file) { return Reader(text, file).run(); }

}  // namespace sgsim::import::simai

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sgsim::import::torch_trace {

struct Record {
  nlohmann::json json;      // discarded: the line was no JSON
  std::string type;         // its first key that names a kind: "aot_forward_graph"
  std::string payload;      // without the tabs
  int line = 0;             // of the record
  int payload_line = 0;
  std::string frame;        // "[0/1]", empty outside a compilation
  std::optional<std::int64_t> rank;
};

/// Records of a log, one after the other.
class Records {
 public:
  explicit Records(std::string_view text) : text_(text) {}
  bool next(Record& record);
  /// Lines that are neither a record nor a payload.
  [[nodiscard]] int stray_lines() const { return stray_; }

 private:
  bool take_line(std::string_view& line);

  std::string_view text_;
  int number_ = 0;
  int stray_ = 0;
};

/// The JSON of a record line; empty when the line is none ("V0516 11:47:27.901000 1397 torch/x.py:19] {...}").
[[nodiscard]] std::string_view json_of(std::string_view line);

}  // namespace sgsim::import::torch_trace

#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sgsim::trace {

/// Index into a StringTable; 0 is the empty string.
using Text = std::uint32_t;

/// Each distinct string once: traces repeat a few thousand names millions of times. Bytes that are no UTF-8 are kept as they are.
class StringTable {
 public:
  StringTable() { (void)intern({}); }
  StringTable(const StringTable& other) { *this = other; }
  StringTable(StringTable&&) = default;
  StringTable& operator=(const StringTable& other);
  StringTable& operator=(StringTable&&) = default;

  Text intern(std::string_view text);
  [[nodiscard]] const std::string& at(Text text) const { return texts_.at(text); }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }
  bool operator==(const StringTable& other) const { return texts_ == other.texts_; }

 private:
  std::deque<std::string> texts_;                        // stable addresses: the index points into them
  std::unordered_map<std::string_view, Text> index_;
};

}  // namespace sgsim::trace

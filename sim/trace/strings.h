#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace sgsim::trace {

/// Index into a StringTable; 0 is the empty string.
using Text = std::uint32_t;

/// Each distinct string once: traces repeat a few thousand names millions of times. Bytes that are no UTF-8 are kept as they are.
class StringTable {
 public:
  StringTable() { (void)intern({}); }
  Text intern(std::string_view text);
  [[nodiscard]] const std::string& at(Text text) const { return texts_.at(text); }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }
  bool operator==(const StringTable& other) const { return texts_ == other.texts_; }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    Text text = 0;
  };
  void grow();

  std::deque<std::string> texts_;
  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full; text 0: free (the empty string has none)
};

}  // namespace sgsim::trace

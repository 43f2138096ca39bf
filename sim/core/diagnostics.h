#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace sgsim {

enum class Severity : std::uint8_t { info, warning, error };

/// One way in which a result is less than it seems (an extrapolation, a dropped record), counted.
struct Diagnostic {
  Severity severity = Severity::info;
  std::uint64_t count = 0;
  std::string example;  // the first occurrence, in words

  bool operator==(const Diagnostic&) const = default;
};

/// Counted diagnostics by key ("cost.matmul.outside_measured_range"), in key order.
class Diagnostics {
 public:
  void add(std::string_view key, Severity severity, std::string_view example, std::uint64_t count = 1);
  void merge(const Diagnostics& other);
  [[nodiscard]] const std::map<std::string, Diagnostic, std::less<>>& entries() const { return entries_; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

  bool operator==(const Diagnostics&) const = default;

 private:
  std::map<std::string, Diagnostic, std::less<>> entries_;
};

}  // namespace sgsim

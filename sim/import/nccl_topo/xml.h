#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sgsim::import::xml {

struct Element {
  std::string name;
  std::map<std::string, std::string, std::less<>> attributes;
  std::vector<Element> children;
  int line = 0;

  /// Empty when absent.
  [[nodiscard]] const std::string& attribute(std::string_view key) const;
};

/// Parses the one root element. Comments, declarations, document types and text between elements are skipped. Throws
/// InputError with the line: unclosed or crossed elements, unquoted values, more than 64 levels, more than one root.
[[nodiscard]] Element parse(std::string_view text, const std::string& file);

/// Name of the first element of a file's head, without parsing it; empty when there is none.
[[nodiscard]] std::string_view root_name(std::string_view head);

}  // namespace sgsim::import::xml

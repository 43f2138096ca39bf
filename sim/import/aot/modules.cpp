#include "sim/import/aot/modules.h"

#include <algorithm>
#include <array>

namespace sgsim::import::aot {
namespace {

constexpr std::array<std::string_view, 6> kAdded = {"_modules",  "_parameters",          "_buffers",
                                                    "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"};
constexpr std::array<std::string_view, 2> kWrappers = {"m.", "module."};

void add_component(std::string& path, std::string_view component) {
  if (component.empty() || std::find(kAdded.begin(), kAdded.end(), component) != kAdded.end()) return;
  if (!path.empty()) path += '.';
  path += component;
}

/// After "L" or "L['self']" at the start.
std::string_view after_root(std::string_view path) {
  if (!path.starts_with("L[")) return path;
  const std::size_t end = path.find(']');
  return end == std::string_view::npos ? std::string_view() : path.substr(end + 1);
}

}  // namespace

std::string dotted_path(std::string_view path) {
  std::string dotted, component;
  for (const char c : after_root(path)) {
    if (c == '.' || c == '[' || c == ']') {
      add_component(dotted, component);
      component.clear();
    } else if (c != '\'' && c != '"') {
      component += c;
    }
  }
  add_component(dotted, component);
  return dotted;
}

std::string wrapper_of(const std::vector<std::string>& names) {
  for (const std::string_view wrapper : kWrappers) {
    const bool all = std::all_of(names.begin(), names.end(), [&](const std::string& name) { return name.starts_with(wrapper); });
    if (all && !names.empty()) return std::string(wrapper);
  }
  return "";
}

std::string without_wrapper(std::string path, const std::string& wrapper) {
  if (wrapper.empty()) return path;
  if (path.starts_with(wrapper)) return path.substr(wrapper.size());
  return path + '.' == wrapper ? std::string() : path;
}

std::string owner_of(const std::string& parameter) {
  const std::size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? std::string() : parameter.substr(0, dot);
}

}  // namespace sgsim::import::aot

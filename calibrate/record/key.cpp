#include "calibrate/record/key.h"

#include "sim/core/error.h"

namespace sgsim::calibrate {

std::int64_t Key::size(std::string_view name) const {
  const auto it = sizes.find(std::string(name));
  SGSIM_CHECK(it != sizes.end(), "no size '" + std::string(name) + "' in " + to_text(*this));
  return it->second;
}

const std::string& Key::label(std::string_view name) const {
  const auto it = labels.find(std::string(name));
  SGSIM_CHECK(it != labels.end(), "no label '" + std::string(name) + "' in " + to_text(*this));
  return it->second;
}

bool Key::is(std::string_view name, std::string_view value) const {
  const auto it = labels.find(std::string(name));
  return it != labels.end() && it->second == value;
}

std::string to_text(const Key& key) {
  std::string text = key.group;
  for (const auto& [name, value] : key.labels) text += " " + name + "=" + value;
  for (const auto& [name, value] : key.sizes) text += " " + name + "=" + std::to_string(value);
  return text;
}

bool is_held_out(const Key& key) { return key.is("set", kHeldOut); }

}  // namespace sgsim::calibrate

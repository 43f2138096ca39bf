#include "sim/compile/operator_effects.h"

namespace sgsim::compile {

std::string_view base_name(std::string_view target) {
  const auto first = target.find('.');
  if (first == std::string_view::npos) return target;
  const std::string_view rest = target.substr(first + 1);
  return rest.substr(0, rest.find('.'));
}

bool is_in_place(std::string_view target) {
  const std::string_view name = base_name(target);
  return name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_';
}

bool has_side_effect(std::string_view target) {
  return is_in_place(target) || target.starts_with("_c10d_functional.") || target.starts_with("c10d.") ||
         base_name(target).find("assert") != std::string_view::npos;
}

}  // namespace sgsim::compile

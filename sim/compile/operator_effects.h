#pragma once

#include <string_view>

namespace sgsim::compile {

/// "mm" of "aten.mm.default"; the whole text where there is no namespace.
[[nodiscard]] std::string_view base_name(std::string_view target);

/// True for an operator that must run even when nothing reads its result: in-place writes ("copy_"), collectives, asserts.
[[nodiscard]] bool has_side_effect(std::string_view target);

/// True for an operator that writes into its first operand ("copy_", "add_", "index_put_").
[[nodiscard]] bool is_in_place(std::string_view target);

}  // namespace sgsim::compile

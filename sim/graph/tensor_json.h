#pragma once

#include "sim/core/json_value.h"
#include "sim/graph/tensor_type.h"

namespace sgsim::graph {

// Parts that captured graph files and graph files share. Include from source files only.

[[nodiscard]] DType dtype_from_json(const JsonValue& value);
/// Sizes from 0 to 2^40; a tensor of at most 1e15 elements.
[[nodiscard]] Dims shape_from_json(const JsonValue& value);
/// {"shape": [...], "dtype": "bfloat16", "stride": [...]}; without a stride it is row-major.
[[nodiscard]] TensorType tensor_from_json(const JsonValue& value);
[[nodiscard]] nlohmann::json tensor_to_json(const TensorType& type);

/// Numbers that JSON lacks, as Python prints them: "inf", "-inf", "nan".
[[nodiscard]] std::optional<double> number_from_name(std::string_view text);
[[nodiscard]] nlohmann::json number_to_json(double value);

inline constexpr int kDeepestList = 32;  // lists inside lists of an argument; aten needs two

}  // namespace sgsim::graph

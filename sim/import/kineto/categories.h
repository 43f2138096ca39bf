#pragma once

#include <cstdint>
#include <string_view>

#include "sim/trace/imported_run.h"

namespace sgsim::import::kineto {

/// What an event is, over all versions of the profiler.
enum class Category : std::uint8_t { op, annotation, python, call, kernel, copy, set, sync, device_annotation, marker, unknown };

[[nodiscard]] Category category_of(std::string_view text);

/// By the name of a CUDA or HIP runtime or driver call.
[[nodiscard]] trace::CallKind call_kind(std::string_view name);

}  // namespace sgsim::import::kineto

#pragma once

#include "sim/trace/imported_run.h"

namespace sgsim::exporting {

/// Words of profiler traces: the category of an event. Chakra's files have them as the attribute "category".
[[nodiscard]] inline const char* category_of(trace::HostKind kind) { return kind == trace::HostKind::op ? "cpu_op" : kind == trace::HostKind::annotation ? "user_annotation" : "python_function"; }
[[nodiscard]] inline const char* category_of(trace::DeviceKind kind) { return kind == trace::DeviceKind::kernel ? "kernel" : kind == trace::DeviceKind::copy ? "gpu_memcpy" : "gpu_memset"; }

}  // namespace sgsim::exporting

#pragma once

#include <memory>

#include "calibrate/device/activity.h"

namespace sgsim::calibrate {

/// Activity records by CUPTI. One at a time in a process. CUPTI is attached when the first mark is set or the first records
/// are collected; that throws ActivitiesHeld when another tool (a profiler) holds it. Nodes of CUDA graphs instantiated
/// before are recorded as one.
[[nodiscard]] std::unique_ptr<ActivitySource> make_cupti_source();

/// "13.0.1": of the CUPTI library in use.
[[nodiscard]] std::string cupti_version();

}  // namespace sgsim::calibrate

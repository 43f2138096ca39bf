#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/profile.h"

namespace sgsim::cost::make {

/// The GPUs that profiles can be made for: "a100-80gb", "a100-40gb", "h100", "h100-96gb", "h200".
[[nodiscard]] std::vector<std::string> profile_names();

/// Makes the profile of one GPU from the validation data set (the folder with kernels/, published/ and h200/): datasheet,
/// thinned matrix product and attention tables, fitted curves and protocols. The H100s take their kernels from the measured H200's
/// profile, the file `measured_h200`. Deterministic: the same files give the same profile. Throws InputError for an unknown name or
/// a missing file.
[[nodiscard]] Profile make_profile(std::string_view name, const std::string& truth_dir, const std::string& measured_h200);

}  // namespace sgsim::cost::make

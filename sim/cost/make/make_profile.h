#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/profile.h"

namespace sgsim::cost::make {

/// The GPUs that profiles can be made for: "a100-80gb", "a100-40gb", "h100", "h200".
[[nodiscard]] std::vector<std::string> profile_names();

/// Makes the profile of one GPU from the validation data set (the folder with kernels/, published/ and h200/): datasheet,
/// thinned matrix product and attention tables, fitted curves and protocols. Deterministic: the same files give the same
/// profile. Throws InputError for an unknown name or a missing file.
[[nodiscard]] Profile make_profile(std::string_view name, const std::string& truth_dir);

}  // namespace sgsim::cost::make

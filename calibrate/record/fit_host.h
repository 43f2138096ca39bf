#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/cost/profile.h"

namespace sgsim::calibrate {

/// Replaces the host costs of the three execution modes by what calibrate/pytorch_overhead.py measured (JSON, format
/// "sgsim-pytorch-host"), and keeps the operators' classes and hooks as times "host.pytorch.*". Several files, of several
/// hosts, are pooled: hosts of one kind differ by a factor of two, and the source's note says by how much these did. Throws
/// InputError for a file of another format or without the sections that the launch models need.
void fit_host(cost::Profile& profile, const std::vector<std::filesystem::path>& files);

}  // namespace sgsim::calibrate

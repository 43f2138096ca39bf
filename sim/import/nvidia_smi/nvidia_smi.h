#pragma once

#include <string>
#include <string_view>

#include "sim/import/format.h"

namespace sgsim::import::nvidia_smi {

/// The matrix that `nvidia-smi topo -m` prints.
[[nodiscard]] Format format();

/// One node from the text; lines before and after the matrix are passed over (an `nvidia-smi -L` list among them names the
/// GPUs). The matrix has no bandwidths and no sizes: they come from the number of NVLinks, counted as guessed.
/// Throws InputError where rows and columns do not agree.
[[nodiscard]] ImportedTopology parse(std::string_view text, const std::string& file);

}  // namespace sgsim::import::nvidia_smi

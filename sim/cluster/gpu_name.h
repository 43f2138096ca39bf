#pragma once

#include <string_view>

namespace sgsim::cluster {

/// Whether two names can stand for one GPU: "NVIDIA A100-SXM4-80GB" (the driver's), "A100-SXM4-80GB" (ours), "NVIDIA A100-PG509-200" (says less).
/// Both must have the same model word (A100, H200), and must not contradict each other in board (SXM, PCIe, NVL, GH) or memory ("80GB").
/// False where a name has no model word.
[[nodiscard]] bool may_be_one_gpu(std::string_view a, std::string_view b);

}  // namespace sgsim::cluster

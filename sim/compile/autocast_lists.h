#pragma once

#include <cstdint>
#include <string_view>

namespace sgsim::compile {

/// What torch.autocast does with an operator's floating operands on CUDA.
enum class AutocastRule : std::uint8_t {
  lower,    // cast to the lower precision type
  float32,  // cast to float32
  none,     // run in the type the operands promote to
};

/// Source: PyTorch documentation, "Automatic Mixed Precision package - torch.amp", section "Autocast Op Reference", CUDA
/// lists; the aten operators that those Python functions dispatch to, and their backward operators with them.
[[nodiscard]] AutocastRule autocast_rule(std::string_view target);

}  // namespace sgsim::compile

#pragma once

#include "calibrate/bench/cases/context.h"
#include "calibrate/device/cuda/sdpa.h"

namespace sgsim::calibrate {

/// Relative errors of sampled rows against softmax(scale q k^T + mask) v and its gradients, computed in double precision.
/// The backward check trusts the forward pass's result and statistics: check those first.
[[nodiscard]] double sdpa_forward_error(Context& context, const SdpaShape& shape, const SdpaMemory& memory);
struct SdpaGradientErrors {
  double dq = 0.0, dk = 0.0, dv = 0.0;
};
[[nodiscard]] SdpaGradientErrors sdpa_backward_error(Context& context, const SdpaShape& shape, const SdpaMemory& memory);

}  // namespace sgsim::calibrate

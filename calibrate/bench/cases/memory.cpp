// Kernels bound by the bytes they move. Labels: kind (as the simulator's MemoryKind), op. Sizes: bytes (read and written, about),
// columns (length of a row; 0 where there are none).
#include "calibrate/bench/cases/cases.h"

namespace sgsim::calibrate {

Task prepare_memory(Context& context, const Key& key) {
  constexpr Maker kMakers[] = {make_pointwise, make_reduction, make_norm, make_softmax, make_cross_entropy, make_embedding, make_copy, make_transpose, make_optimizer, make_pooling};
  for (const Maker make : kMakers) {
    if (std::optional<Task> task = make(context, key)) {
      if (key.is("set", "sustained")) task->sustain_seconds = 0.5;
      return std::move(*task);
    }
  }
  throw InternalError("no kernel for " + to_text(key));
}

}  // namespace sgsim::calibrate

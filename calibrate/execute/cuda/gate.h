#pragma once

#include <cuda_runtime.h>

#include "calibrate/device/cuda/cuda.h"

namespace sgsim::calibrate {

/// Holds a stream back until the host lets it go (a fifth of a second at most): what is launched behind it is all there when it starts, as when the host is a step ahead.
class Gate {
 public:
  Gate();
  void close(cudaStream_t stream);  // enqueues the wait
  void open();

 private:
  PinnedBuffer flag_;
  int closed_ = 0;
};

}  // namespace sgsim::calibrate

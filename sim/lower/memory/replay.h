#pragma once

#include <vector>

#include "sim/lower/lower.h"
#include "sim/lower/program/stage.h"

namespace sgsim::lower {

/// What the allocator and the runtime add to what the step itself allocates.
struct RuntimeMemory {
  Bytes workspaces;      // library workspaces that the framework's allocator hands out (cuBLAS): counted as allocated
  Bytes communication;   // communicators' buffers, outside the allocator
  Bytes context;         // CUDA context with loaded kernels, outside the allocator
  double fragmentation = 0.0;  // reserved / allocated - 1 at the peak
  bool graph_pool = false;     // activations, gradients and workspaces live in the private pool of CUDA graphs
  Bytes capacity;              // of the GPU; 0: without limit
};

/// What the GPU shows of `allocated` at its peak: with fragmentation, communicators and context. A full GPU makes PyTorch's caching
/// allocator give back the blocks that it holds unused and ask again (c10/cuda/CUDACachingAllocator.cpp, release_cached_blocks
/// when alloc_block fails), so that fragmentation takes what is free and no more.
[[nodiscard]] Bytes reserved_of(Bytes allocated, const RuntimeMemory& runtime);

/// Memory of one rank over the step: what persists, then every change in program order (host issue order, in which a
/// caching allocator hands out and takes back). `peak` counts what the allocator hands out; `reserved` adds fragmentation,
/// the graphs' pool, communicators and context. The curve and the point of the peak show everything.
[[nodiscard]] Memory replay_memory(const Stage& stage, const RuntimeMemory& runtime);

}  // namespace sgsim::lower

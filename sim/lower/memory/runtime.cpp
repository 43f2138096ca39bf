#include "sim/lower/memory/runtime.h"

#include <string_view>

namespace sgsim::lower {
namespace {

bool is_hopper(std::string_view name) { return name.find("H100") != std::string_view::npos || name.find("H200") != std::string_view::npos; }

}  // namespace

RuntimeMemory runtime_memory(const cluster::Gpu& gpu, int communicators, compile::Execution execution) {
  RuntimeMemory runtime;
  // PyTorch's cuBLAS workspace: 32 MiB on Hopper, else :4096:2:16:8 = 2 x 4096 + 8 x 16 KiB
  // (aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize); one for each (handle, stream): the forward
  // thread's and the backward thread's.
  runtime.workspaces = 2.0 * (is_hopper(gpu.name) ? 32_MiB : 8320_KiB);
  // NCCL: 4 MiB of NCCL_BUFFSIZE (NCCL environment reference) for each of about 16 channels and two ring
  // connections, and the LL and LL128 buffers; communicators of one process share them with ncclCommSplit only.
  runtime.communication = communicators * 192_MiB;
  // Assumed: CUDA context with the kernels of PyTorch and its libraries loaded, as nvidia-smi shows it above what the
  // allocator reserves (about 0.5 GiB on A100 and H100).
  runtime.context = 512_MiB;
  // Assumed: blocks of PyTorch's caching allocator are whole segments of 2 or 20 MiB or more and are not given back
  // (c10/cuda/CUDACachingAllocator.cpp: kSmallBuffer, kLargeBuffer, kRoundLarge), so that what forward and backward free is reused
  // incompletely; 4 to 33 % between allocated and reserved peaks in most runs of the validation data set.
  runtime.fragmentation = 0.1;
  runtime.capacity = gpu.memory;
  runtime.graph_pool = execution == compile::Execution::cuda_graph;
  return runtime;
}

}  // namespace sgsim::lower

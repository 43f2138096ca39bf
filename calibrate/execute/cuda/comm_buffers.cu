// Buffers of communications: what each rank puts in is known, so that every element that comes out is checked.
#include <cuda_bf16.h>

#include <algorithm>

#include "calibrate/device/cuda/fill.h"
#include "calibrate/device/cuda/nccl_group.h"
#include "calibrate/execute/comm_pattern.h"
#include "calibrate/execute/cuda/communicators.h"

namespace sgsim::calibrate {
namespace {

constexpr int kThreads = 256, kBlocks = 1024;

__global__ void fill_kernel(__nv_bfloat16* data, std::size_t count, int place, int most) {
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(kThreads) + threadIdx.x; i < count; i += static_cast<std::size_t>(kThreads) * gridDim.x) {
    data[i] = __float2bfloat16(static_cast<float>(comm_pattern(place, i, most)));
  }
}

__global__ void compare_kernel(const __nv_bfloat16* data, std::size_t count, ExpectedResult expected, unsigned long long* wrong) {
  unsigned long long mine = 0;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(kThreads) + threadIdx.x; i < count; i += static_cast<std::size_t>(kThreads) * gridDim.x) {
    if (!(__bfloat162float(data[i]) == static_cast<float>(expected(i)))) ++mine;  // NaN is wrong
  }
  if (mine > 0) atomicAdd(wrong, mine);
}

}  // namespace

CommBuffers::CommBuffers(const ProgramComm& comm, ProgramTaskKind kind, int place, int members, cudaStream_t stream)
    : comm_(comm), kind_(kind), place_(place), members_(members), wrong_(sizeof(unsigned long long)) {
  const auto n = static_cast<std::size_t>(members);
  part_ = std::max<std::size_t>(1, static_cast<std::size_t>(comm.bytes) / 2 / n);
  const bool divided = comm.op == graph::CollectiveOp::all_gather || comm.op == graph::CollectiveOp::reduce_scatter || comm.op == graph::CollectiveOp::all_to_all;
  count_ = divided ? part_ * n : std::max<std::size_t>(1, static_cast<std::size_t>(comm.bytes) / 2);
  const std::size_t in = comm.op == graph::CollectiveOp::all_gather ? part_ : count_, out = comm.op == graph::CollectiveOp::reduce_scatter ? part_ : count_;
  if (kind != ProgramTaskKind::receive) {
    in_ = DeviceBuffer(in * 2);
    fill_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<__nv_bfloat16*>(in_.data()), in, place, comm_pattern_most(members));
    check_launch("fill a buffer");
  }
  if (kind != ProgramTaskKind::send) out_ = DeviceBuffer(out * 2);
}

void CommBuffers::enqueue(ncclComm_t comm, cudaStream_t stream) const {
  const void* in = in_.data();
  void* out = out_.data();
  if (kind_ == ProgramTaskKind::send) return check_nccl(ncclSend(in, count_, ncclBfloat16, 1 - place_, comm, stream), "send");
  if (kind_ == ProgramTaskKind::receive) return check_nccl(ncclRecv(out, count_, ncclBfloat16, 1 - place_, comm, stream), "receive");
  switch (comm_.op) {
    case graph::CollectiveOp::all_reduce: return check_nccl(ncclAllReduce(in, out, count_, ncclBfloat16, ncclSum, comm, stream), "all-reduce");
    case graph::CollectiveOp::all_gather: return check_nccl(ncclAllGather(in, out, part_, ncclBfloat16, comm, stream), "all-gather");
    case graph::CollectiveOp::reduce_scatter: return check_nccl(ncclReduceScatter(in, out, part_, ncclBfloat16, ncclSum, comm, stream), "reduce-scatter");
    case graph::CollectiveOp::broadcast: return check_nccl(ncclBroadcast(in, out, count_, ncclBfloat16, 0, comm, stream), "broadcast");
    case graph::CollectiveOp::all_to_all:
    case graph::CollectiveOp::send_receive: break;
  }
  const bool ring = comm_.op == graph::CollectiveOp::send_receive;
  check_nccl(ncclGroupStart(), "begin a group");
  for (int peer = 0; peer < members_; ++peer) {
    if (ring && peer != 1 - place_) continue;
    const std::size_t offset = ring ? 0 : static_cast<std::size_t>(peer) * part_ * 2, count = ring ? count_ : part_;
    check_nccl(ncclSend(in_.at(offset), count, ncclBfloat16, peer, comm, stream), "send");
    check_nccl(ncclRecv(out_.at(offset), count, ncclBfloat16, peer, comm, stream), "receive");
  }
  check_nccl(ncclGroupEnd(), "end a group");
}

void CommBuffers::poison_result(cudaStream_t stream) const {
  if (out_.bytes() > 0) poison(out_.data(), out_.bytes(), stream);
}

CommBuffers::Compared CommBuffers::compare(cudaStream_t stream) const {
  if (out_.bytes() == 0) return {};
  const std::size_t count = out_.bytes() / 2;
  check_cuda(cudaMemsetAsync(wrong_.data(), 0, wrong_.bytes(), stream), "clear a counter");
  compare_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<const __nv_bfloat16*>(out_.data()), count, ExpectedResult{comm_.op, place_, members_, comm_pattern_most(members_), part_},
                                                   static_cast<unsigned long long*>(wrong_.data()));
  check_launch("compare a buffer");
  unsigned long long wrong = 0;
  check_cuda(cudaMemcpyAsync(&wrong, wrong_.data(), sizeof wrong, cudaMemcpyDeviceToHost, stream), "read a counter");
  check_cuda(cudaStreamSynchronize(stream), "wait for a stream");
  return {.elements = count, .wrong = wrong};
}

}  // namespace sgsim::calibrate

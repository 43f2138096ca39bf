#include "sim/trace/imported_run.h"

namespace sgsim::trace {

const char* name_of(CommKind kind) {
  switch (kind) {
    case CommKind::all_reduce: return "all_reduce";
    case CommKind::all_gather: return "all_gather";
    case CommKind::reduce_scatter: return "reduce_scatter";
    case CommKind::all_to_all: return "all_to_all";
    case CommKind::broadcast: return "broadcast";
    case CommKind::reduce: return "reduce";
    case CommKind::send: return "send";
    case CommKind::receive: return "receive";
    case CommKind::send_receive: return "send_receive";
    case CommKind::barrier: return "barrier";
    case CommKind::other: return "other";
  }
  return "other";
}

std::optional<graph::CollectiveOp> collective_op(CommKind kind) {
  switch (kind) {
    case CommKind::all_reduce:
    case CommKind::barrier: return graph::CollectiveOp::all_reduce;  // PyTorch's NCCL barrier is an all-reduce of one element
    case CommKind::all_gather: return graph::CollectiveOp::all_gather;
    case CommKind::reduce_scatter: return graph::CollectiveOp::reduce_scatter;
    case CommKind::all_to_all: return graph::CollectiveOp::all_to_all;
    case CommKind::broadcast: return graph::CollectiveOp::broadcast;
    case CommKind::send:
    case CommKind::receive:
    case CommKind::send_receive: return graph::CollectiveOp::send_receive;
    case CommKind::reduce:
    case CommKind::other: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace sgsim::trace

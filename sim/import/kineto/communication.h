#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/import/kineto/lexer.h"
#include "sim/trace/imported_run.h"

namespace sgsim::import::kineto {

/// What an event's arguments say of a communication ("Collective name", "In msg nelems", ... of PyTorch 2.2 and later).
struct CommFacts {
  std::string name, dtype, group, description, ranks, in_split, out_split;
  double in_elements = -1.0, out_elements = -1.0;
  std::uint32_t size = 0;
  std::int32_t peer = -1;
  bool operator==(const CommFacts&) const = default;
};
[[nodiscard]] CommFacts comm_facts(const Event& event);

/// By a framework's word ("_allgather_base", "nccl:all_reduce", "c10d::allreduce_") or a kernel's name
/// ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL"); CommKind::other when neither is known.
[[nodiscard]] trace::CommKind comm_kind(std::string_view word);
/// Whether a kernel's name is one of NCCL's, RCCL's or MSCCL's.
[[nodiscard]] bool is_comm_kernel(std::string_view kernel);
/// Whether an operator or annotation stands for a communication ("nccl:...", "gloo:...", "record_param_comms").
[[nodiscard]] bool is_comm_annotation(std::string_view name);

/// Bytes of an element by PyTorch's or NCCL's word for a type; 0 when unknown.
[[nodiscard]] double element_bytes(std::string_view dtype);
/// The nccl-tests size (graph/collective.h); -1 when the facts do not tell.
[[nodiscard]] double payload(trace::CommKind kind, const CommFacts& facts);
/// "[0, 1, 5]" -> 0 1 5. PyTorch shortens long lists ("[0, 1, ..., 7]"): empty then.
[[nodiscard]] std::vector<std::int32_t> rank_list(std::string_view text);
/// Whether a split list holds different sizes.
[[nodiscard]] bool differs(std::string_view splits);

}  // namespace sgsim::import::kineto

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/compile/kernel.h"
#include "sim/core/diagnostics.h"
#include "sim/graph/graph.h"
#include "sim/lower/lower.h"
#include "sim/plan/plan.h"

namespace sgsim::lower {

/// A parameter as one tensor-parallel rank holds it.
struct ParameterShard {
  std::string name;              // qualified name in the model
  std::int64_t elements = 0;     // after tensor-parallel (and expert) division, padding included
  graph::DType dtype = graph::DType::float32;
  bool tensor_sharded = false;   // divided over tp; false: replicated (its gradient is reduced over tp under sequence parallel)
  bool expert = false;           // divided over ep: its gradient is reduced over dp / ep
  bool trained = true;           // false: frozen, without gradient and optimizer state
  std::uint32_t used_at = 0;     // first forward kernel of the segment that reads it
  std::uint32_t ready_at = 0;    // backward kernel of the segment after which its gradient is complete
};

enum class SegmentRole : std::uint8_t { before, layer, after };  // embedding side, a repeated layer, head and loss side

/// A stretch of the model that is scheduled as one: what comes before the layers, one layer, what comes after them.
/// Kernels of one micro-batch on one tensor-parallel rank, in launch order, tensor-parallel collectives among them.
/// Kernel::inputs are indices within the same list (forward, recompute or backward); kernels of other lists and other
/// segments are left out. A collective overlaps the kernels between it and its first reader.
struct ModelSegment {
  std::string name;              // "before", "layer", "after", or the module path where layers differ
  SegmentRole role = SegmentRole::layer;
  std::vector<compile::Kernel> forward;
  std::vector<compile::Kernel> recompute;   // forward kernels run again before the backward pass; empty without recompute
  std::vector<compile::Kernel> backward;
  std::vector<ParameterShard> parameters;
  std::vector<ParameterShard> shared_parameters;  // parameters of an earlier segment that this one reads too (a tied
                                 // head); a pipeline stage without that segment holds a copy of its own
  std::vector<bool> weight_only; // by backward kernel: only parameter gradients depend on it, so that a zero-bubble schedule may
                                 // run it later; empty: none
  Bytes held;                    // what those kernels read of activations and of other kernels' results
  Bytes boundary;                // activation handed to the next segment (its gradient has the same size)
  Bytes saved;                   // activations kept from forward to backward, allocator rounding excluded
  Bytes forward_peak;            // transient bytes above `saved` while the forward kernels run
  Bytes backward_peak;           // transient bytes above `saved` while recompute and backward run: all of `saved` is
                                 // there when they start, none when they end; parameter gradients are not in it
};

/// The model cut into segments; equal layers share one entry.
struct SegmentedModel {
  std::vector<ModelSegment> segments;       // distinct ones
  std::vector<std::uint32_t> order;         // segment index of each position: before, layers..., after
  std::vector<std::uint32_t> kept_order;    // the same without recomputation, for plans that recompute some layers only; else empty
  std::vector<std::string> modules;         // table of the kernels' ModuleIds
  Flops model_flops;                        // of one micro-batch, forward and backward, before tensor-parallel division, recomputation excluded
  Flops above_diagonal_flops;               // of them: above the diagonal of attention under an explicit mask or unfused (segment/model_flops.h)
  std::vector<plan::Note> notes;            // vocabulary padding and the like
  Diagnostics diagnostics;
};

/// Shards by tensor parallelism (with or without sequence parallelism), context and expert parallelism, applies recomputation,
/// autocasts, fuses, and cuts into segments. With Stack::compile_layers_only what stands before and after the layers has
/// eager kernels. Depends on tp, cp, ep, sequence_parallel, recompute (and whether recompute_layers is 0) and `fuses_across_layers` of the plan, and on
/// execution, autocast, compute_dtype, compile_layers_only and the tensor_parallel_* and context_parallel_* fields of the training: callers cache
/// it across plans. Kernel::nodes, reads and saved are empty in the result (the graph they index is not kept);
/// Kernel::inputs index the list that the kernel stands in.
[[nodiscard]] SegmentedModel segment_model(const graph::OperatorGraph& graph, const plan::ModelShape& model,
                                           const plan::Plan& plan, const Training& training);

/// The model of a plan that recomputes some layers only, of the models that recompute all and none of them. Distinct segments of both;
/// partition() takes the first Plan::recompute_layers layers of each chunk from `order`, the others from `kept_order`.
[[nodiscard]] SegmentedModel with_kept_layers(SegmentedModel recomputed, const SegmentedModel& kept);

/// Rules that the graph decides: context parallelism needs fused attention and a sequence of two equal chunks a rank. Callers
/// of segment_model() ask first, after plan::check_plan.
[[nodiscard]] std::vector<plan::Violation> graph_violations(const graph::OperatorGraph& graph, const plan::Plan& plan);

/// Whether kernels may cover operators of two layers: when the model is compiled as a whole. FSDP compiles each layer
/// apart (its hooks break the graph between layers), so does Stack::compile_layers_only; eager fuses nothing.
[[nodiscard]] bool fuses_across_layers(const plan::Plan& plan, const Training& training);

}  // namespace sgsim::lower

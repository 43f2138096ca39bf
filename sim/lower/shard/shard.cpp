#include "sim/lower/shard/shard.h"

#include <fmt/format.h>

#include "sim/compile/pipeline.h"
#include "sim/core/error.h"
#include "sim/core/units_text.h"
#include "sim/lower/shard/overlap.h"
#include "sim/lower/shard/placement.h"
#include "sim/lower/shard/propagate.h"
#include "sim/lower/shard/rewrite.h"

namespace sgsim::lower::shard {
namespace {

using graph::NodeKind;
using graph::OperatorGraph;

/// Rows of the embedding table: the model's vocabulary where it is known, else those of the first table that is looked up
/// with ids of the batch.
std::int64_t vocabulary_rows(const OperatorGraph& graph, const plan::ModelShape& model) {
  std::int64_t first = 0;
  for (const graph::Node& node : graph.nodes) {
    if (node.target != "aten.embedding.default") continue;
    const auto* table = std::get_if<graph::ValueRef>(&node.args.at(0).value);
    if (table == nullptr) continue;
    const std::int64_t rows = graph.type(*table).shape.at(0);
    if (rows == model.vocab) return rows;
    if (first == 0) first = rows;
  }
  return model.vocab == 0 ? first : model.vocab;
}

Mesh mesh_of(const OperatorGraph& graph, const plan::ModelShape& model, const Options& options) {
  constexpr std::int64_t kRows = 128;  // Megatron-LM, --make-vocab-size-divisible-by, default
  Mesh mesh;
  mesh.tp = options.tp;
  mesh.sequence_parallel = options.sequence_parallel;
  mesh.reduce_each_product = options.reduce_each_product;
  mesh.batch = graph.micro_batch;
  mesh.sequence = graph.sequence;
  const std::int64_t rows = vocabulary_rows(graph, model);
  if (options.vocabulary_parallel) {
    const std::int64_t multiple = kRows * options.tp;
    mesh.vocabulary = rows;
    mesh.padded_vocabulary = (rows + multiple - 1) / multiple * multiple;
  } else {
    mesh.whole_columns = rows;
  }
  if (options.sequence_parallel && (mesh.sequence == 0 || mesh.sequence % options.tp != 0)) {
    throw InputError({.file = graph.name, .where = "sequence", .found = std::to_string(mesh.sequence) + " tokens",
                      .expected = "a sequence that tensor parallel " + std::to_string(options.tp) + " divides",
                      .hint = "switch sequence parallel off or change the sequence length"});
  }
  return mesh;
}

void note_padding(const OperatorGraph& graph, const Mesh& mesh, const Plan& plan, std::vector<plan::Note>& notes) {
  if (mesh.vocabulary == mesh.padded_vocabulary || mesh.vocabulary == 0) return;
  std::int64_t tables = 0, elements = 0;
  const std::int64_t rows = mesh.padded_vocabulary - mesh.vocabulary;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind != NodeKind::parameter || !plan.choices.weights.of(NodeId{i}).vocabulary) continue;
    ++tables;
    elements += graph.nodes[i].outputs[0].elements() / mesh.vocabulary * rows;
  }
  if (tables == 0) return;
  notes.push_back({"vocabulary_padding",
                   fmt::format("vocabulary {} padded to {}, a multiple of 128 x tensor parallel {}: {} rows more in {} tables, {} parameters "
                               "over all ranks, {:.2f} % more work in embedding and head",
                               mesh.vocabulary, mesh.padded_vocabulary, mesh.tp, rows, tables, elements,
                               100.0 * static_cast<double>(rows) / static_cast<double>(mesh.vocabulary))});
}

}  // namespace

Sharded shard_tensor_parallel(const OperatorGraph& graph, const plan::ModelShape& model, const Options& options) {
  SGSIM_CHECK(options.tp > 1, "tensor parallel " + std::to_string(options.tp));
  const Mesh mesh = mesh_of(graph, model, options);
  const Plan plan = propagate(graph, mesh);
  Sharded result;
  result.graph = compile::remove_dead_nodes(Rewriter(graph, mesh, plan).run());
  if (options.overlap_weight_gradients) result.graph = overlap_weight_gradients(result.graph);
  note_padding(graph, mesh, plan, result.notes);
  for (const std::string& product : plan.kept_whole) {
    result.diagnostics.add("lower.shard.kept_whole", Severity::info, product);
  }
  // Sources keep their order through both passes.
  std::vector<bool> divided;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind == NodeKind::parameter) divided.push_back(plan.choices.weights.of(NodeId{i}).sharded());
  }
  std::size_t next = 0;
  for (const graph::Node& node : result.graph.nodes) {
    result.tensor_sharded.push_back(node.kind == NodeKind::parameter && divided.at(next++));
  }
  return result;
}

}  // namespace sgsim::lower::shard

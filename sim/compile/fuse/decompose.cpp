#include "sim/compile/fuse/decompose.h"

#include <algorithm>
#include <string_view>

#include "sim/compile/arithmetic.h"
#include "sim/compile/fuse/program_builder.h"
#include "sim/graph/tensor_type.h"

namespace sgsim::compile::fuse {

using graph::DType;
using graph::Node;
using graph::NodeKind;
using graph::OperatorClass;
using graph::ValueRef;

namespace {

class Decomposer {
 public:
  Decomposer(const graph::OperatorGraph& graph, const OperatorTable& operators, const ValueTable& table, Diagnostics& diagnostics)
      : graph_(graph), operators_(operators), builder_(graph, table, operators), diagnostics_(diagnostics) {}

  ProgramBuilder& builder() { return builder_; }

  void add(NodeId id, std::uint32_t piece) {
    builder_.begin(id, piece);
    const Node& node = graph_.node(id);
    if (node.kind != NodeKind::call) {
      builder_.source(node.kind);
      return;
    }
    info_ = &operators_.of(id);
    if (info_->external) {
      builder_.whole(OpKind::external, builder_.operands());
      return;
    }
    if (info_->in_place) {
      in_place();
      return;
    }
    call(node, info_->operator_class);
  }

 private:
  void call(const Node& node, OperatorClass operator_class) {
    switch (operator_class) {
      case OperatorClass::view: view(); return;
      case OperatorClass::pointwise:
      case OperatorClass::copy: pointwise(operation_count(info_->name)); return;
      case OperatorClass::factory: factory(); return;
      case OperatorClass::reduction: reduction(); return;
      case OperatorClass::random: random(); return;
      case OperatorClass::index: index(); return;
      case OperatorClass::pool: rearrange(4); return;
      case OperatorClass::embedding: embedding(); return;
      case OperatorClass::collective: builder_.whole(OpKind::communication, builder_.operands()); return;
      case OperatorClass::norm:
        if (decompose_norm(builder_)) return;
        break;
      case OperatorClass::softmax:
      case OperatorClass::loss:
        if (decompose_softmax_or_loss(builder_)) return;
        break;
      default: break;
    }
    diagnostics_.add("compile.unknown_operator", Severity::warning,
                     node.target + " (" + node.name + ") is priced by its bytes and fuses with nothing");
    builder_.whole(OpKind::opaque, builder_.operands());
  }

  [[nodiscard]] const graph::TensorType& result() const { return builder_.node().outputs.at(0); }

  void pointwise(int arithmetic) {
    builder_.bind(0, builder_.add(OpKind::pointwise, builder_.operands(), shape_of(result()), result().dtype, arithmetic));
    builder_.last().flops = static_cast<float>(flops_of(info_->name));
  }

  /// Writes into its first operand: a pointwise result that must reach memory.
  void in_place() {
    pointwise(1);
    builder_.program().values.back().must_write = true;
    builder_.last().recomputable = false;
  }

  void factory() {
    const Node& node = builder_.node();
    const std::string_view name = info_->name;
    // Autograd fills the gradient of the loss and of results that nothing differentiates, outside the compiled graph.
    const bool tangent = node.phase == graph::Phase::backward && (name == "ones_like" || name == "zeros_like") &&
                         graph_.node(first_input(node).node).phase == graph::Phase::forward;
    const std::uint32_t value = builder_.add(OpKind::constant, {}, shape_of(result()), result().dtype, 1);
    builder_.last().tangent = tangent;
    builder_.bind(0, value);
  }

  void random() {
    const Dims shape = shape_of(result());
    if (info_->name != "native_dropout") {
      builder_.bind(0, builder_.add(OpKind::pointwise, {}, shape, result().dtype, 8));
      mark_random();
      return;
    }
    const std::uint32_t mask = builder_.add(OpKind::pointwise, {}, shape, DType::bool_, 8);  // Philox and a comparison
    mark_random();
    builder_.bind(1, mask);
    builder_.bind(0, builder_.pointwise({builder_.operand(0), mask}, shape, result().dtype, 2));
  }

  void mark_random() {
    builder_.last().random = true;
    builder_.last().recomputable = false;
  }

  void view() {
    const Node& node = builder_.node();
    const std::uint32_t source = builder_.operands().at(0);
    const std::string_view name = info_->name;
    for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
      if (graph::is_absent(node.outputs[output]) && node.outputs.size() > 1) continue;
      const std::uint32_t value = builder_.add(OpKind::view, {source}, shape_of(node.outputs[output]), node.outputs[output].dtype, 0);
      builder_.last().view = describe(name, builder_.value(source).shape, shape_of(node.outputs[output]), output);
      builder_.bind(output, value);
    }
  }

  [[nodiscard]] View describe(std::string_view name, const Dims& from, const Dims& to, std::uint32_t output) const {
    const graph::Arguments arguments = builder_.arguments();
    View view;
    if (name == "t" || name == "transpose" || name == "numpy_T") {
      view.kind = ViewKind::permute;
      for (std::uint32_t d = 0; d < from.rank; ++d) view.permutation.push_back(d);
      if (from.rank >= 2) {
        const std::uint32_t a = wrapped(arguments.integer_or(1, -2), from.rank), b = wrapped(arguments.integer_or(2, -1), from.rank);
        std::swap(view.permutation[a], view.permutation[b]);
      }
    } else if (name == "permute") {
      view.kind = ViewKind::permute;
      for (const std::int64_t d : arguments.integers(1).value_or(std::vector<std::int64_t>{})) view.permutation.push_back(wrapped(d, from.rank));
      if (view.permutation.rank != from.rank) view.kind = ViewKind::reshape;
    } else if (name == "expand") {
      view.kind = ViewKind::expand;
    } else if (name == "slice") {
      view.kind = ViewKind::slice;
      view.dimension = wrapped(arguments.integer_or(1, 0), from.rank);
      view.start = clamped(arguments.integer_or(2, 0), from[view.dimension]);
      view.step = arguments.integer_or(4, 1);
    } else if (name == "select" || name == "unbind") {
      view.kind = ViewKind::slice;
      view.dimension = wrapped(arguments.integer_or(1, 0), from.rank);
      view.start = name == "unbind" ? output : clamped(arguments.integer_or(2, 0), from[view.dimension]);
      view.drops_dimension = true;
    } else if (name == "split" || name == "split_with_sizes" || name == "chunk") {
      view.kind = ViewKind::slice;
      view.dimension = wrapped(arguments.integer_or(2, 0), from.rank);
      for (std::uint32_t i = 0; i < output; ++i) view.start += builder_.node().outputs[i].shape.at(view.dimension);
    } else if (!(from == to)) {
      view.kind = ViewKind::reshape;
    }
    return view;
  }

  static std::uint32_t wrapped(std::int64_t d, std::uint32_t rank) {
    const std::int64_t positive = d < 0 ? d + rank : d;
    return positive >= 0 && positive < rank ? static_cast<std::uint32_t>(positive) : 0;
  }
  static std::int64_t clamped(std::int64_t start, std::int64_t size) {
    return std::clamp<std::int64_t>(start < 0 ? start + size : start, 0, size);
  }

  void reduction() {
    const Node& node = builder_.node();
    const std::string_view name = info_->name;
    const std::uint32_t source = builder_.operands().at(0);
    const std::uint32_t rank = builder_.value(source).shape.rank;
    const graph::Arguments arguments = builder_.arguments();
    if (name == "cumsum" || name == "cumprod" || name == "logcumsumexp") {
      const std::uint32_t value = builder_.add(OpKind::scan, {source}, shape_of(result()), result().dtype, 1);
      builder_.last().reduced = mask_of({arguments.integer_or(1, 0)}, rank);
      builder_.bind(0, value);
      return;
    }
    const bool whole = node.args.size() < 2 || name == "linalg_vector_norm";
    const auto dimensions = whole ? std::vector<std::int64_t>{} : arguments.integers(1).value_or(std::vector<std::int64_t>{});
    const auto results = static_cast<int>(node.outputs.size());
    const std::uint32_t first = builder_.reduce({source}, mask_of(dimensions, rank), result().dtype, results);
    for (std::uint32_t i = 0; i < node.outputs.size(); ++i) bind_reshaped(i, first + i);
  }

  /// Binds an output to a value of as many elements, through a view where the shapes differ (reductions that drop dimensions).
  void bind_reshaped(std::uint32_t output, std::uint32_t value) {
    const Dims shape = shape_of(builder_.node().outputs[output]);
    if (!(builder_.value(value).shape == shape)) {
      value = builder_.add(OpKind::view, {value}, shape, builder_.value(value).dtype, 0);
      builder_.last().view.kind = ViewKind::reshape;
    }
    builder_.bind(output, value);
  }

  void rearrange(int arithmetic) {
    const Node& node = builder_.node();
    for (std::uint32_t output = 0; output < node.outputs.size(); ++output) {
      if (graph::is_absent(node.outputs[output])) continue;
      builder_.bind(output, builder_.add(OpKind::rearrange, builder_.repeated_operands(), shape_of(node.outputs[output]), node.outputs[output].dtype, std::max(arithmetic, operation_count(info_->name))));
      if (info_->operator_class == OperatorClass::pool && output == 0) builder_.last().flops = static_cast<float>(flops_of(info_->name));
      builder_.last().recomputable = info_->name == "cat";
      builder_.last().view = placement();
    }
  }

  /// Where operands stand in the result of a rearrangement that puts them side by side along one dimension; an alias for others.
  [[nodiscard]] View placement() const {
    const graph::Arguments arguments = builder_.arguments();
    const std::string_view name = info_->name;
    const auto rank = static_cast<std::uint32_t>(result().shape.size());
    View view;
    if (name == "cat" && rank > 0) {
      view.kind = ViewKind::slice;
      view.dimension = wrapped(arguments.integer_or(1, 0), rank);
    } else if (name == "slice_backward") {
      view.kind = ViewKind::slice;
      view.dimension = wrapped(arguments.integer_or(2, 0), rank);
      view.start = clamped(arguments.integer_or(3, 0), result().shape.at(view.dimension));
    } else if (name == "constant_pad_nd") {
      const auto pads = arguments.integers(1).value_or(std::vector<std::int64_t>{});
      if (pads.size() != 2) return view;
      view.kind = ViewKind::slice;
      view.dimension = rank - 1;
      view.start = pads[0];
    }
    return view;
  }

  void index() {
    const std::string_view name = info_->name;
    if (name == "index" || name == "_unsafe_index" || name == "gather" || name == "index_select") {
      builder_.bind(0, builder_.add(OpKind::gather, builder_.operands(), shape_of(result()), result().dtype, 2));
    } else if (name == "one_hot") {
      rearrange(1);
    } else if (name == "index_put" || name == "_unsafe_index_put" || name == "index_add" || name == "scatter" || name == "scatter_add") {
      const std::vector<std::uint32_t> all = builder_.operands();
      scatter(builder_.pointwise({all.at(0)}, builder_.value(all[0]).shape, builder_.value(all[0]).dtype, 1), all);
    } else {
      rearrange(2);
    }
  }

  /// `all`: what is written over, then values and places as the operator has them.
  void scatter(std::uint32_t target, std::vector<std::uint32_t> all) {
    all[0] = target;
    if (all.size() > 2) std::swap(all[1], all.back());  // the values that are written come second
    builder_.bind(0, builder_.add(OpKind::scatter, all, shape_of(result()), result().dtype, 1));
  }

  void embedding() {
    if (info_->name == "embedding") {
      const std::uint32_t value = builder_.add(OpKind::gather, builder_.operands(), shape_of(result()), result().dtype, 2);
      builder_.last().recomputable = false;
      builder_.bind(0, value);
      return;
    }
    const std::uint32_t zeros = builder_.add(OpKind::constant, {}, shape_of(result()), result().dtype, 1);
    std::vector<std::uint32_t> all{zeros};
    for (const std::uint32_t v : builder_.operands()) all.push_back(v);
    builder_.bind(0, builder_.add(OpKind::scatter, all, shape_of(result()), result().dtype, 2));
  }

  const graph::OperatorGraph& graph_;
  const OperatorTable& operators_;
  const OperatorInfo* info_ = nullptr;  // of the node at hand
  ProgramBuilder builder_;
  Diagnostics& diagnostics_;
};

}  // namespace

Program decompose(const graph::OperatorGraph& graph, const OperatorTable& operators, const ValueTable& table, const BrokenGraph& broken,
                  const std::vector<std::uint32_t>& same_as, const std::vector<char>& live, Diagnostics& diagnostics) {
  Decomposer decomposer(graph, operators, table, diagnostics);
  Program& program = decomposer.builder().program();
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (same_as[i] != i) {
      for (std::uint32_t output = 0; output < graph.nodes[i].outputs.size(); ++output)
        program.value_of[table.index({NodeId{i}, output})] = program.value_of[table.index({NodeId{same_as[i]}, output})];
    } else if (live[i] || graph.nodes[i].kind != NodeKind::call) {
      decomposer.add(NodeId{i}, broken.piece_of[i]);
    }
  }
  auto must_write = [&](ValueRef v) {
    const std::uint32_t value = program.value_of[table.index(v)];
    if (value != kNone) program.values[value].must_write = true;
  };
  for (const ValueRef& v : graph.outputs) must_write(v);
  for (const auto& [parameter, gradient] : graph.gradients) must_write(gradient);
  return std::move(program);
}

}  // namespace sgsim::compile::fuse

#include "sim/compile/fuse/loops.h"

#include <algorithm>

#include "sim/compile/fuse/nest_builder.h"
#include "sim/compile/fuse/reduction_split.h"

namespace sgsim::compile::fuse {

namespace {

// torch/_inductor/config.py: realize_reads_threshold, realize_acc_reads_threshold, realize_opcount_threshold,
// unroll_reductions_threshold.
constexpr std::uint32_t kReadsOfSharedValue = 4, kReadsOfAnyValue = 8;
constexpr std::uint32_t kOperations = 30;
constexpr std::int64_t kWrittenOutReduction = 8;

/// Lowers the operators of one pass of one piece after the other.
class Lowering {
 public:
  Lowering(const Program& program, const Users& users, const Partition& partition, const LoopOptions& options)
      : program_(program), users_(users), partition_(partition), options_(options), nests_(program, result_) {}

  LoopProgram run() {
    boxes_.resize(program_.values.size());
    find_bases();
    std::uint32_t pieces = 1;
    for (const Op& op : program_.ops) pieces = std::max<std::uint32_t>(pieces, op.piece + 1U);
    for (std::uint32_t piece = 0; piece < pieces; ++piece) lower_pass(piece, false);
    forget_unsaved();
    for (std::uint32_t piece = pieces; piece-- > 0;) lower_pass(piece, true);
    return std::move(result_);
  }

 private:
  /// What a value is while a pass is lowered: memory, or an expression over memory.
  struct Box {
    enum class State : std::uint8_t { none, expression, memory } state = State::none;
    std::uint32_t buffer = 0;
    Expression expression;
  };

  /// The value that a chain of views starts from.
  void find_bases() {
    base_.resize(program_.values.size());
    leaves_.assign(program_.values.size(), 0);
    for (std::uint32_t v = 0; v < program_.values.size(); ++v) base_[v] = is_view(v) ? base_[viewed(v)] : v;
    for (std::uint32_t v = 0; v < program_.values.size(); ++v) {
      const Value& value = program_.values[v];
      if (value.op == kNone) continue;
      if (value.must_write || partition_.saved[v]) leaves_[base_[v]] = 1;
      for (const std::uint32_t u : users_.of(v)) {  // handed to another piece of the same pass
        if (program_.ops[u].piece != program_.ops[program_.values[base_[v]].op == kNone ? value.op : program_.values[base_[v]].op].piece) leaves_[base_[v]] = 1;
      }
    }
  }

  [[nodiscard]] bool is_view(std::uint32_t v) const {
    return program_.values[v].op != kNone && program_.ops[program_.values[v].op].kind == OpKind::view;
  }
  [[nodiscard]] std::uint32_t viewed(std::uint32_t v) const { return program_.inputs(program_.ops[program_.values[v].op])[0]; }

  /// The backward pass sees what the forward pass saved as memory, and everything else as not yet computed.
  void forget_unsaved() {
    for (std::uint32_t v = 0; v < boxes_.size(); ++v) {
      const bool kept = boxes_[v].state == Box::State::memory && leaves_[v];
      if (!kept) boxes_[v] = {};
    }
  }

  void lower_pass(std::uint32_t piece, bool backward) {
    backward_ = backward;
    const std::vector<char>& runs = backward ? partition_.backward : partition_.forward;
    nests_.start(piece, backward);
    for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      if (!runs[i] || op.piece != piece || (backward && is_kept(op))) continue;
      lower(i);
      for (std::uint32_t r = 0; r < op.outputs; ++r) settle(op.first_output + r);
    }
  }

  /// A recomputed operator whose results are all in memory is not run.
  [[nodiscard]] bool is_kept(const Op& op) const {
    if (op.kind == OpKind::view) return false;
    for (std::uint32_t r = 0; r < op.outputs; ++r) {
      if (boxes_[op.first_output + r].state != Box::State::memory) return false;
    }
    return true;
  }

  void lower(std::uint32_t i) {
    const Op& op = program_.ops[i];
    const std::uint32_t result = op.first_output;
    if (op.tangent) return fixed(i);
    switch (op.kind) {
      case OpKind::view: return;
      case OpKind::constant: return define(result, {.reads = {}, .uses = {{i, 1}}});
      case OpKind::pointwise: return define(result, combined(i));
      case OpKind::rearrange: return define(result, rearranged(i));
      case OpKind::gather: return define(result, gathered(i));
      case OpKind::reduction: return reduce(i);
      case OpKind::scan: return scan(i);
      case OpKind::scatter: return scatter(i);
      default: return fixed(i);
    }
  }

  void define(std::uint32_t v, Expression expression) {
    boxes_[v].state = Box::State::expression;
    boxes_[v].expression = std::move(expression);
  }

  void remember(std::uint32_t v, std::uint32_t buffer) {
    boxes_[v] = {};
    boxes_[v].state = Box::State::memory;
    boxes_[v].buffer = buffer;
  }

  /// The expression that computes a value, over its own shape.
  /// Valid until the next load.
  Expression& load(std::uint32_t v) {
    if (is_view(v)) {
      const std::uint32_t from = viewed(v);
      Expression& expression = load(from);
      const std::uint32_t i = program_.values[v].op;
      for (Read& read : expression.reads)
        read = through_view(read, program_.ops[i].view, program_.values[from].shape, program_.values[v].shape);
      expression.use(i);
      return expression;
    }
    const Box& box = boxes_[v];
    if (box.state == Box::State::expression) {
      loaded_ = box.expression;
      return loaded_;
    }
    Read read;
    read.buffer = buffer_of(v);
    read.strides = program_.values[v].storage;
    loaded_.reads.assign(1, read);
    loaded_.uses.clear();
    return loaded_;
  }

  /// The buffer of a value in memory; parameters and inputs get theirs when they are first read.
  std::uint32_t buffer_of(std::uint32_t v) {
    Box& box = boxes_[v];
    if (box.state != Box::State::memory) {
      const std::uint32_t buffer = nests_.add_buffer(v);
      result_.buffers[buffer].given = program_.values[v].op == kNone;
      remember(v, buffer);
    }
    return box.buffer;
  }

  [[nodiscard]] Expression combined(std::uint32_t i) {
    const Op& op = program_.ops[i];
    const Dims& shape = program_.values[op.first_output].shape;
    Expression result;
    for (const std::uint32_t v : program_.inputs(op)) {
      Expression& part = load(v);
      for (Read& read : part.reads) read = broadcast(read, program_.values[v].shape, shape);
      result.absorb(part);
    }
    result.use(i);
    return result;
  }

  [[nodiscard]] Expression rearranged(std::uint32_t i) {
    constexpr std::uint32_t kWindow = 9;  // loads an element of a 3 x 3 pooling window
    const Op& op = program_.ops[i];
    const bool window = !op.recomputable && op.arithmetic == 4, side_by_side = op.view.kind == ViewKind::slice;
    std::int64_t start = op.view.start;
    const Dims& shape = program_.values[op.first_output].shape;
    Expression result;
    std::uint64_t position = 0;
    for (const std::uint32_t v : program_.inputs(op)) {
      if (window) write(base_[v]);
      Expression& part = load(v);
      const double elements = static_cast<double>(program_.values[v].elements());
      for (Read& read : part.reads) {
        if (side_by_side && read.place == 0) {
          read = placed(read, op.view.dimension, start, elements);
          continue;
        }
        read = elsewhere(read, mix(i, position), std::min(elements, result_.buffers[read.buffer].elements), shape.rank);
        if (window) read.times = kWindow;
      }
      result.absorb(part, side_by_side ? i : kNone);
      ++position;
      if (side_by_side) start += program_.values[v].shape[op.view.dimension];
    }
    result.use(i);
    return result;
  }

  [[nodiscard]] Expression gathered(std::uint32_t i) {
    const Op& op = program_.ops[i];
    const Value& out = program_.values[op.first_output];
    Expression result;
    const auto inputs = program_.inputs(op);
    for (std::size_t n = 0; n < inputs.size(); ++n) {
      const std::uint32_t v = inputs[n];
      Expression& part = load(v);
      const Dims& from = program_.values[v].shape;
      for (Read& read : part.reads) {
        if (n == 0) {
          read = elsewhere(read, i, std::min(static_cast<double>(out.elements()), result_.buffers[read.buffer].elements), out.shape.rank);
        } else if (from.rank < out.shape.rank) {  // an index for each row: loops beyond its dimensions do not move it
          Dims strides = read.strides;
          for (std::uint32_t d = from.rank; d < out.shape.rank; ++d) strides[d] = 0;
          strides.rank = out.shape.rank;
          read.strides = strides;
        } else {
          read = broadcast(read, from, out.shape);
        }
      }
      result.absorb(part);
    }
    result.use(i);
    return result;
  }

  /// The expression that a reduction sums, over the operand's shape.
  [[nodiscard]] Expression summed(std::uint32_t i, const Dims& shape) {
    Expression result;
    for (const std::uint32_t v : program_.inputs(program_.ops[i])) {
      Expression& part = load(v);
      for (Read& read : part.reads) read = broadcast(read, program_.values[v].shape, shape);
      result.absorb(part);
    }
    result.use(i);
    return result;
  }

  void reduce(std::uint32_t i) {
    const Op& op = program_.ops[i];
    const std::uint32_t operand = program_.inputs(op)[0];
    const Dims& shape = program_.values[operand].shape;
    Expression expression = summed(i, shape);
    const std::int64_t kept = program_.values[op.first_output].elements();
    const std::int64_t length = shape.product() / std::max<std::int64_t>(kept, 1);
    if (length < kWrittenOutReduction && kept > 1 && !op.online) {  // written out as so many loads
      for (Read& read : expression.reads) {
        const double all = read.place != 0 ? read.touched : static_cast<double>(shape.product());
        read = elsewhere(read, mix(op.reduced, i), std::min(all, result_.buffers[read.buffer].elements), program_.values[op.first_output].shape.rank);
        read.times *= static_cast<std::uint32_t>(std::max<std::int64_t>(length, 1));
      }
      Expression written_out{.reads = std::move(expression.reads), .uses = {}};
      for (const OpUse& u : expression.uses) written_out.use(u.op, u.times * static_cast<std::uint32_t>(std::max<std::int64_t>(length, 1)), u.behind);
      return define(op.first_output, std::move(written_out));
    }
    const auto first = nests_.reduction(i, expression, shape, program_.values[operand].storage, options_.split_reductions);
    for (std::uint32_t r = 0; r < op.outputs; ++r) remember(op.first_output + r, first + r);
  }

  void scan(std::uint32_t i) {
    const Op& op = program_.ops[i];
    const Dims& shape = program_.values[op.first_output].shape;
    remember(op.first_output, nests_.scan(i, summed(i, shape)));
  }

  void scatter(std::uint32_t i) {
    const Op& op = program_.ops[i];
    const auto inputs = program_.inputs(op);
    write(base_[inputs[0]]);
    const Dims& shape = program_.values[inputs[1]].shape;
    Expression expression;
    for (std::size_t n = 1; n < inputs.size(); ++n) {
      Expression& part = load(inputs[n]);
      const Dims& from = program_.values[inputs[n]].shape;
      for (Read& read : part.reads) {
        if (from.rank < shape.rank) {
          for (std::uint32_t d = from.rank; d < shape.rank; ++d) read.strides[d] = 0;
          read.strides.rank = shape.rank;
        } else if (!(from == shape)) {
          read = elsewhere(read, i, static_cast<double>(program_.values[inputs[n]].elements()), shape.rank);
        }
      }
      expression.absorb(part);
    }
    expression.use(i);
    remember(op.first_output, nests_.scatter(i, expression, inputs[1], buffer_of(base_[inputs[0]])));
  }

  /// A library kernel or collective: operands in memory, results in memory.
  void fixed(std::uint32_t i) {
    const Op& op = program_.ops[i];
    std::vector<std::uint32_t> read;
    for (const std::uint32_t v : program_.inputs(op)) {
      write(base_[v]);
      const Expression& expression = load(v);
      if (expression.reads.size() == 1 && expression.reads[0].place != 0) {  // no strides: the library needs a copy
        read.push_back(nests_.pointwise(expression, v, program_.values[v].storage));
      } else {
        read.push_back(buffer_of(base_[v]));
      }
    }
    const std::uint32_t first = nests_.fixed(i, read);
    for (std::uint32_t r = 0; r < op.outputs; ++r) remember(op.first_output + r, first + r);
  }

  /// Makes sure that a value (no view) is in memory.
  void write(std::uint32_t v) {
    Box& box = boxes_[v];
    if (box.state != Box::State::expression) {
      buffer_of(v);
      return;
    }
    const std::uint32_t buffer = nests_.pointwise(box.expression, v, program_.values[v].storage);
    remember(v, buffer);
  }

  /// After an operator: decides whether its result is written now or computed inside its readers.
  void settle(std::uint32_t v) {
    const std::uint32_t base = base_[v];
    Box& box = boxes_[base];
    if (leaves_[base] && leaves_here(base) && box.state == Box::State::expression) write(base);
    if (box.state == Box::State::memory && leaves_here(base)) result_.buffers[box.buffer].leaves = result_.buffers[box.buffer].leaves || leaves_[base];
    if (box.state != Box::State::expression) return;
    if (!options_.inline_values) return write(base);
    std::size_t uses = 0;
    bool read_by_library = false;
    std::uint32_t previous = kNone;
    for (const std::uint32_t u : users_.of(v)) {
      if (u == previous) continue;  // reads it twice
      previous = u;
      if (!(backward_ ? partition_.backward : partition_.forward)[u]) continue;
      ++uses;
      const OpKind kind = program_.ops[u].kind;
      read_by_library = read_by_library || kind == OpKind::external || kind == OpKind::communication || kind == OpKind::opaque;
    }
    const std::uint32_t reads = box.expression.loads();
    const bool large = box.expression.operations(program_) > kOperations;
    if (uses > 1 && read_by_library && reads > 1) return write(base);
    if (uses > 1 && (reads > kReadsOfSharedValue || large)) return write(base);
    if (reads > kReadsOfAnyValue || (large && reads > 1)) write(base);
  }

  /// Results and saved values are written by the forward pass; a backward pass that recomputes them does not write them.
  [[nodiscard]] bool leaves_here(std::uint32_t v) const {
    if (program_.values[v].op == kNone) return false;  // a view of a parameter or an input
    const Op& op = program_.ops[program_.values[v].op];
    return !backward_ || op.phase != graph::Phase::forward || !partition_.forward[program_.values[v].op];
  }

  const Program& program_;
  const Users& users_;
  const Partition& partition_;
  const LoopOptions& options_;
  LoopProgram result_;
  NestBuilder nests_;
  std::vector<Box> boxes_;               // by value
  std::vector<std::uint32_t> base_;      // by value
  std::vector<char> leaves_;             // by base value: written for someone outside its piece and pass
  Expression loaded_;                    // scratch of load
  bool backward_ = false;
};

}  // namespace

LoopProgram build_loops(const Program& program, const Users& users, const Partition& partition, const LoopOptions& options) {
  return Lowering(program, users, partition, options).run();
}

}  // namespace sgsim::compile::fuse

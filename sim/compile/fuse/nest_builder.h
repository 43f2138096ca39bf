#pragma once

#include <cstdint>
#include <vector>

#include "sim/compile/fuse/loops.h"

namespace sgsim::compile::fuse {

/// An elementary operator inside an expression, `times` an element. `behind` names the rearrangement (cat, slice_backward) at
/// whose places it is evaluated: apart from its other uses, and not counted by Inductor; kNone where there is none.
struct OpUse {
  std::uint32_t op = 0, times = 1, behind = kNone;
};

/// What computes one element of a value.
struct Expression {
  std::vector<Read> reads;
  std::vector<OpUse> uses;

  /// Takes in an operand's expression, each load and each operator once.
  void absorb(const Expression& o, std::uint32_t behind = kNone);
  void use(std::uint32_t op, std::uint32_t times = 1, std::uint32_t behind = kNone);
  [[nodiscard]] std::uint32_t loads() const;
  /// Loads and arithmetic an element, masked ones left out.
  [[nodiscard]] std::uint32_t operations(const Program& program) const;
};

/// Appends loop nests and their buffers to a loop program.
class NestBuilder {
 public:
  NestBuilder(const Program& program, LoopProgram& result) : program_(program), result_(result) {}

  /// The nests that follow belong to this piece and pass.
  void start(std::uint32_t piece, bool backward) {
    piece_ = piece;
    backward_ = backward;
  }

  std::uint32_t add_buffer(std::uint32_t value);
  /// Writes a value's expression to memory; returns the buffer.
  std::uint32_t pointwise(const Expression& expression, std::uint32_t value, const Dims& storage);
  /// Reduces an expression over `shape` to the results of op `i`, in two or three nests where it is cut; returns the first
  /// result's buffer. `storage`: strides in whose order the operand lies in memory.
  std::uint32_t reduction(std::uint32_t i, const Expression& expression, const Dims& shape, const Dims& storage, bool may_split);
  std::uint32_t scan(std::uint32_t i, const Expression& expression);
  /// Adds the rows of `values` to `target`; returns the buffer of the result, which is `target`'s memory.
  std::uint32_t scatter(std::uint32_t i, const Expression& expression, std::uint32_t values, std::uint32_t target);
  std::uint32_t fixed(std::uint32_t i, const std::vector<std::uint32_t>& reads);

 private:
  LoopNest& new_nest(LoopKind kind, const Expression& expression);
  std::uint32_t partial_buffer(double elements);
  [[nodiscard]] Dependency dependency(const Read& read, const Dims& shape, const std::vector<std::uint32_t>& order) const;
  std::uint32_t combine_parts(std::uint32_t i, const Expression& expression, std::vector<std::uint32_t> partial, std::int64_t kept,
                              std::int64_t parts, bool outer);
  void write_results(LoopNest& nest, std::uint32_t first, std::uint32_t count);

  const Program& program_;
  LoopProgram& result_;
  std::uint32_t piece_ = 0;
  bool backward_ = false;
};

}  // namespace sgsim::compile::fuse

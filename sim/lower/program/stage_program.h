#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/lower/program/piece.h"

namespace sgsim::lower {

/// Builds one stage's Skeleton: interns names, streams and communications, lays pieces as tasks, resolves tokens.
class StageProgram {
 public:
  explicit StageProgram(std::string name);

  [[nodiscard]] NameId name(std::string_view text);
  [[nodiscard]] const std::string& text(NameId id) const { return skeleton_.program.names[id.value]; }
  [[nodiscard]] std::uint16_t stream(std::string_view text);
  [[nodiscard]] std::uint32_t label(std::string_view text);
  /// Equal communications share an entry.
  [[nodiscard]] std::uint32_t comm(Slot slot, graph::CollectiveOp op, Bytes payload, std::string_view name);
  [[nodiscard]] std::uint32_t add_segment(const Segment& segment);
  [[nodiscard]] std::uint32_t add_kernel(const KernelCost& kernel);  // index in program.kernels
  [[nodiscard]] std::uint32_t add_parts(const std::vector<Part>& parts);  // index of the first in program.parts

  [[nodiscard]] Token new_token() { return Token{next_token_++}; }
  /// Program::kernels entry of a graph kernel; names are interned once for each `kernel`, which must outlive this.
  [[nodiscard]] KernelCost kernel_cost(const compile::Kernel& kernel, const cost::Estimate& estimate, const std::vector<std::string>& modules);

  [[nodiscard]] std::uint32_t add_piece(Piece piece);
  /// Makes room for laying `pieces`.
  void reserve(const std::vector<std::uint32_t>& pieces);
  /// Lays piece `piece` (of add_piece) at the end of the program. A token that nothing has produced yet is not waited for.
  void lay(std::uint32_t piece, std::int32_t micro_batch);

  [[nodiscard]] Skeleton finish() &&;

 private:
  void add_dependency(Dependency dependency, std::uint32_t first);

  Skeleton skeleton_;
  std::vector<Dependency> produced_;       // by token; position 0: not yet
  std::vector<std::uint32_t> positions_;   // tasks laid, by stream
  std::map<std::string, std::uint32_t, std::less<>> names_, labels_;
  std::map<std::pair<CommUse, std::uint32_t>, std::uint32_t> comms_;
  std::unordered_map<const compile::Kernel*, KernelCost> kernel_costs_;
  std::uint32_t next_token_ = 0;
};

}  // namespace sgsim::lower

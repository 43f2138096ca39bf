#pragma once

#include <cstdint>
#include <vector>

#include "sim/compile/fuse/access.h"
#include "sim/compile/fuse/partition.h"
#include "sim/compile/fuse/program.h"

namespace sgsim::compile::fuse {

/// Memory that kernels write and read.
struct Buffer {
  std::uint32_t value = kNone;  // that it holds; kNone for partial results of a reduction that is cut
  double elements = 0.0;
  int element_size = 4;
  bool leaves = false;          // read after its kernels' piece and pass: a result, or saved for the backward pass
  bool given = false;           // no kernel makes it: parameter, buffer or input
  [[nodiscard]] double bytes() const { return elements * element_size; }
};

enum class LoopKind : std::uint8_t { pointwise, reduction, fixed };  // fixed: library kernels, collectives, fills by autograd

/// What becomes one kernel if nothing fuses with it: a loop nest that writes one buffer (or several from one pass).
struct LoopNest {
  LoopKind kind = LoopKind::pointwise;
  std::int64_t kept = 1, reduced = 1;   // loop lengths: results, and elements summed into each
  bool outer = false;                   // the reduced loop is not the contiguous one
  bool scatters = false;                // writes at places that data names
  std::uint32_t op = kNone;             // fixed: the operator
  std::uint32_t piece = 0;
  bool backward = false;
  std::int64_t whole_kept = 0, whole_reduced = 0;  // loops before a reduction was cut into parts; 0 where it was not
  bool combines = false;                // sums the parts of a reduction that was cut
  bool online = false;                  // more than a plain sum
  double flops = 0.0;                   // an element
  std::vector<Dependency> reads, writes;
  std::vector<std::uint32_t> ops;       // elementary operators whose work it does
};

struct LoopProgram {
  std::vector<Buffer> buffers;
  std::vector<LoopNest> nests;          // in an order that runs: forward pieces, then backward pieces
};

struct LoopOptions {
  bool inline_values = true;            // false: every value is written to memory
  bool split_reductions = true;
};

/// Turns each pass of each piece into loop nests as Inductor's lowering does (torch/_inductor/lowering.py, ir.py, graph.py):
/// a pointwise value is computed inside its readers unless a library kernel reads it, it leaves the graph, or it is read
/// more than once and takes more than 4 loads or 30 operations; reductions end a nest.
[[nodiscard]] LoopProgram build_loops(const Program& program, const Users& users, const Partition& partition,
                                      const LoopOptions& options);

}  // namespace sgsim::compile::fuse

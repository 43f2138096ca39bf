#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/compile/fuse/program.h"

namespace sgsim::compile::fuse {

/// How an expression reads a buffer: element index = offset + sum of position[d] * strides[d] over the expression's shape.
/// Where that cannot be written (gathers, concatenations, some reshapes) `place` names the way instead of the strides.
struct Read {
  std::uint32_t buffer = 0;
  std::uint32_t times = 1;      // loads an element of the expression (a small reduction written out, a pooling window)
  bool masked = false;          // behind a mask: an operand of cat, pad, slice_backward
  std::int64_t offset = 0;
  Dims strides;
  std::uint64_t place = 0;      // 0: strides hold
  double touched = 0.0;         // elements of the buffer read, where `place` is set
  double most = 1e300;          // elements of the buffer read at most, where the strides run past an operand (concatenation)

  [[nodiscard]] bool same_as(const Read& o) const {
    return buffer == o.buffer && offset == o.offset && place == o.place && (place != 0 || strides == o.strides);
  }
};

/// The read as seen through a view: positions of `to` instead of positions of `from`.
[[nodiscard]] Read through_view(Read read, const View& view, const Dims& from, const Dims& to);
/// The read of an operand of shape `from` in an expression of shape `to` (broadcast: aligned at the last dimension).
[[nodiscard]] Read broadcast(Read read, const Dims& from, const Dims& to);
/// The read of an operand that fills positions from `start` along `dimension` of a larger result (cat, pad, slice_backward).
[[nodiscard]] Read placed(Read read, std::uint32_t dimension, std::int64_t start, double elements);
/// The read at other places, named by `salt`; touches `elements` of the buffer.
[[nodiscard]] Read elsewhere(Read read, std::uint64_t salt, double elements, std::uint32_t rank);

/// A read or write by a kernel, comparable between kernels: the loop nest reduced to the fewest dimensions, trailing
/// broadcast dimensions left out (as Inductor's MemoryDep.normalize).
struct Dependency {
  std::uint32_t buffer = 0;
  std::uint32_t times = 1;
  std::uint64_t signature = 0;  // equal: the same elements in the same order
  double elements = 0.0;        // of the buffer
  bool whole = false;           // depends on every loop that is longer than 1
  bool contiguous = false;      // one run of neighbouring elements
};

/// One loop of a nest: its length and, for one read, its stride.
struct Loop {
  std::int64_t size = 1, stride = 0;
};
/// Fills in signature, whole and contiguous for a read with these strides in these loops, outermost first.
void describe(Dependency& dependency, std::span<const Loop> loops, std::int64_t offset, std::uint64_t place);

std::uint64_t mix(std::uint64_t a, std::uint64_t b);

}  // namespace sgsim::compile::fuse

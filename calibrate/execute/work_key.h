#pragma once

#include <cstdint>

#include "calibrate/record/key.h"
#include "sim/graph/work.h"

namespace sgsim::calibrate {

/// Thrown for work that the executor has no kernel for.
struct NotExecutable {
  std::string reason;
};

/// The measurement case whose kernel stands for `work` when a program is executed: products and attention of that very shape; a
/// bandwidth-bound kernel by one of ours of its kind that moves as many bytes and whose reads and writes are nearest in proportion,
/// in rows of `row` elements (logits: `vocabulary`), rounded to whole 16-byte accesses.
[[nodiscard]] Key key_of(const graph::Work& work, std::int64_t row, std::int64_t vocabulary);

}  // namespace sgsim::calibrate

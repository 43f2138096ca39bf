#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/import/aot/document.h"

namespace sgsim::import::aot {

/// One compiled region: a forward graph and its backward graph. A model with graph breaks has several, in call order.
struct Segment {
  const RawGraph* forward = nullptr;
  const RawGraph* backward = nullptr;               // none: the region computes nothing that is differentiated
  std::vector<const RawNode*> primals;              // forward placeholders
  std::vector<const RawArgument*> user_outputs;     // what the region returns; what it saves for backward is left out
  std::vector<const RawNode*> tangents;             // backward placeholders for gradients of user outputs
  std::vector<std::optional<std::size_t>> tangent_of;  // user output -> index in `tangents`
  std::vector<const RawArgument*> gradients;        // of the primals, in their order
};

/// Pairs each backward graph with the forward graph whose values it reads. Throws InputError where none or several fit.
[[nodiscard]] std::vector<Segment> pair_segments(const Document& document);

/// True for `getitem`, which takes one result out of several.
[[nodiscard]] bool is_getitem(const RawNode& node);

}  // namespace sgsim::import::aot

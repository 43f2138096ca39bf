#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/import/aot/pairs.h"

namespace sgsim::import::aot {

/// What a forward placeholder is.
struct Primal {
  enum class Kind { parameter, buffer, input, result } kind = Kind::input;
  std::size_t parameter = 0;    // parameter, and a parameter without gradient (buffer): index in Document::params
  bool has_parameter = false;
  std::string source;           // name in the model where the capture tells it
  std::size_t segment = 0, output = 0;  // result: of which earlier region
};

/// For each segment, what each primal is. Newer captures say so; otherwise a parameter is found by the module that reads it,
/// its shape, and the argument position (weight or bias); then by shape and order. A result of an earlier region is found by
/// its type. Throws InputError for a gradient that no parameter or result accounts for.
[[nodiscard]] std::vector<std::vector<Primal>> identify_primals(const Document& document, const std::vector<Segment>& segments);

}  // namespace sgsim::import::aot

#pragma once

#include "sim/graph/graph.h"
#include "sim/import/aot/document.h"

namespace sgsim::import::aot {

/// One training graph of a captured document. Throws InputError where its parts do not fit together.
[[nodiscard]] graph::OperatorGraph join(const Document& document);

}  // namespace sgsim::import::aot

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/import/format.h"

namespace sgsim::import::chakra {

/// Chakra execution traces (MLCommons, ASTRA-sim), protobuf (schemas before and with 0.0.4) and JSON.
[[nodiscard]] Format format();

/// A rank from its file. Nodes of the CPU are host operators, the others device operations; collectives, sends and receives
/// keep type, size and group; dependencies are edges. The rank is the last number of the file's name ("x.3.et"), guessed and
/// counted. Throws InputError for a cycle (a shortest one is named) and for bytes that hold no node.
[[nodiscard]] trace::ImportedRun parse(std::string_view bytes, const std::string& file);

/// CollectiveCommType of et_def.
[[nodiscard]] trace::CommKind kind_of_type(std::int64_t comm_type);

}  // namespace sgsim::import::chakra

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/core/diagnostics.h"
#include "sim/import/kineto/communication.h"

namespace sgsim::import::pytorch_et {

/// A tensor as an execution trace names it: the same pair is the same tensor.
struct TensorRef {
  std::int64_t id = 0, storage = 0;
  auto operator<=>(const TensorRef&) const = default;
};

/// One node, the same for all schemas.
struct Node {
  std::int64_t id = 0, parent = 0, rf_id = 0, tid = 0, sequence = -1;
  std::string name, shapes;                 // shapes: "[[4, 2048], []] [float, Int]"
  std::vector<TensorRef> reads, writes;
  std::optional<kineto::CommFacts> communication;  // of record_param_comms
};

struct ProcessGroup {
  std::string name, description;
  std::vector<std::int32_t> ranks;
  std::uint32_t size = 0;
};

struct Document {
  std::string file, schema;
  std::int64_t pid = -1;
  std::vector<Node> nodes;                  // by id: the order in which they began
  std::vector<ProcessGroup> groups;
};

/// Throws InputError: no such file, a schema that is not known, nodes without id or name. Other flaws are counted.
[[nodiscard]] Document parse_document(std::string_view json, const std::string& file, Diagnostics& report);

}  // namespace sgsim::import::pytorch_et

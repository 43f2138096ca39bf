#pragma once

#include <string>
#include <string_view>

#include "sim/import/format.h"

namespace sgsim::import::fx_text {

/// Graphs of torch.fx printed as Python with type annotations (depyf, TORCH_LOGS=aot_graphs, TORCH_TRACE payloads).
[[nodiscard]] Format format();

/// What a placeholder stands for, where something beside the text knows.
struct Placeholder {
  graph::NodeKind kind = graph::NodeKind::input;
  std::string name;
};

/// One graph in its own right: placeholders, then calls of `phase`. Results without annotation are inferred from their
/// operands. Throws InputError: sizes that are symbols, values used before they are made, results of unknown type.
[[nodiscard]] graph::OperatorGraph parse(std::string_view text, const std::string& file, graph::Phase phase, Diagnostics& report,
                                         const std::vector<Placeholder>* placeholders = nullptr);

/// "f32[1024, 1][1, 1]cuda:0" -> its type; nothing for other texts and for symbolic sizes.
[[nodiscard]] std::optional<graph::TensorType> type_of_annotation(std::string_view annotation);

}  // namespace sgsim::import::fx_text

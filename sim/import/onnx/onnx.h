#pragma once

#include <string>
#include <string_view>

#include "sim/import/format.h"

namespace sgsim::import::onnx {

/// ONNX models; weights may be external or absent, only their shapes matter.
[[nodiscard]] Format format();

/// The model as forward graph of aten operators. Initializers are parameters (integer ones: buffers), graph inputs without
/// initializer are inputs. Integer arithmetic on shapes is carried out while reading. An operator without an aten
/// counterpart whose result type the model declares stays as "onnx.<Operator>"; a symbolic dimension is taken as 1 and
/// counted. Throws InputError: control flow that depends on data, results of unknown type, model-local functions.
[[nodiscard]] ImportedGraphs parse(std::string_view bytes, const std::string& file);

}  // namespace sgsim::import::onnx

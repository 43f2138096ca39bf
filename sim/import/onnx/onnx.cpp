#include "sim/import/onnx/onnx.h"

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/core/protobuf_wire.h"
#include "sim/import/onnx/converter.h"
#include "sim/import/onnx/model.h"
#include "sim/import/whole_file.h"

namespace sgsim::import::onnx {
namespace {

std::string base_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

Imported read(const std::vector<std::string>& paths, const Progress&) {
  ImportedGraphs result;
  result.format = "onnx";
  for (const std::string& path : paths) {
    ImportedGraphs one = parse(read_whole(path, "onnx", result.report), path);
    result.report.merge(one.report);
    for (auto& graph : one.graphs) result.graphs.push_back(std::move(graph));
  }
  return result;
}

/// A ModelProto begins with its IR version (field 1, a small varint), then texts or the graph.
int confidence(const FileHead& head) {
  if (head.bytes.starts_with("ir_version:")) return 70;  // protobuf text form: refused with the way out
  protobuf::Message message(head.bytes);
  const auto first = message.next();
  if (!first || first->number != 1 || first->wire != protobuf::Wire::varint || first->value < 1 || first->value > 100) return 0;
  const auto second = message.next();
  if (!second) return message.damaged() && head.bytes.size() > 4 && static_cast<unsigned char>(head.bytes[2]) == 0x3a ? 50 : 0;  // the graph goes on past the head
  const bool known = second->wire == protobuf::Wire::bytes && (second->number == 2 || second->number == 7 || second->number == 8);
  return known ? 75 : 0;
}

}  // namespace

ImportedGraphs parse(std::string_view bytes, const std::string& file) {
  const Model model = parse_model(bytes, file);
  if (model.functions > 0) {
    throw InputError({.file = file, .where = "ModelProto.functions", .found = fmt::format("{} model-local functions", model.functions), .expected = "a model without functions", .hint = "inline them with onnx.inliner.inline_local_functions"});
  }
  ImportedGraphs result;
  result.format = "onnx";
  graph::OperatorGraph graph = Converter(model, result.report).run();
  if (graph.name.empty()) graph.name = base_name(file);
  result.graphs.emplace_back(graph.name, std::move(graph));
  return result;
}

Handler handler_of(std::string_view op) {
  for (const auto* handlers : {&pointwise_handlers(), &product_handlers(), &shape_handlers(), &reduce_handlers()}) {
    const auto found = handlers->find(op);
    if (found != handlers->end()) return found->second;
  }
  return nullptr;
}

Format format() { return {.name = "onnx", .description = "ONNX model (forward graph; weights may be external or absent)", .confidence = confidence, .read = read}; }

}  // namespace sgsim::import::onnx

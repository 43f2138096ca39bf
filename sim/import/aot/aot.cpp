#include "sim/import/aot/aot.h"

#include "sim/core/text_file.h"
#include "sim/import/aot/document.h"
#include "sim/import/aot/join.h"

namespace sgsim::import {

graph::OperatorGraph read_aot_graph(const std::string& path) { return parse_aot_graph(read_text_file(path), path); }

graph::OperatorGraph parse_aot_graph(std::string_view json, const std::string& file) {
  return aot::join(aot::parse_document(json, file));
}

}  // namespace sgsim::import

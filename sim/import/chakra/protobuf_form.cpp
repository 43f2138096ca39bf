#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/core/protobuf_wire.h"
#include "sim/import/chakra/document.h"

namespace sgsim::import::chakra {
namespace {

using protobuf::Field;
using protobuf::Message;
using protobuf::Wire;

/// AttributeProto: a name and one value; the field number is the value's type.
void read_attribute(std::string_view bytes, std::map<std::string, Value, std::less<>>& attributes, Diagnostics& report) {
  Message message(bytes);
  std::string name;
  Value value;
  while (const auto field = message.next()) {
    const Field& f = *field;
    switch (f.number) {
      case 1: name = f.bytes; break;
      case 3: value = f.as_double(); break;
      case 5: value = static_cast<double>(f.as_float()); break;
      case 7: case 9: case 11: case 13: case 19: case 21: value = f.integer(); break;
      case 15: case 17: value = f.zigzag(); break;
      case 23: value = static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(f.value))); break;
      case 25: value = f.integer(); break;
      case 27: value = f.value != 0; break;
      case 29: case 31: value = std::string(f.bytes); break;
      case 2: break;  // documentation
      default: report.add("import.chakra.list_attribute", Severity::error, name); break;
    }
  }
  if (message.damaged()) report.add("import.chakra.damaged_attribute", Severity::error, name);
  attributes.insert_or_assign(std::move(name), std::move(value));
}

void read_shapes(std::string_view bytes, Node& node) {
  Message message(bytes);
  while (const auto field = message.next()) {
    if (field->number == 2 && field->wire == Wire::bytes) node.shapes = std::string(field->bytes) + node.shapes;
    if (field->number == 3 && field->wire == Wire::bytes) node.shapes += " " + std::string(field->bytes);
  }
}

/// False when the bytes are no node.
bool read_node(std::string_view bytes, Node& node, Diagnostics& report) {
  Message message(bytes);
  while (const auto field = message.next()) {
    const Field& f = *field;
    std::vector<std::int64_t> ids;
    if (f.number == 1 && f.wire == Wire::varint) node.id = f.value;
    if (f.number == 2 && f.wire == Wire::bytes) node.name = f.bytes;
    if (f.number == 3 && f.wire == Wire::varint) node.type = f.value <= 7 ? static_cast<NodeType>(f.value) : NodeType::invalid;
    if ((f.number == 4 || f.number == 5) && !protobuf::append_integers(f, ids)) return false;
    for (const std::int64_t id : ids) (f.number == 4 ? node.control : node.data).push_back(static_cast<std::uint64_t>(id));
    if (f.number == 6 && f.wire == Wire::varint) node.start_us = f.value;
    if (f.number == 7 && f.wire == Wire::varint) node.duration_us = f.value;
    if (f.number == 8 && f.wire == Wire::bytes) read_shapes(f.bytes, node);
    if (f.number == 10 && f.wire == Wire::bytes) read_attribute(f.bytes, node.attributes, report);
  }
  return !message.damaged();
}

/// GlobalMetadata has texts and attributes only; a node has a type (field 3) or an id (field 1, a number).
bool read_metadata(std::string_view bytes, Document& document, Diagnostics& report) {
  Message message(bytes);
  bool metadata = true;
  std::string found;
  while (const auto field = message.next()) {
    metadata = metadata && field->wire == Wire::bytes && field->number <= 2;
    if (field->number == 1) found = field->bytes;
  }
  if (message.damaged() || !metadata) return false;
  document.version = found;
  Message again(bytes);
  while (const auto field = again.next()) {
    if (field->number == 2) read_attribute(field->bytes, document.attributes, report);
  }
  return true;
}

}  // namespace

Document parse_protobuf(std::string_view bytes, const std::string& file, Diagnostics& report) {
  Document document;
  document.file = file;
  const std::size_t size = bytes.size();
  bool first = true;
  while (!bytes.empty()) {
    std::uint64_t length = 0;
    const std::size_t at = size - bytes.size();
    if (!protobuf::take_varint(bytes, length) || length > bytes.size()) {
      report.add("import.chakra.truncated", Severity::error, fmt::format("{} ends inside the message at byte {}", file, at));
      break;
    }
    const std::string_view message = bytes.substr(0, length);
    bytes.remove_prefix(length);
    if (first && read_metadata(message, document, report)) {
      report.add("import.chakra.metadata", Severity::info, "schema " + document.version);
    } else {
      Node node;
      if (read_node(message, node, report)) {
        document.nodes.push_back(std::move(node));
      } else {
        report.add("import.chakra.damaged_node", Severity::error, fmt::format("{} at byte {}", file, at));
      }
    }
    first = false;
  }
  if (document.nodes.empty()) throw InputError({.file = file, .where = "", .found = "no node", .expected = "a Chakra execution trace", .hint = ""});
  return document;
}

}  // namespace sgsim::import::chakra

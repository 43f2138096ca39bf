#include "sim/graph/dtype.h"

#include <array>
#include <utility>

namespace sgsim::graph {
namespace {

struct Entry {
  DType dtype;
  std::string_view text;
  int size;
  bool floating;
};

constexpr std::array kTypes = {
    Entry{DType::float32, "float32", 4, true},       Entry{DType::float64, "float64", 8, true},
    Entry{DType::float16, "float16", 2, true},       Entry{DType::bfloat16, "bfloat16", 2, true},
    Entry{DType::float8_e4m3fn, "float8_e4m3fn", 1, true}, Entry{DType::float8_e5m2, "float8_e5m2", 1, true},
    Entry{DType::int64, "int64", 8, false},          Entry{DType::int32, "int32", 4, false},
    Entry{DType::int16, "int16", 2, false},          Entry{DType::int8, "int8", 1, false},
    Entry{DType::uint8, "uint8", 1, false},          Entry{DType::bool_, "bool", 1, false},
    Entry{DType::complex64, "complex64", 8, true},   Entry{DType::uint16, "uint16", 2, false},
    Entry{DType::uint32, "uint32", 4, false},        Entry{DType::uint64, "uint64", 8, false},
    Entry{DType::complex128, "complex128", 16, true},
};

const Entry& entry(DType dtype) { return kTypes[static_cast<std::size_t>(dtype)]; }

}  // namespace

int size_of(DType dtype) { return entry(dtype).size; }
bool is_floating(DType dtype) { return entry(dtype).floating; }
std::string_view to_text(DType dtype) { return entry(dtype).text; }

std::optional<DType> dtype_from_text(std::string_view text) {
  if (text.starts_with("torch.")) text.remove_prefix(6);
  for (const Entry& e : kTypes) {
    if (e.text == text) return e.dtype;
  }
  return std::nullopt;
}

}  // namespace sgsim::graph

// PyTorch execution traces: whatever the bytes, a value or an InputError.
#include <cstdint>
#include <string_view>

#include "sim/core/error.h"
#include "sim/import/pytorch_et/pytorch_et.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sgsim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    (void)import::pytorch_et::parse(text, "fuzz.json");
  } catch (const InputError&) {
  }
  return 0;
}

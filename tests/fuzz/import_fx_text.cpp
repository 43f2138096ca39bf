// Printed FX graphs: whatever the bytes, a value or an InputError.
#include <cstdint>
#include <string_view>

#include "sim/core/error.h"
#include "sim/import/fx_text/fx_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sgsim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    Diagnostics report;
    (void)import::fx_text::parse(text, "fuzz.py", graph::Phase::forward, report);
  } catch (const InputError&) {
  }
  return 0;
}

// The reader of GPU profiles: whatever the bytes, it returns a profile or throws InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/core/error.h"
#include "sim/cost/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    (void)sgsim::cost::profile_from_text(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.json");
  } catch (const sgsim::InputError&) {
  }
  return 0;
}

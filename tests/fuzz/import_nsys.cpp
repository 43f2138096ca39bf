// SQLite exports of Nsight Systems: whatever the bytes, a value or an InputError.
#include <cstdint>
#include <string>

#include "sim/core/error.h"
#include "sim/import/nsys/nsys.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sgsim;
  try {
    (void)import::nsys::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz.sqlite");
  } catch (const InputError&) {
  }
  return 0;
}

// SimAI workloads and lists: whatever the bytes, a value or an InputError.
#include <cstdint>
#include <string_view>

#include "sim/core/error.h"
#include "sim/import/simai/simai.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sgsim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    if (size % 2 == 0) {
      (void)import::simai::parse_workload(text, "fuzz.txt");
    } else {
      (void)import::simai::parse_list(text, "fuzz.csv");
    }
  } catch (const InputError&) {
  }
  return 0;
}

// NCCL topologies and graph dumps: whatever the bytes, a value or an InputError.
#include <cstdint>
#include <string_view>

#include "sim/core/error.h"
#include "sim/import/nccl_topo/nccl_topo.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sgsim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    if (size % 2 == 0) {
      (void)import::nccl_topo::read_system(text, "fuzz.xml");
    } else {
      (void)import::nccl_topo::read_graphs(text, "fuzz.xml");
    }
  } catch (const InputError&) {
  }
  return 0;
}

// config.json: whatever the bytes, a model or an InputError; small models also generate their graphs.
#include <cstdint>
#include <string_view>

#include "sim/core/error.h"
#include "sim/import/hf_config/hf_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sgsim;
  try {
    const import::HfModel model = import::parse_hf_config({reinterpret_cast<const char*>(data), size}, "fuzz");
    if (model.shape.layers > 3) return 0;
    const bool flash = size % 2 == 0, mask = size % 3 == 0, autocast = size % 5 != 0;
    (void)import::generate_graph(model, {.micro_batch = 2, .sequence = 4, .flash_attention = flash, .causal_mask_tensor = mask, .autocast = autocast});
  } catch (const InputError&) {
  }
  return 0;
}

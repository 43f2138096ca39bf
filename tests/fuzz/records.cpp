// The readers of records, suites and stacks: whatever the bytes, they return a value or throw InputError.
#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/check/record.h"
#include "sim/check/suite.h"
#include "sim/core/error.h"
#include "sim/scenario/stack_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    (void)sgsim::check::records_from_text(text, "fuzz.json");
  } catch (const sgsim::InputError&) {
  }
  try {
    (void)sgsim::check::suite_from_text(text, "fuzz.json");
  } catch (const sgsim::InputError&) {
  }
  try {
    (void)sgsim::scenario::stack_from_text(text, "fuzz.json");
  } catch (const sgsim::InputError&) {
  }
  return 0;
}

// Timelines of sgsim simulate --trace: whatever the bytes, a run or an InputError.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "sim/core/error.h"
#include "sim/import/own_timeline/own_timeline.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sgsim;
  static const std::string path = (std::filesystem::temp_directory_path() / ("sgsim_fuzz_own_timeline_" + std::to_string(getpid()))).string();
  if (std::FILE* file = std::fopen(path.c_str(), "wb"); file != nullptr) {
    std::fwrite(data, 1, size, file);
    std::fclose(file);
  }
  try {
    (void)import::own_timeline::read(path, {});
  } catch (const InputError&) {
  }
  std::remove(path.c_str());
  return 0;
}

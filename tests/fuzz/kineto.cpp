// Kineto traces: whatever the bytes, a run that can be matched, recovered and made into programs, or an InputError.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "sim/core/error.h"
#include "sim/import/kineto/kineto.h"
#include "sim/replay/replay.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sgsim;
  static const std::string path = (std::filesystem::temp_directory_path() / ("sgsim_fuzz_kineto_" + std::to_string(getpid()))).string();
  if (std::FILE* file = std::fopen(path.c_str(), "wb"); file != nullptr) {
    std::fwrite(data, 1, size, file);
    std::fclose(file);
  }
  try {
    trace::ImportedRun run = import::kineto::read({path}, {});
    const trace::Matching matching = trace::match_collectives(run);
    trace::align_clocks(run, matching);
    std::vector<trace::Dependencies> dependencies;
    for (const trace::RankTrace& rank : run.ranks) dependencies.push_back(trace::recover_dependencies(run, rank));
    (void)replay::build_programs(run, matching, dependencies);
  } catch (const InputError&) {
  }
  std::remove(path.c_str());
  return 0;
}

// Profiles and execution traces of the same ranks: Megatron, tensor parallel 8, made by others.
#include <filesystem>
#include <iostream>

#include "sim/import/format.h"
#include "tests/support/catch.h"

namespace fs = std::filesystem;
using namespace sgsim;

TEST_CASE("the collectives of eight ranks get their sizes from the execution traces") {
  const fs::path folder = fs::path(SGSIM_SOURCE_DIR) / ".." / "shared" / "files" / "multirank" / "astra-sim-megatron-tp8";
  if (!fs::exists(folder)) {
    std::cout << "skipped: no shared/files beside the project\n";
    return;
  }
  const std::vector<import::Imported> imported = import::import_path(folder.string(), {});
  REQUIRE(imported.size() == 1);
  const auto& run = std::get<trace::ImportedRun>(imported[0]);
  REQUIRE(run.ranks.size() == 8);
  for (const trace::RankTrace& rank : run.ranks) {
    std::size_t sized = 0, with_kernel = 0;
    for (const trace::Collective& collective : rank.collectives) {
      with_kernel += collective.device_op != trace::kNone ? 1U : 0U;
      sized += collective.device_op != trace::kNone && collective.bytes >= 0 ? 1U : 0U;
    }
    CHECK(with_kernel == 84);
    CHECK(sized == 84);
  }
  // An 85th all-reduce of each rank was issued, and its kernel is in neither file.
  CHECK(run.report.entries().at("import.pytorch_et.merged_collective").count == 8 * 84);
  CHECK(run.report.entries().at("import.pytorch_et.merged_collective_only_in_execution_trace").count == 8);
  CHECK(run.report.entries().count("import.pytorch_et.merged_collective_only_in_profile") == 0);
  CHECK(run.report.entries().count("import.pytorch_et.merged_collective_size_differs") == 0);
  for (const auto& [key, entry] : run.report.entries()) {
    if (key.starts_with("import.pytorch_et.merged")) std::cout << key << ": " << entry.count << " (" << entry.example << ")\n";
  }
}

// Every file that others made and that is here: read, or refused with a reason.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "sim/core/error.h"
#include "sim/import/format.h"
#include "tests/support/catch.h"

namespace fs = std::filesystem;
using namespace sgsim;

namespace {

const fs::path kFiles = fs::path(SGSIM_SOURCE_DIR) / ".." / "shared" / "files";

struct Tally {
  int read = 0, refused = 0;
};

}  // namespace

TEST_CASE("files of others are read or refused with a reason") {
  if (!fs::exists(kFiles)) {
    std::cout << "skipped: no shared/files beside the project\n";
    return;
  }
  std::map<std::string, Tally> tallies;
  std::vector<std::string> refusals, silent;
  for (const auto& entry : fs::recursive_directory_iterator(kFiles)) {
    if (!entry.is_regular_file() || entry.path().filename() == "FILES.tsv") continue;
    const std::string name = fs::relative(entry.path(), kFiles).generic_string();
    std::string format = "-";
    try {
      const import::Format& known = import::recognise(import::read_head(entry.path().string()));
      format = known.name;
      if (format == "kineto") continue;  // tests/validation of that reader
      const import::Imported imported = known.read({entry.path().string()}, {});
      if (import::report_of(imported).empty()) silent.push_back(name);
      ++tallies[format].read;
    } catch (const InputError& error) {
      ++tallies[format].refused;
      refusals.push_back(format + "  " + name + ": " + error.problem().found + "; expected " + error.problem().expected);
    }
  }
  for (const auto& [format, tally] : tallies) std::cout << format << ": " << tally.read << " read, " << tally.refused << " refused\n";
  std::sort(refusals.begin(), refusals.end());
  for (const std::string& line : refusals) std::cout << "  " << line.substr(0, 260) << "\n";
  CHECK(silent == std::vector<std::string>{});  // every reader says what it did
}

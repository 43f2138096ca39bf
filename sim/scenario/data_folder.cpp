#include <cstdlib>
#include <filesystem>

#include "sim/core/error.h"
#include "sim/scenario/read.h"

namespace sgsim::scenario {

std::string data_folder() {
  namespace fs = std::filesystem;
  if (const char* named = std::getenv("SGSIM_DATA"); named != nullptr && *named != '\0') {
    if (!fs::is_directory(named)) throw EnvironmentError("SGSIM_DATA names " + std::string(named) + ", which is no folder");
    return named;
  }
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path installed = program.parent_path().parent_path() / "share" / "sgsim";
  if (!program.empty() && fs::is_directory(installed / "profiles")) return installed.lexically_normal().string();
  const fs::path source = fs::path(SGSIM_SOURCE_DATA);
  if (fs::is_directory(source / "profiles")) return source.string();
  throw EnvironmentError("no data folder: neither " + installed.string() + " nor " + source.string() +
                         " exists; set SGSIM_DATA to the folder that holds profiles/");
}

}  // namespace sgsim::scenario

#include <fstream>
#include <iterator>

#include "planner/cli/subcommand.h"
#include "sim/scenario/content_hash.h"

namespace sgsim::cli {

const char* version() { return SGSIM_VERSION; }

std::string exact_version() {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(self), std::istreambuf_iterator<char>()};
  if (bytes.empty()) throw EnvironmentError("cannot read /proc/self/exe, which tells this build from others");
  return std::string(SGSIM_VERSION) + "+" + scenario::content_hash(bytes);
}

}  // namespace sgsim::cli

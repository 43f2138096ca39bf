#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "sim/core/error.h"
#include "sim/engine/simgrid/network.h"

namespace sgsim::engine {
namespace {

using MakeNetwork = Network* (*)(const cluster::Cluster&);

// The same in the build folder and where it is installed.
std::filesystem::path module_path() {
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) throw EnvironmentError("no /proc/self/exe to find the simgrid engine by: " + failed.message());
  return program.parent_path().parent_path() / "lib" / "sgsim" / "sgsim_simgrid.so";
}

}  // namespace

std::unique_ptr<Network> load_network(const cluster::Cluster& cluster) {
  const std::filesystem::path path = module_path();
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded: what it made outlives any owner here
  if (module == nullptr) throw EnvironmentError(std::string("the simgrid engine cannot be loaded: ") + dlerror() + " (it belongs beside the program, in ../lib/sgsim)");
  const auto make = reinterpret_cast<MakeNetwork>(dlsym(module, "sgsim_make_network"));
  if (make == nullptr) throw EnvironmentError(path.string() + " is not SGSim's simgrid engine: " + dlerror());
  return std::unique_ptr<Network>(make(cluster));
}

}  // namespace sgsim::engine

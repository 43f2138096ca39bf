#include "calibrate/cli/commands.h"
#include "sim/core/error.h"

namespace sgsim::calibrate {

int run_command(const RunFlags&) {
  throw EnvironmentError("this sgsim-calibrate was built without CUDA: it lists, fits and compares, but cannot measure; build with -DSGSIM_CALIBRATE=ON where the CUDA Toolkit is");
}

int execute_command(const ExecuteFlags&) {
  throw EnvironmentError("this sgsim-calibrate was built without CUDA and executes nothing; build with -DSGSIM_CALIBRATE=ON where the CUDA Toolkit is");
}

}  // namespace sgsim::calibrate

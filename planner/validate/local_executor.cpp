#include "planner/validate/local_executor.h"

#include <fmt/format.h>

#include "calibrate/execute/execute.h"
#include "calibrate/execute/work_key.h"
#include "sim/core/error.h"

namespace sgsim::validate {

#ifdef SGSIM_WITH_CUDA

int gpus_here() {
  calibrate::prepare_environment();
  return calibrate::local_gpus();
}

calibrate::MeasuredProgram execute_here(const calibrate::ExecutableProgram& program, const std::string& command) {
  calibrate::prepare_environment();
  try {
    return calibrate::execute(program, {.command = command, .progress = [](const std::string& what) { fmt::print(stderr, "  {}\n", what); }});
  } catch (const calibrate::NotExecutable& reason) {
    throw EnvironmentError("this program cannot be executed here: " + reason.reason);
  }
}

#else

int gpus_here() { return 0; }

calibrate::MeasuredProgram execute_here(const calibrate::ExecutableProgram& program, const std::string&) {
  throw EnvironmentError(fmt::format("this sgsim was built without CUDA (SGSIM_CALIBRATE) and cannot execute {0}. In two steps: `sgsim validate SCENARIO --write-program {0}.program.json` here, "
                                     "`sgsim-calibrate execute {0}.program.json` where the GPUs are, `sgsim validate SCENARIO --measured {0}.measured.json.gz` here", program.name));
}

#endif

}  // namespace sgsim::validate

#pragma once

#include <functional>
#include <string>

#include "calibrate/record/measured_file.h"
#include "calibrate/record/program_file.h"

namespace sgsim::calibrate {

struct ExecuteOptions {
  double settle_seconds = 0.7;   // of steps before any counts: a GPU at its power limit has found its clock by then
  double seconds = 1.0;          // of steps that count
  int least_steps = 10;
  int traced_steps = 3;
  std::string command;           // for the record
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// Executes a program on the local GPUs, rank r on GPU r. Throws NotExecutable where a kernel or the number of GPUs does not allow it,
/// EnvironmentError when the machine fails. With CUDA only (execute/cuda); NCCL's and CUDA's variables are set before the first call
/// that starts them (prepare_environment).
[[nodiscard]] MeasuredProgram execute(const ExecutableProgram& program, const ExecuteOptions& options);
/// GPUs that CUDA sees; 0 without a driver.
[[nodiscard]] int local_gpus();
/// Sets what CUDA and NCCL read when they start: as many hardware queues as there are streams, no NVLink multicast.
void prepare_environment();

}  // namespace sgsim::calibrate

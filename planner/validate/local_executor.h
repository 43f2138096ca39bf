#pragma once

#include <string>

#include "calibrate/record/measured_file.h"
#include "calibrate/record/program_file.h"

namespace sgsim::validate {

/// Executes a program on this machine's GPUs. Built without CUDA: throws EnvironmentError that names the way in two steps.
[[nodiscard]] calibrate::MeasuredProgram execute_here(const calibrate::ExecutableProgram& program, const std::string& command);
/// Local GPUs; 0 without CUDA.
[[nodiscard]] int gpus_here();

}  // namespace sgsim::validate

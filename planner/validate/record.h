#pragma once

#include <string>

#include "calibrate/record/measured_file.h"
#include "sim/scenario/inputs.h"
#include "sim/scenario/scenario.h"

namespace sgsim::validate {

/// Adds the measured run to a file of records (a JSON list, docs/formats/record.md; made where there is none), in place of a row of the
/// same id: what `sgsim check` reads, with the stack "sgsim-executor". Throws EnvironmentError when the file cannot be written.
void add_record(const std::string& path, const scenario::Scenario& executed, const scenario::Inputs& inputs, const calibrate::MeasuredProgram& measured);

}  // namespace sgsim::validate

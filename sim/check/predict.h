#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/check/record.h"
#include "sim/check/row.h"
#include "sim/check/to_scenario.h"
#include "sim/scenario/simulate.h"

namespace sgsim::check {

struct PredictOptions {
  unsigned threads = 1;
  std::map<std::string, std::string> profiles;  // path of a profile by the name that the record's GPU would take
};

/// Predicts every record, on `threads` threads; rows come in the records' order and do not depend on the threads.
[[nodiscard]] std::vector<Row> predict(const std::vector<Record>& records, const Sources& sources, const scenario::RunEngine& engine,
                                       const PredictOptions& options);

}  // namespace sgsim::check

#pragma once

#include <string>
#include <vector>

#include "sim/scenario/critical_path.h"
#include "sim/scenario/simulate.h"
#include "sim/scenario/variants.h"

namespace sgsim::scenario {

/// A change that was simulated.
struct Change {
  Variant variant;
  Result result;
  double gain = 0.0;        // of throughput, as a fraction: 0.1 is a tenth more samples a second
  Bytes memory_added;       // reserved, of the fullest rank; negative when it takes less
};
/// A change that cannot run, and why.
struct Dropped {
  Variant variant;
  std::string reason;
};

struct Explanation {
  Result result;
  std::vector<PathTime> path;      // critical path by kind and name
  std::vector<Change> changes;     // largest gain first; those that lose throughput last
  std::vector<Dropped> dropped;
};

/// Simulates the scenario, each of its variants, and pairs of the best ones (on `threads` threads; the answer does not depend on how many).
[[nodiscard]] std::variant<Explanation, std::vector<plan::Violation>> explain(const Scenario& scenario, InputCache& cache, const RunEngine& engine, unsigned threads);

[[nodiscard]] std::string text_report(const Scenario& scenario, const Inputs& inputs, const Explanation& explanation);
[[nodiscard]] std::string json_report(const Scenario& scenario, const Explanation& explanation);

}  // namespace sgsim::scenario

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/core/ids.h"
#include "sim/core/quantity.h"

namespace sgsim::timeline {

/// Where one rank's step went. compute + exposed_comm + bubble + host_bound + other_idle = step time of the rank class.
struct Accounting {
  Seconds compute;        // some compute task runs
  Seconds exposed_comm;   // communication transfers and no computation runs
  Seconds overlapped_comm;// communication transfers beside computation (part of `compute`)
  Seconds bubble;         // nothing runs; the next thing waited for is another rank (pipeline, stragglers, skew)
  Seconds host_bound;     // nothing runs because the host has not issued the next task yet
  Seconds end;            // the rank's last task ends
  bool operator==(const Accounting&) const = default;
};

/// One task of one simulated rank. `arrival` <= `start`: a collective waits between them for its last member.
struct Span {
  std::uint32_t rank = 0;     // index of the simulated rank
  std::uint32_t task = 0;     // index in its program
  std::uint16_t stream = 0;
  Seconds arrival, start, end;
  bool operator==(const Span&) const = default;
};

/// What an engine returns.
struct Timeline {
  Seconds step_time;
  std::string engine;                    // "fast", "simgrid"
  std::vector<Accounting> ranks;         // by simulated rank
  std::vector<std::uint32_t> multiplicity; // real ranks that each simulated rank stands for
  std::vector<RankId> representative;    // a real rank of each
  std::vector<Span> spans;               // only of the ranks that were asked for; ordered by rank, then start
  std::uint64_t tasks = 0;               // tasks simulated
  std::vector<std::string> engine_settings; // network model options as set, for the report
  Diagnostics diagnostics;
};

}  // namespace sgsim::timeline

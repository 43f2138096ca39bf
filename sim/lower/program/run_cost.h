#pragma once

#include <algorithm>

#include "sim/core/quantity.h"

namespace sgsim::lower {

/// Launch behaviour of a run of kernels on one stream (workload.h, Task): with the stream ready at S and the host at H,
/// it ends at max(S + device, H + issue_to_end) and frees the host at H + host.
struct RunCost {
  Seconds device, issue_to_end, host;
  bool operator==(const RunCost&) const = default;
};

/// `first`, then `second`, exactly: (max, +) composition. An empty RunCost is neutral.
[[nodiscard]] inline RunCost then(const RunCost& first, const RunCost& second) {
  return {.device = first.device + second.device,
          .issue_to_end = std::max(first.issue_to_end + second.device, first.host + second.issue_to_end),
          .host = first.host + second.host};
}

/// One kernel: `gap` precedes it on a busy stream, `latency` follows its issue on an idle one.
[[nodiscard]] inline RunCost kernel_run(Seconds time, Seconds host, Seconds latency, Seconds gap) {
  return {.device = gap + time, .issue_to_end = host + latency + time, .host = host};
}

/// The same launch when the host waits for its end (CUDA_LAUNCH_BLOCKING): device and host go on together.
[[nodiscard]] inline RunCost blocking(const RunCost& one) { return {.device = one.issue_to_end, .issue_to_end = one.issue_to_end, .host = one.issue_to_end}; }

/// `count` equal kernels in a row: closed form of repeated then().
[[nodiscard]] inline RunCost repeat(const RunCost& one, int count) {
  if (count <= 0) return {};
  const double more = count - 1;
  return {.device = one.device * count,
          .issue_to_end = one.issue_to_end + std::max(one.device, one.host) * more,
          .host = one.host * count};
}

}  // namespace sgsim::lower

#include "planner/search/streams.h"

#include <algorithm>
#include <limits>

#include "sim/core/error.h"

namespace sgsim::search {
namespace {

constexpr double kNotYet = -1.0;

struct Lane {
  std::vector<std::uint32_t> ops;
  std::size_t next = 0;
  double left = 0.0;
  bool running = false;
};

}  // namespace

void run_streams(const std::vector<StreamOp>& ops, const Slowdown& slowdown, std::vector<double>& ends) {
  std::array<Lane, kStreams> lanes;
  for (std::uint32_t i = 0; i < ops.size(); ++i) lanes[ops[i].stream].ops.push_back(i);
  ends.assign(ops.size(), kNotYet);
  const auto ready = [&](const StreamOp& op) {
    return std::all_of(op.waits.begin(), op.waits.end(), [&](std::int32_t w) { return w < 0 || ends[static_cast<std::size_t>(w)] >= 0.0; });
  };
  double now = 0.0;
  for (std::size_t done = 0; done < ops.size();) {
    bool transferring = false;
    for (std::size_t s = 0; s < kStreams; ++s) {
      Lane& lane = lanes[s];
      if (!lane.running && lane.next < lane.ops.size() && ready(ops[lane.ops[lane.next]])) {
        lane.running = true;
        lane.left = ops[lane.ops[lane.next]].work;
      }
      transferring |= s > 0 && lane.running;
    }
    const bool computing = lanes[0].running;
    std::array<double, kStreams> slow{};
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < kStreams; ++s) {
      slow[s] = s == 0 ? (transferring ? slowdown.compute : 1.0) : (computing ? slowdown.transfer : 1.0);
      if (lanes[s].running) step = std::min(step, lanes[s].left * slow[s]);
    }
    SGSIM_CHECK(step < std::numeric_limits<double>::infinity(), "operations wait for one another");
    now += step;
    for (std::size_t s = 0; s < kStreams; ++s) {
      Lane& lane = lanes[s];
      if (!lane.running) continue;
      const bool ends_now = lane.left * slow[s] <= step;
      lane.left -= step / slow[s];
      if (!ends_now) continue;
      ends[lane.ops[lane.next++]] = now;
      lane.running = false;
      ++done;
    }
  }
}

}  // namespace sgsim::search

#include "planner/search/streams.h"

#include <algorithm>
#include <cmath>
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
  [[nodiscard]] bool works() const { return running && left > 0.0; }
};

class Streams {
 public:
  Streams(const std::vector<StreamOp>& ops, const Slowdown& slowdown, std::vector<double>& ends) : ops_(ops), slowdown_(slowdown), ends_(ends) {
    for (std::uint32_t i = 0; i < ops.size(); ++i) lanes_[ops[i].stream].ops.push_back(i);
    ends_.assign(ops.size(), kNotYet);
  }
  void run() {
    while (done_ < ops_.size()) {
      begin();
      advance(time_to_next());
    }
  }

 private:
  [[nodiscard]] const StreamOp& front(const Lane& lane) const { return ops_[lane.ops[lane.next]]; }
  [[nodiscard]] bool ready(const StreamOp& op) const {
    return std::all_of(op.waits.begin(), op.waits.end(), [&](std::int32_t w) { return w < 0 || ends_[static_cast<std::size_t>(w)] >= 0.0; });
  }
  void begin() {
    bool transferring = false;
    for (std::size_t s = 0; s < kStreams; ++s) {
      Lane& lane = lanes_[s];
      if (!lane.running && lane.next < lane.ops.size() && front(lane).issued <= now_ && ready(front(lane))) {
        lane.running = true;
        lane.left = front(lane).work;
      }
      transferring |= s > 0 && s != kCopies && lane.works();
    }
    const bool computing = lanes_[0].works();
    for (std::size_t s = 0; s < kStreams; ++s) slow_[s] = s == kCopies ? 1.0 : s == 0 ? (transferring ? slowdown_.compute : 1.0) : (computing ? slowdown_.transfer : 1.0);
  }
  [[nodiscard]] double time_to_next() const {
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < kStreams; ++s) {
      const Lane& lane = lanes_[s];
      if (lane.works()) step = std::min(step, lane.left * slow_[s]);
      else if (lane.running) step = std::min(step, std::max(0.0, front(lane).last_launch - now_));
      else if (lane.next < lane.ops.size() && front(lane).issued > now_) step = std::min(step, front(lane).issued - now_);
    }
    SGSIM_CHECK(step < std::numeric_limits<double>::infinity(), "operations wait for one another");
    return step;
  }
  void advance(double step) {
    // Where a sum rounds down to what it was, time must go on all the same.
    now_ = step > 0.0 ? std::max(now_ + step, std::nextafter(now_, std::numeric_limits<double>::infinity())) : now_;
    for (std::size_t s = 0; s < kStreams; ++s) {
      Lane& lane = lanes_[s];
      if (!lane.running) continue;
      const bool worked = lane.left * slow_[s] <= step;
      lane.left = worked ? 0.0 : lane.left - step / slow_[s];
      if (!worked || front(lane).last_launch > now_) continue;
      ends_[lane.ops[lane.next++]] = now_;
      lane.running = false;
      ++done_;
    }
  }

  const std::vector<StreamOp>& ops_;
  const Slowdown& slowdown_;
  std::vector<double>& ends_;
  std::array<Lane, kStreams> lanes_;
  std::array<double, kStreams> slow_{};
  double now_ = 0.0;
  std::size_t done_ = 0;
};

}  // namespace

void run_streams(const std::vector<StreamOp>& ops, const Slowdown& slowdown, std::vector<double>& ends) { Streams(ops, slowdown, ends).run(); }

}  // namespace sgsim::search

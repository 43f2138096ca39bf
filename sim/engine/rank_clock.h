#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/timeline/timeline.h"

namespace sgsim::engine {

/// Adds up one rank's time as its tasks begin and end, in time order.
class RankClock {
 public:
  void begin_compute(double now) {
    pass(now);
    ++computes_;
  }
  void begin_copy(double now) {
    pass(now);
    ++copies_;
  }
  /// `arrival`: when this rank was ready for the transfer. What the rank idled before it is the host's, after it a bubble.
  void begin_transfer(double now, double arrival) {
    if (idle()) {
      const double host = std::clamp(arrival - since_, 0.0, now - since_);
      host_bound_ += host;
      bubble_ += now - since_ - host;
      since_ = now;
    } else {
      pass(now);
    }
    ++transfers_;
  }
  void end_compute(double now) {
    pass(now);
    --computes_;
  }
  void end_copy(double now) {
    pass(now);
    --copies_;
  }
  void end_transfer(double now) {
    pass(now);
    --transfers_;
  }
  void end_task(double now) { end_ = now; }

  [[nodiscard]] bool computing() const { return computes_ > 0; }
  [[nodiscard]] bool transferring() const { return transfers_ > 0; }
  [[nodiscard]] double end() const { return end_; }

  /// The rank waits for the others until the step ends.
  [[nodiscard]] timeline::Accounting close(double step) const {
    const double host = std::max(0.0, end_ - since_);  // host work after the last task of the device
    return {.compute = Seconds(compute_), .exposed_comm = Seconds(exposed_), .overlapped_comm = Seconds(overlapped_),
            .bubble = Seconds(bubble_ + (step - end_)), .host_bound = Seconds(host_bound_ + host), .end = Seconds(end_)};
  }

 private:
  [[nodiscard]] bool idle() const { return computes_ == 0 && transfers_ == 0 && copies_ == 0; }

  /// Accounts for the time since the last change. Idle time ends here because the host has now issued something.
  void pass(double now) {
    const double time = now - since_;
    if (computes_ > 0) {
      compute_ += time;
      if (transfers_ > 0) overlapped_ += time;
    } else if (transfers_ > 0) {
      exposed_ += time;
    } else if (copies_ == 0) {
      host_bound_ += time;
    }
    since_ = now;
  }

  double since_ = 0.0;
  double compute_ = 0.0, exposed_ = 0.0, overlapped_ = 0.0, bubble_ = 0.0, host_bound_ = 0.0, end_ = 0.0;
  std::uint32_t computes_ = 0, transfers_ = 0, copies_ = 0;
};

}  // namespace sgsim::engine

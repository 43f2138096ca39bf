#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/timeline/timeline.h"

namespace sgsim::engine {

/// Adds up one rank's time as its tasks begin and end, in time order.
///
/// Idle time is named by what ends it. A computation or a copy: the host had not issued it (all else had ended before, or
/// the rank would not idle). A transfer: until this rank was ready for it the host's, then a bubble. Where several begin
/// at once, the rank waited for others from the earliest readiness on.
class RankClock {
 public:
  void begin_compute(double now) {
    begin(now, now);
    ++computes_;
  }
  void begin_copy(double now) {
    begin(now, now);
    ++copies_;
  }
  /// `arrival`: when this rank was ready for the transfer.
  void begin_transfer(double now, double arrival) {
    begin(now, arrival);
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
  /// A run with nothing beside it has come as far as `now`, with so much of the time since its beginning in kernels and the rest in
  /// collectives.
  void pass_run(double now, double computing) {
    compute_ += computing;
    exposed_ += now - since_ - computing;
    since_ = now;
  }

  [[nodiscard]] bool computing() const { return computes_ > 0; }
  [[nodiscard]] bool transferring() const { return transfers_ > 0; }
  [[nodiscard]] bool idle() const { return computes_ == 0 && transfers_ == 0 && copies_ == 0; }
  [[nodiscard]] double end() const { return end_; }

  /// The rank waits for the others until the step ends.
  [[nodiscard]] timeline::Accounting close(double step) const {
    const double host = std::max(0.0, end_ - since_);  // host work after the last task of the device
    return {.compute = Seconds(compute_), .exposed_comm = Seconds(exposed_), .overlapped_comm = Seconds(overlapped_),
            .bubble = Seconds(bubble_ + (step - end_)), .host_bound = Seconds(host_bound_ + host), .end = Seconds(end_)};
  }

 private:
  /// Relative: times closer than this are one instant that rounding has spread.
  static constexpr double kInstant = 1e-12;

  void begin(double now, double ready) {
    const double instant = kInstant * now;
    if (idle() && now - since_ > instant) {
      gap_begin_ = since_;
      gap_end_ = now;
      gap_host_ = std::clamp(ready - since_, 0.0, now - since_);
      host_bound_ += gap_host_;
      bubble_ += now - since_ - gap_host_;
      since_ = now;
      return;
    }
    pass(now);
    if (now - gap_end_ > instant) return;
    const double host = std::max(0.0, ready - gap_begin_);
    if (host >= gap_host_) return;
    host_bound_ -= gap_host_ - host;
    bubble_ += gap_host_ - host;
    gap_host_ = host;
  }

  void pass(double now) {
    const double time = now - since_;
    if (computes_ > 0) {
      compute_ += time;
      if (transfers_ > 0) overlapped_ += time;
    } else if (transfers_ > 0) {
      exposed_ += time;
    } else if (copies_ == 0) {
      host_bound_ += time;  // less than an instant
    }
    since_ = now;
  }

  double since_ = 0.0;  // accounted for until then
  double compute_ = 0.0, exposed_ = 0.0, overlapped_ = 0.0, bubble_ = 0.0, host_bound_ = 0.0, end_ = 0.0;
  double gap_begin_ = 0.0, gap_end_ = 0.0, gap_host_ = 0.0;  // the last idle time, and how much of it is the host's
  std::uint32_t computes_ = 0, transfers_ = 0, copies_ = 0;
};

}  // namespace sgsim::engine

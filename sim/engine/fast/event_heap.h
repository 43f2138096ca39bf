#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace sgsim::engine {

/// The next event of each activity, earliest first: a 4-ary heap with the place of each activity, so that an event can
/// be moved when its activity slows down or speeds up. At most one event an activity.
class EventHeap {
 public:
  struct Event {
    double time = 0.0;
    std::uint32_t activity = 0;
  };

  void clear() {
    heap_.clear();
    place_.clear();
  }
  /// Makes room for activities 0 .. count - 1.
  void reserve_activities(std::size_t count) {
    if (place_.size() < count) place_.resize(count, kAbsent);
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Event& top() const { return heap_.front(); }

  void push(double time, std::uint32_t activity) {
    heap_.push_back({});
    sift_up(heap_.size() - 1, {time, activity});
  }

  void pop() {
    place_[heap_.front().activity] = kAbsent;
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(0, last);
  }

  /// Multiplies by `factor` the time from `now` to the event of an activity that has one.
  void stretch(double now, double factor, std::uint32_t activity) {
    move(now + std::max(0.0, heap_[place_[activity]].time - now) * factor, activity);
  }

  /// Another time for an activity that has an event.
  void move(double time, std::uint32_t activity) {
    const std::uint32_t at = place_[activity];
    if (time < heap_[at].time) {
      sift_up(at, {time, activity});
    } else {
      sift_down(at, {time, activity});
    }
  }

 private:
  static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();

  void put(std::size_t at, const Event& event) {
    heap_[at] = event;
    place_[event.activity] = static_cast<std::uint32_t>(at);
  }

  void sift_up(std::size_t at, const Event& event) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / 4;
      if (heap_[parent].time <= event.time) break;
      put(at, heap_[parent]);
      at = parent;
    }
    put(at, event);
  }

  void sift_down(std::size_t at, const Event& event) {
    const std::size_t size = heap_.size();
    for (;;) {
      const std::size_t first = 4 * at + 1;
      if (first >= size) break;
      std::size_t least = first;
      const std::size_t last = first + 4 < size ? first + 4 : size;
      for (std::size_t child = first + 1; child < last; ++child) {
        if (heap_[child].time < heap_[least].time) least = child;
      }
      if (heap_[least].time >= event.time) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, event);
  }

  std::vector<Event> heap_;
  std::vector<std::uint32_t> place_;
};

}  // namespace sgsim::engine

#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace sgsim {

/// What stop_if_asked() throws. No std::exception: only who opened the scope catches it.
struct Stopped {};

/// While one is open on a thread, long loops there (lowering, the fast engine) ask it now and then whether to go on, and throw Stopped where it says that
/// they should not. Of the thread, so that the stages between a search and those loops need not hand a question through; an inner scope takes the outer's place.
class StopScope {
 public:
  explicit StopScope(std::function<bool()> wanted) : wanted_(std::move(wanted)), outer_(std::exchange(open_, this)) {}
  ~StopScope() { open_ = outer_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  friend void stop_if_asked();
  std::function<bool()> wanted_;
  StopScope* outer_;
  inline static thread_local StopScope* open_ = nullptr;
};

inline void stop_if_asked() {
  if (StopScope::open_ != nullptr && StopScope::open_->wanted_()) throw Stopped{};
}

/// stop_if_asked() at every 4,096th turn of a loop: some 0.1 ms of lowering or simulating.
class StopWatch {
 public:
  void turn() {
    if ((++turns_ & 4095U) == 0) stop_if_asked();
  }

 private:
  std::uint32_t turns_ = 0;
};

}  // namespace sgsim

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace sgsim::search {

/// Calls work(thread, index) for each index below `count`, in order of index on free threads, until stop() says so. Rethrows the first failure.
template <class Stop, class Work>
void parallel(unsigned thread_count, std::size_t count, Stop stop, Work work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failing;
  const auto body = [&](unsigned thread) {
    try {
      for (std::size_t i = next++; i < count && !stop(); i = next++) work(thread, i);
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < std::max(1u, thread_count); ++t) threads.emplace_back(body, t);
  body(0);
  for (std::thread& t : threads) t.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sgsim::search

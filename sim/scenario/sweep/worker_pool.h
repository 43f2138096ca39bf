#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sgsim::scenario {

/// Worker processes that answer numbers with texts. A worker that dies takes only its own number with it. Make the pool
/// before the program starts threads: workers are forks. When the parent dies, however hard, the workers end.
class WorkerPool {
 public:
  using Work = std::function<std::string(std::uint64_t number)>;

  /// `fresh`: each number gets a process of its own (for engines that cannot run twice in one).
  /// Throws EnvironmentError when the system gives no process.
  WorkerPool(unsigned workers, bool fresh, Work work);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] bool has_idle() const;
  [[nodiscard]] bool has_busy() const;
  /// Hands a number to an idle worker.
  void submit(std::uint64_t number);

  struct Answer {
    std::uint64_t number = 0;
    std::optional<std::string> text;  // nothing: the worker died
    std::string death;                // of what
  };
  /// Waits for the next answer of a busy worker; nothing when none came within `milliseconds`.
  [[nodiscard]] std::optional<Answer> wait(int milliseconds);

 private:
  struct Worker {
    pid_t process = -1;
    int socket = -1;
    std::optional<std::uint64_t> number;
  };
  void start(Worker& worker);
  [[nodiscard]] std::string end(Worker& worker);
  Answer answer_of(Worker& worker);

  bool fresh_;
  Work work_;
  std::vector<Worker> workers_;
};

}  // namespace sgsim::scenario

#include "sim/scenario/sweep/worker_pool.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "sim/core/error.h"

namespace sgsim::scenario {
namespace {

bool send_all(int socket, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

/// The life of a worker: numbers in, texts out, until the parent closes its end.
[[noreturn]] void serve(int socket, const WorkerPool::Work& work) {
  std::uint64_t number = 0;
  while (receive_all(socket, &number, sizeof number)) {
    const std::string text = work(number);
    const std::uint64_t size = text.size();
    if (!send_all(socket, &size, sizeof size) || !send_all(socket, text.data(), text.size())) break;
  }
  _exit(0);  // not exit: what the parent had open and buffered is the parent's
}

}  // namespace

WorkerPool::WorkerPool(unsigned workers, bool fresh, Work work) : fresh_(fresh), work_(std::move(work)), workers_(std::max(1U, workers)) {
  for (Worker& worker : workers_) start(worker);
}

WorkerPool::~WorkerPool() {
  for (Worker& worker : workers_) {
    if (worker.process <= 0) continue;
    if (worker.number) kill(worker.process, SIGKILL);
    (void)end(worker);
  }
}

void WorkerPool::start(Worker& worker) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw EnvironmentError(std::string("no socket for a worker process: ") + std::strerror(errno));
  std::fflush(nullptr);
  const pid_t process = fork();
  if (process < 0) {
    close(ends[0]);
    close(ends[1]);
    throw EnvironmentError(std::string("no worker process: ") + std::strerror(errno));
  }
  if (process == 0) {
    close(ends[0]);
    // An end that stays open here would keep the other workers alive after the parent.
    for (const Worker& other : workers_) {
      if (other.socket >= 0) close(other.socket);
    }
    serve(ends[1], work_);
  }
  close(ends[1]);
  worker = {.process = process, .socket = ends[0], .number = std::nullopt};
}

/// Closes a worker's socket, waits for its end and says what it was.
std::string WorkerPool::end(Worker& worker) {
  close(worker.socket);
  int status = 0;
  while (waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
  }
  worker.process = worker.socket = -1;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return std::string("the process ended by signal ") + std::to_string(signal) + " (" + strsignal(signal) + (signal == SIGKILL ? "; out of memory?)" : ")");
  }
  return "the process ended with status " + std::to_string(WEXITSTATUS(status));
}

bool WorkerPool::has_idle() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return !w.number; });
}

bool WorkerPool::has_busy() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.number.has_value(); });
}

void WorkerPool::submit(std::uint64_t number) {
  const auto idle = std::find_if(workers_.begin(), workers_.end(), [](const Worker& w) { return !w.number; });
  SGSIM_CHECK(idle != workers_.end(), "no idle worker");
  if (idle->process <= 0) start(*idle);
  if (!send_all(idle->socket, &number, sizeof number)) {  // it died while idle
    (void)end(*idle);
    start(*idle);
    if (!send_all(idle->socket, &number, sizeof number)) throw EnvironmentError("a worker process does not listen");
  }
  idle->number = number;
}

WorkerPool::Answer WorkerPool::answer_of(Worker& worker) {
  Answer answer{.number = *worker.number, .text = std::nullopt, .death = ""};
  worker.number.reset();
  std::uint64_t size = 0;
  std::string text;
  bool whole = receive_all(worker.socket, &size, sizeof size);
  if (whole) {
    text.resize(size);
    whole = receive_all(worker.socket, text.data(), size);
  }
  if (whole) {
    answer.text = std::move(text);
    if (fresh_) (void)end(worker);
  } else {
    answer.death = end(worker);
  }
  return answer;
}

std::optional<WorkerPool::Answer> WorkerPool::wait(int milliseconds) {
  std::vector<pollfd> waits;
  std::vector<Worker*> who;
  for (Worker& worker : workers_) {
    if (!worker.number) continue;
    waits.push_back({.fd = worker.socket, .events = POLLIN, .revents = 0});
    who.push_back(&worker);
  }
  const int ready = poll(waits.data(), waits.size(), milliseconds);
  if (ready < 0 && errno != EINTR) throw EnvironmentError(std::string("cannot wait for worker processes: ") + std::strerror(errno));
  for (std::size_t i = 0; ready > 0 && i < waits.size(); ++i) {
    if (waits[i].revents != 0) return answer_of(*who[i]);
  }
  return std::nullopt;
}

}  // namespace sgsim::scenario

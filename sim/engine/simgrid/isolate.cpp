#include "sim/engine/simgrid/isolate.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <type_traits>

#include "sim/core/error.h"

namespace sgsim::engine {
namespace {

enum class Outcome : char { result = 'R', bad_input = 'I', our_bug = 'B', environment = 'E' };

/// Bytes of one process for another of the same build.
class Writer {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void put_text(const std::string& text) {
    put(text.size());
    bytes_ += text;
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(values.size());
    if (!values.empty()) bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T value;
    std::memcpy(static_cast<void*>(&value), take(sizeof(T)), sizeof(T));
    return value;
  }
  std::string get_text() {
    const auto size = get<std::size_t>();
    return {take(size), size};
  }
  template <class T>
  std::vector<T> get_all() {
    std::vector<T> values(get<std::size_t>());
    if (!values.empty()) std::memcpy(static_cast<void*>(values.data()), take(values.size() * sizeof(T)), values.size() * sizeof(T));
    return values;
  }

 private:
  const char* take(std::size_t size) {
    if (bytes_.size() - at_ < size) throw EnvironmentError("the simgrid process ended before it had written its result");
    at_ += size;
    return bytes_.data() + at_ - size;
  }
  const std::string& bytes_;
  std::size_t at_ = 0;
};

std::string outcome_of(const std::function<timeline::Timeline()>& simulate) {
  Writer w;
  try {
    const timeline::Timeline t = simulate();
    w.put(Outcome::result);
    w.put(t.step_time);
    w.put(t.tasks);
    w.put_all(t.ranks);
    w.put_all(t.spans);
    w.put(t.engine_settings.size());
    for (const std::string& setting : t.engine_settings) w.put_text(setting);
  } catch (const InputError& error) {
    const InputProblem& p = error.problem();
    w.put(Outcome::bad_input);
    for (const std::string* field : {&p.file, &p.where, &p.found, &p.expected, &p.hint}) w.put_text(*field);
  } catch (const InternalError& error) {
    w.put(Outcome::our_bug);
    w.put_text(error.what());
  } catch (const std::exception& error) {
    w.put(Outcome::environment);
    w.put_text(error.what());
  }
  return w.bytes();
}

timeline::Timeline result_of(const std::string& bytes) {
  Reader r(bytes);
  switch (r.get<Outcome>()) {
    case Outcome::result: break;
    case Outcome::bad_input: {
      InputProblem p;
      for (std::string* field : {&p.file, &p.where, &p.found, &p.expected, &p.hint}) *field = r.get_text();
      throw InputError(p);
    }
    case Outcome::our_bug: throw InternalError(r.get_text());
    case Outcome::environment: throw EnvironmentError(r.get_text());
  }
  timeline::Timeline t;
  t.step_time = r.get<Seconds>();
  t.tasks = r.get<std::uint64_t>();
  t.ranks = r.get_all<timeline::Accounting>();
  t.spans = r.get_all<timeline::Span>();
  const auto settings = r.get<std::size_t>();
  for (std::size_t s = 0; s < settings; ++s) t.engine_settings.push_back(r.get_text());
  return t;
}

/// The child ends when its parent does, whatever ended that, and by the signals that end any program.
void end_with(pid_t parent) {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal_number, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it had ended before it could be watched
}

[[noreturn]] void child_main(int out, const std::function<timeline::Timeline()>& simulate) {
  const std::string bytes = outcome_of(simulate);
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = write(out, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);
    written += static_cast<std::size_t>(n);
  }
  _exit(0);  // no destructors: they belong to the parent
}

std::string read_all(int in) {
  std::string bytes;
  char buffer[65536];
  for (;;) {
    const ssize_t n = read(in, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(n));
  }
}

}  // namespace

timeline::Timeline run_in_child(const std::function<timeline::Timeline()>& simulate) {
  int ends[2];
  if (pipe(ends) != 0) throw EnvironmentError(std::string("no pipe for the simgrid process: ") + std::strerror(errno));
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    const std::string reason = std::strerror(errno);
    close(ends[0]);
    close(ends[1]);
    throw EnvironmentError("no process for the simgrid engine: " + reason);
  }
  if (child == 0) {
    close(ends[0]);
    end_with(parent);
    child_main(ends[1], simulate);
  }
  close(ends[1]);
  const std::string bytes = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    throw EnvironmentError(std::string("the simgrid process was ended by signal ") + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + "); not enough memory?");
  }
  return result_of(bytes);
}

}  // namespace sgsim::engine

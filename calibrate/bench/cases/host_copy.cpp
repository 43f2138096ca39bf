// Copies between host and device. Labels: direction, memory (pinned, pageable). Sizes: bytes. Pageable copies pass through the
// driver's staging buffer: CUPTI sees the pieces, the host the whole, so those are timed by the host's clock.
#include <chrono>
#include <cstring>

#include "calibrate/bench/cases/cases.h"

namespace sgsim::calibrate {
namespace {

struct State {
  bool to_device = true;
  std::size_t bytes = 0;
  std::unique_ptr<PinnedBuffer> pinned;
  std::vector<char> pageable;
  char* device = nullptr;
  char* echo = nullptr;  // where the check reads back

  [[nodiscard]] void* host() { return pinned ? pinned->data() : pageable.data(); }
  void copy(cudaStream_t stream) {
    check_cuda(to_device ? cudaMemcpyAsync(device, host(), bytes, cudaMemcpyHostToDevice, stream) : cudaMemcpyAsync(host(), device, bytes, cudaMemcpyDeviceToHost, stream),
               "copy between host and device");
  }
};

Check check_copy(Context& c, State& s) {
  std::vector<unsigned char> got(s.bytes), want(s.bytes);
  for (std::size_t i = 0; i < s.bytes; ++i) want[i] = static_cast<unsigned char>((i * 2654435761u) >> 13);
  if (s.to_device) {
    std::memcpy(s.host(), want.data(), s.bytes);
  } else {
    check_cuda(cudaMemcpy(s.device, want.data(), s.bytes, cudaMemcpyHostToDevice), "prepare a copy");
    std::memset(s.host(), 0xff, s.bytes);
  }
  s.copy(c.stream.get());
  c.stream.synchronize();
  if (s.to_device) check_cuda(cudaMemcpy(got.data(), s.device, s.bytes, cudaMemcpyDeviceToHost), "read a copy back");
  else std::memcpy(got.data(), s.host(), s.bytes);
  return {.error = got == want ? 0.0 : 1.0, .tolerance = 0.0};
}

}  // namespace

Task prepare_host_copy(Context& c, const Key& key) {
  auto s = std::make_shared<State>();
  s->to_device = key.is("direction", "host_to_device");
  s->bytes = static_cast<std::size_t>(key.size("bytes"));
  const bool pinned = key.is("memory", "pinned");
  if (pinned) s->pinned = std::make_unique<PinnedBuffer>(s->bytes);
  else s->pageable.resize(s->bytes);
  s->device = c.pool.take(s->bytes);
  Task task{.timing = DeviceTimed{[s, &c](int) { s->copy(c.stream.get()); }}, .synchronize = c.synchronizer(), .check = [s, &c] { return check_copy(c, *s); }, .holds = s};
  if (pinned) return task;
  task.timing = SelfTimed{.measure =
                              [s, &c] {
                                std::vector<double> samples;
                                const int runs = s->bytes > (64u << 20) ? 3 : 10;
                                for (int r = 0; r < runs; ++r) {
                                  const auto begin = std::chrono::steady_clock::now();
                                  s->copy(c.stream.get());
                                  c.stream.synchronize();
                                  samples.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
                                }
                                return samples;
                              },
                          .records_off = true};
  return task;
}

}  // namespace sgsim::calibrate

#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace sgsim::calibrate {

/// The one checked call of the CUDA runtime: throws EnvironmentError with CUDA's words and `what` was done.
void check_cuda(cudaError_t status, const char* what);

/// Makes `device` the calling thread's current one while it lives.
class DeviceScope {
 public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int before_ = 0;
};

class Stream {
 public:
  Stream();
  /// Of the highest priority: its kernels go before others' thread blocks that have not started.
  [[nodiscard]] static Stream urgent();
  ~Stream();
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream(const Stream&) = delete;
  Stream& operator=(Stream&&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void synchronize() const { check_cuda(cudaStreamSynchronize(stream_), "wait for a stream"); }

 private:
  explicit Stream(cudaStream_t stream) : stream_(stream) {}
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event();
  ~Event();
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event(const Event&) = delete;
  Event& operator=(Event&&) = delete;
  [[nodiscard]] cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream) const { check_cuda(cudaEventRecord(event_, stream), "record an event"); }
  void synchronize() const { check_cuda(cudaEventSynchronize(event_), "wait for an event"); }
  /// From `begin` to this one; both have happened.
  [[nodiscard]] double seconds_since(const Event& begin) const;

 private:
  cudaEvent_t event_ = nullptr;
};

/// Device memory by cudaMalloc (never managed memory). Throws EnvironmentError when there is not enough.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] char* at(std::size_t offset) const { return static_cast<char*>(data_) + offset; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Page-locked host memory.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// A captured and instantiated CUDA graph.
class GraphExec {
 public:
  GraphExec() = default;
  explicit GraphExec(cudaGraphExec_t exec) : exec_(exec) {}
  ~GraphExec();
  GraphExec(GraphExec&& other) noexcept : exec_(std::exchange(other.exec_, nullptr)) {}
  GraphExec& operator=(GraphExec&& other) noexcept {
    std::swap(exec_, other.exec_);
    return *this;
  }
  void launch(cudaStream_t stream) const { check_cuda(cudaGraphLaunch(exec_, stream), "launch a CUDA graph"); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

class Graph {
 public:
  explicit Graph(cudaGraph_t graph) : graph_(graph) {}
  ~Graph();
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&&) = delete;
  [[nodiscard]] cudaGraph_t get() const { return graph_; }
  [[nodiscard]] GraphExec instantiate() const;

 private:
  cudaGraph_t graph_ = nullptr;
};

/// Captures what `enqueue()` puts on `stream` (thread-local mode).
template <class Enqueue>
[[nodiscard]] Graph capture(cudaStream_t stream, Enqueue&& enqueue) {
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin a capture");
  enqueue();
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(stream, &graph), "end a capture");
  return Graph(graph);
}

/// Throws after a kernel launch that failed.
inline void check_launch(const char* what) { check_cuda(cudaGetLastError(), what); }

}  // namespace sgsim::calibrate

#include "calibrate/device/cuda/cuda.h"

#include "sim/core/error.h"

namespace sgsim::calibrate {

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // an error that does not break the context must not be reported again later
  throw EnvironmentError(std::string("CUDA could not ") + what + ": " + cudaGetErrorString(status));
}

DeviceScope::DeviceScope(int device) {
  check_cuda(cudaGetDevice(&before_), "tell the current device");
  check_cuda(cudaSetDevice(device), "select a device");
}
DeviceScope::~DeviceScope() { (void)cudaSetDevice(before_); }

Stream::Stream() { check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream"); }
Stream Stream::urgent() {
  int least = 0, greatest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "tell stream priorities");
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), "make a stream");
  return Stream(stream);
}
Stream::~Stream() {
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

Event::Event() { check_cuda(cudaEventCreate(&event_), "make an event"); }
Event::~Event() {
  if (event_ != nullptr) (void)cudaEventDestroy(event_);
}
double Event::seconds_since(const Event& begin) const {
  float milliseconds = 0.0F;
  check_cuda(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "read two events");
  return static_cast<double>(milliseconds) * 1e-3;
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) { check_cuda(cudaMalloc(&data_, bytes), "allocate device memory"); }
DeviceBuffer::~DeviceBuffer() {
  if (data_ != nullptr) (void)cudaFree(data_);
}

PinnedBuffer::PinnedBuffer(std::size_t bytes) { check_cuda(cudaMallocHost(&data_, bytes), "allocate page-locked memory"); }
PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) (void)cudaFreeHost(data_);
}

GraphExec::~GraphExec() {
  if (exec_ != nullptr) (void)cudaGraphExecDestroy(exec_);
}
Graph::~Graph() {
  if (graph_ != nullptr) (void)cudaGraphDestroy(graph_);
}
GraphExec Graph::instantiate() const {
  cudaGraphExec_t exec = nullptr;
  check_cuda(cudaGraphInstantiate(&exec, graph_, 0), "instantiate a CUDA graph");
  return GraphExec(exec);
}

}  // namespace sgsim::calibrate

#pragma once

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/device/cuda/cuda.h"

namespace sgsim::calibrate {

/// A tensor of a cuDNN operation graph. Virtual ones live inside kernels only; a scalar is passed from host memory.
struct DnnTensor {
  std::int64_t uid = 0;
  std::vector<std::int64_t> dims, strides;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool is_virtual = false, is_scalar = false;
};

/// Thrown when the library (its version, or this GPU) has no engine for the graph.
struct DnnUnsupported {
  std::string reason;
};

/// A cuDNN handle, or, for building graphs on a machine without a GPU, the description of one as cuDNN serialises it.
class Dnn {
 public:
  Dnn();
  explicit Dnn(const std::string& device_properties_json);
  ~Dnn();
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;
  [[nodiscard]] cudnnHandle_t handle() const { return handle_; }
  [[nodiscard]] cudnnBackendDescriptor_t device() const { return device_; }
  [[nodiscard]] static std::string version();

 private:
  cudnnHandle_t handle_ = nullptr;
  cudnnBackendDescriptor_t device_ = nullptr;
};

/// An execution plan. `run` binds memory by tensor uid (scalars: host memory).
class DnnPlan {
 public:
  DnnPlan(cudnnBackendDescriptor_t plan, std::vector<std::shared_ptr<void>> holds, std::size_t workspace)
      : plan_(plan), holds_(std::move(holds)), workspace_(workspace) {}
  [[nodiscard]] std::size_t workspace_bytes() const { return workspace_; }
  void run(const Dnn& dnn, const std::map<std::int64_t, void*>& memory, void* workspace, cudaStream_t stream) const;

 private:
  cudnnBackendDescriptor_t plan_;
  std::vector<std::shared_ptr<void>> holds_;
  std::size_t workspace_;
};

/// Builds one operation graph; operations in the order of their calls.
class DnnGraph {
 public:
  /// Gives the tensor its uid (1, 2, ...) and makes its descriptor.
  DnnTensor tensor(std::vector<std::int64_t> dims, std::vector<std::int64_t> strides, cudnnDataType_t type);
  DnnTensor inner(std::vector<std::int64_t> dims, std::vector<std::int64_t> strides, cudnnDataType_t type = CUDNN_DATA_FLOAT);
  DnnTensor scalar();

  void matmul(const DnnTensor& a, const DnnTensor& b, const DnnTensor& out);
  void pointwise(cudnnPointwiseMode_t mode, const DnnTensor& x, const DnnTensor& out, const std::optional<DnnTensor>& b = std::nullopt,
                 const std::optional<DnnTensor>& mask = std::nullopt);
  void index_along(int axis, const DnnTensor& like, const DnnTensor& out);
  void reduce(cudnnReduceTensorOp_t op, const DnnTensor& x, const DnnTensor& out);
  void reshape(const DnnTensor& x, const DnnTensor& out);
  struct Window {
    std::int64_t padding = 0, stride = 1;
  };
  enum class Pass { forward, input_gradient, weight_gradient };
  /// x: image, w: filter, y: result (or its gradient); the pass says which one is written.
  void convolution(Pass pass, const DnnTensor& x, const DnnTensor& w, const DnnTensor& y, Window window);

  /// The first engine that the heuristics (mode A) recommend and that can be made; throws DnnUnsupported when there is none.
  [[nodiscard]] std::unique_ptr<DnnPlan> plan(const Dnn& dnn);
  /// Engine and knobs that the heuristics recommend first ("engine 2, ..."), without making a plan: works without a GPU.
  [[nodiscard]] std::string recommended(const Dnn& dnn);

 private:
  cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type);
  void finish_operation(cudnnBackendDescriptor_t operation);
  DnnTensor add(DnnTensor tensor);
  [[nodiscard]] cudnnBackendDescriptor_t of(const DnnTensor& tensor) const { return tensors_.at(tensor.uid); }
  cudnnBackendDescriptor_t finish_graph(const Dnn& dnn);
  std::vector<cudnnBackendDescriptor_t> engines(const Dnn& dnn);

  std::vector<std::shared_ptr<void>> holds_;
  std::map<std::int64_t, cudnnBackendDescriptor_t> tensors_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::int64_t next_uid_ = 1;
};

}  // namespace sgsim::calibrate

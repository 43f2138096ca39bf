#include "calibrate/device/cuda/dnn.h"

#include "sim/core/error.h"

namespace sgsim::calibrate {
namespace {

void check_dnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char detail[512] = {};
  cudnnGetLastErrorString(detail, sizeof detail);
  throw EnvironmentError(std::string("cuDNN could not ") + what + ": " + cudnnGetErrorString(status) + (detail[0] != 0 ? std::string(" (") + detail + ")" : ""));
}

template <class T>
void set(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
  check_dnn(cudnnBackendSetAttribute(d, name, type, 1, &value), "describe an operation");
}
void set(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
  check_dnn(cudnnBackendSetAttribute(d, name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data()), "describe an operation");
}
void set(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t other) {
  set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other);
}
void finalize(cudnnBackendDescriptor_t d, const char* what) { check_dnn(cudnnBackendFinalize(d), what); }

std::shared_ptr<void> owned(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t& raw) {
  check_dnn(cudnnBackendCreateDescriptor(type, &raw), "make a descriptor");
  return {raw, [](void* d) { (void)cudnnBackendDestroyDescriptor(d); }};
}

}  // namespace

Dnn::Dnn() { check_dnn(cudnnCreate(&handle_), "start"); }

Dnn::Dnn(const std::string& json) {
  check_dnn(cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device_), "describe a device");
  check_dnn(cudnnBackendSetAttribute(device_, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(json.size() + 1), json.c_str()),
            "read a device's description");
  finalize(device_, "finish a device's description");
}

Dnn::~Dnn() {
  if (handle_ != nullptr) (void)cudnnDestroy(handle_);
  if (device_ != nullptr) (void)cudnnBackendDestroyDescriptor(device_);
}

std::string Dnn::version() {
  const std::size_t v = cudnnGetVersion();  // major * 10000 + minor * 100 + patch since 9.0
  return std::to_string(v / 10000) + "." + std::to_string(v % 10000 / 100) + "." + std::to_string(v % 100);
}

void DnnPlan::run(const Dnn& dnn, const std::map<std::int64_t, void*>& memory, void* workspace, cudaStream_t stream) const {
  cudnnBackendDescriptor_t pack = nullptr;
  const std::shared_ptr<void> hold = owned(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, pack);
  std::vector<std::int64_t> uids;
  std::vector<void*> pointers;
  for (const auto& [uid, pointer] : memory) {
    uids.push_back(uid);
    pointers.push_back(pointer);
  }
  set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids);
  check_dnn(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(pointers.size()), pointers.data()),
            "bind memory");
  set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  finalize(pack, "bind memory");
  check_dnn(cudnnSetStream(dnn.handle(), stream), "select a stream");
  check_dnn(cudnnBackendExecute(dnn.handle(), plan_, pack), "run a plan");
}

cudnnBackendDescriptor_t DnnGraph::make(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  holds_.push_back(owned(type, raw));
  return raw;
}

DnnTensor DnnGraph::add(DnnTensor t) {
  t.uid = next_uid_++;
  cudnnBackendDescriptor_t d = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, t.type);
  set(d, CUDNN_ATTR_TENSOR_DIMENSIONS, t.dims);
  set(d, CUDNN_ATTR_TENSOR_STRIDES, t.strides);
  set(d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, t.uid);
  set(d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{16});
  set(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, t.is_virtual);
  set(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, t.is_scalar);
  finalize(d, "describe a tensor");
  tensors_[t.uid] = d;
  return t;
}

DnnTensor DnnGraph::tensor(std::vector<std::int64_t> dims, std::vector<std::int64_t> strides, cudnnDataType_t type) {
  return add({.uid = 0, .dims = std::move(dims), .strides = std::move(strides), .type = type});
}
DnnTensor DnnGraph::inner(std::vector<std::int64_t> dims, std::vector<std::int64_t> strides, cudnnDataType_t type) {
  return add({.uid = 0, .dims = std::move(dims), .strides = std::move(strides), .type = type, .is_virtual = true});
}
DnnTensor DnnGraph::scalar() { return add({.uid = 0, .dims = {1, 1, 1, 1}, .strides = {1, 1, 1, 1}, .type = CUDNN_DATA_FLOAT, .is_virtual = false, .is_scalar = true}); }

void DnnGraph::finish_operation(cudnnBackendDescriptor_t operation) {
  finalize(operation, "finish an operation");
  operations_.push_back(operation);
}

void DnnGraph::matmul(const DnnTensor& a, const DnnTensor& b, const DnnTensor& out) {
  cudnnBackendDescriptor_t d = make(CUDNN_BACKEND_MATMUL_DESCRIPTOR), op = make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  set(d, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  finalize(d, "describe a matrix product");
  set(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, of(a));
  set(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, of(b));
  set(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, of(out));
  set(op, CUDNN_ATTR_OPERATION_MATMUL_DESC, d);
  finish_operation(op);
}

void DnnGraph::pointwise(cudnnPointwiseMode_t mode, const DnnTensor& x, const DnnTensor& out, const std::optional<DnnTensor>& b, const std::optional<DnnTensor>& mask) {
  cudnnBackendDescriptor_t d = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR), op = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set(d, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  set(d, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, out.type == CUDNN_DATA_BOOLEAN ? CUDNN_DATA_BOOLEAN : CUDNN_DATA_FLOAT);
  finalize(d, "describe an elementwise operation");
  set(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d);
  set(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, of(x));
  if (b) set(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, of(*b));
  if (mask) set(op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, of(*mask));
  set(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, of(out));
  finish_operation(op);
}

void DnnGraph::index_along(int axis, const DnnTensor& like, const DnnTensor& out) {
  cudnnBackendDescriptor_t d = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR), op = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set(d, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_GEN_INDEX);
  set(d, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  set(d, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, static_cast<std::int64_t>(axis));
  finalize(d, "describe an index");
  set(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d);
  set(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, of(like));
  set(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, of(out));
  finish_operation(op);
}

void DnnGraph::reduce(cudnnReduceTensorOp_t reduction, const DnnTensor& x, const DnnTensor& out) {
  cudnnBackendDescriptor_t d = make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR), op = make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  set(d, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, reduction);
  set(d, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  finalize(d, "describe a reduction");
  set(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, d);
  set(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, of(x));
  set(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, of(out));
  finish_operation(op);
}

void DnnGraph::reshape(const DnnTensor& x, const DnnTensor& out) {
  cudnnBackendDescriptor_t op = make(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  set(op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, of(x));
  set(op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, of(out));
  finish_operation(op);
}

void DnnGraph::convolution(Pass pass, const DnnTensor& x, const DnnTensor& w, const DnnTensor& y, Window window) {
  cudnnBackendDescriptor_t d = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const std::vector<std::int64_t> padding(2, window.padding), strides(2, window.stride), dilation(2, 1);
  set(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  set(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  set(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2});
  set(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, padding);
  set(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, padding);
  set(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides);
  set(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, dilation);
  finalize(d, "describe a convolution");
  const float one = 1.0F, zero = 0.0F;
  cudnnBackendDescriptor_t op = nullptr;
  switch (pass) {
    case Pass::forward:
      op = make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, of(x));
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, of(w));
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, of(y));
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, d);
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, one);
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, zero);
      break;
    case Pass::input_gradient:
      op = make(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, of(x));
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, of(w));
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, of(y));
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, d);
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, one);
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, zero);
      break;
    case Pass::weight_gradient:
      op = make(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, of(x));
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, of(w));
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, of(y));
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, d);
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, one);
      set(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, zero);
      break;
  }
  finish_operation(op);
}

cudnnBackendDescriptor_t DnnGraph::finish_graph(const Dnn& dnn) {
  cudnnBackendDescriptor_t graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  check_dnn(cudnnBackendSetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(operations_.size()), operations_.data()),
            "gather operations");
  if (dnn.handle() != nullptr) set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, dnn.handle());
  finalize(graph, "finish an operation graph");
  return graph;
}

std::vector<cudnnBackendDescriptor_t> DnnGraph::engines(const Dnn& dnn) {
  cudnnBackendDescriptor_t heuristics = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, finish_graph(dnn));
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  if (dnn.device() != nullptr) set(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, dnn.device());
  if (cudnnBackendFinalize(heuristics) != CUDNN_STATUS_SUCCESS) throw DnnUnsupported{"cuDNN " + Dnn::version() + " has no engine for this graph here"};
  constexpr std::int64_t kMost = 8;
  std::vector<cudnnBackendDescriptor_t> configs;
  for (std::int64_t i = 0; i < kMost; ++i) configs.push_back(make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
  std::int64_t found = 0;
  const cudnnStatus_t status =
      cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, kMost, &found, configs.data());
  if (status != CUDNN_STATUS_SUCCESS || found == 0) throw DnnUnsupported{"cuDNN " + Dnn::version() + " recommends no engine for this graph here"};
  configs.resize(static_cast<std::size_t>(found));
  return configs;
}

std::string DnnGraph::recommended(const Dnn& dnn) {
  cudnnBackendDescriptor_t engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::int64_t count = 0;
  check_dnn(cudnnBackendGetAttribute(engines(dnn).front(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine), "tell an engine");
  std::int64_t index = -1;
  check_dnn(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &count, &index), "tell an engine's number");
  return "engine " + std::to_string(index);
}

std::unique_ptr<DnnPlan> DnnGraph::plan(const Dnn& dnn) {
  std::string reason;
  for (cudnnBackendDescriptor_t config : engines(dnn)) {
    cudnnBackendDescriptor_t plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (dnn.handle() != nullptr) set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, dnn.handle());
    if (dnn.device() != nullptr) set(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, dnn.device());
    set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    const cudnnStatus_t status = cudnnBackendFinalize(plan);
    if (status != CUDNN_STATUS_SUCCESS) {
      char detail[256] = {};
      cudnnGetLastErrorString(detail, sizeof detail);
      reason = detail;
      continue;
    }
    std::int64_t workspace = 0, count = 0;
    check_dnn(cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &workspace), "tell a plan's workspace");
    return std::make_unique<DnnPlan>(plan, holds_, static_cast<std::size_t>(workspace));
  }
  throw DnnUnsupported{"cuDNN " + Dnn::version() + " could make no plan: " + reason};
}

}  // namespace sgsim::calibrate

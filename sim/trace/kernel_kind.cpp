#include "sim/trace/kernel_kind.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace sgsim::trace {
namespace {

struct Word {
  const char* part;
  KernelKind kind;
};

// In order: the first word found decides. Lower case.
constexpr Word kWords[] = {
    {"nccl", KernelKind::communication}, {"memcpy", KernelKind::copy}, {"memset", KernelKind::set},
    {"multi_tensor_apply", KernelKind::optimizer}, {"adam", KernelKind::optimizer}, {"foreach", KernelKind::optimizer},
    {"flash", KernelKind::attention}, {"fmha", KernelKind::attention}, {"sdpa", KernelKind::attention}, {"attention", KernelKind::attention},
    {"cudnn::fusion::compute_dot_do_o", KernelKind::attention}, {"convert_dq", KernelKind::attention},
    {"triton_poi", KernelKind::pointwise}, {"triton_red", KernelKind::reduction}, {"triton_per", KernelKind::reduction},
    {"fprop", KernelKind::convolution}, {"dgrad", KernelKind::convolution}, {"wgrad", KernelKind::convolution}, {"conv", KernelKind::convolution}, {"winograd", KernelKind::convolution},
    {"gemm", KernelKind::matmul}, {"nvjet", KernelKind::matmul}, {"cutlass::kernel", KernelKind::matmul}, {"gemv", KernelKind::matmul}, {"splitkreduce", KernelKind::matmul}, {"cublas", KernelKind::matmul},
    {"layernorm", KernelKind::normalisation}, {"layer_norm", KernelKind::normalisation}, {"rmsnorm", KernelKind::normalisation}, {"rms_norm", KernelKind::normalisation},
    {"batch_norm", KernelKind::normalisation}, {"bn_fw", KernelKind::normalisation}, {"bn_bw", KernelKind::normalisation}, {"gammabeta", KernelKind::normalisation},
    {"softmax", KernelKind::softmax_loss}, {"nll_loss", KernelKind::softmax_loss}, {"cross_entropy", KernelKind::softmax_loss},
    {"embedding", KernelKind::embedding_index}, {"index", KernelKind::embedding_index}, {"gather", KernelKind::embedding_index}, {"scatter", KernelKind::embedding_index},
    {"reduce", KernelKind::reduction}, {"elementwise", KernelKind::pointwise}, {"pointwise", KernelKind::pointwise}, {"copy", KernelKind::pointwise}, {"cat", KernelKind::pointwise},
    {"triton", KernelKind::pointwise},
};

}  // namespace

KernelKind kernel_kind(std::string_view name) {
  for (const char* product : {"mm", "bmm", "addmm", "baddbmm", "_scaled_mm"}) {  // as timelines of sgsim name them
    if (name == product) return KernelKind::matmul;
  }
  std::string text(name.substr(0, 400));
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Word& word : kWords) {
    if (text.find(word.part) != std::string::npos) return word.kind;
  }
  return KernelKind::other;
}

KernelKind kernel_kind(const ImportedRun& run, const DeviceOp& op) {
  if (op.collective != kNone) return KernelKind::communication;
  if (op.kind == DeviceKind::copy) return KernelKind::copy;
  if (op.kind == DeviceKind::set) return KernelKind::set;
  return kernel_kind(run.strings.at(op.name));
}

const char* name_of(KernelKind kind) {
  constexpr const char* kNames[kKernelKinds] = {"matrix product", "attention", "convolution", "normalisation", "softmax and loss", "embedding and index", "reduction",
                                                "pointwise", "optimizer", "communication", "copy", "memset", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace sgsim::trace

#pragma once

#include <optional>
#include <set>
#include <string>

#include "sim/import/hf_config/config.h"
#include "sim/import/hf_config/hf_config.h"
#include "sim/import/hf_config/ops.h"

namespace sgsim::import::hf {

/// x A^T B^T beside a linear layer: A [rank, in], B [out, rank].
struct Adapter {
  ValueRef a, b;
};

/// A weight with its bias and its adapter, if it has them.
struct Affine {
  ValueRef weight;
  std::optional<ValueRef> bias;
  std::optional<Adapter> adapter;
};

/// Declares sources on a tape with the names and types of the model.
class Sources {
 public:
  Sources(Tape& tape, const GenerateOptions& options);
  ValueRef parameter(const std::string& name, Dims shape);
  Affine affine(const std::string& module, Dims weight_shape, std::int64_t bias_size);  // bias_size 0: none
  /// Weight [out, in] of a linear layer that may have an adapter; `transposed`: [in, out], as Conv1D keeps it.
  Affine projection(const std::string& module, Dims weight_shape, std::int64_t bias_size, bool transposed = false);
  ValueRef buffer(const std::string& name, Dims shape, DType dtype);
  ValueRef input(const std::string& name, Dims shape);  // int64

  /// Throws InputError when a target of the adapters has named no projection.
  void check_targets() const;

 private:
  [[nodiscard]] bool has_adapter(const std::string& module);

  Tape& tape_;
  DType dtype_;
  const Adapters& adapters_;
  std::set<std::string> names_;  // last parts of all projections' names
};

/// What the modules of one model share.
struct Model {
  Tape& tape;
  const Config& config;
  const GenerateOptions& options;
};

/// nn.Linear: x W^T (+ b), weight [out, in].
ValueRef linear(Model& model, const std::string& path, ValueRef x, const Affine& affine);
/// GPT-2's Conv1D: x W + b, weight [in, out].
ValueRef conv1d(Model& model, const std::string& path, ValueRef x, const Affine& affine);
ValueRef rms_norm(Model& model, const std::string& path, std::string_view type, ValueRef x, ValueRef weight);
ValueRef layer_norm(Model& model, const std::string& path, ValueRef x, const Affine& affine);
ValueRef activate(Model& model, const std::string& path, ValueRef x);
ValueRef drop(Model& model, const std::string& path, ValueRef x, double p);

/// Causal mask, true where a query sees a key: [micro_batch, 1, sequence, sequence]; for a dense mask.
ValueRef visible_mask(Model& model);
/// True where a query must not see a key: [1, sequence, sequence]; for unfused attention.
ValueRef hidden_mask(Model& model);

/// softmax(q k^T) v over [batch, heads, length, size] -> [batch, length, heads * size]. `mask` is visible_mask for a dense
/// mask, hidden_mask for unfused attention, nothing for flash attention or when every key is seen. Key and value heads are
/// repeated where the operator needs equal heads (dense mask, unfused).
ValueRef attend(Model& model, ValueRef q, ValueRef k, ValueRef v, std::optional<ValueRef> mask, bool causal);

/// Mean cross entropy of [batch, length, vocabulary] logits; with `shift`, token i is judged by label i + 1.
ValueRef cross_entropy(Model& model, ValueRef logits, ValueRef labels, bool shift);

}  // namespace sgsim::import::hf

// Fused attention through cuDNN. Labels: dtype, kernel "flash" ("unfused": attention_unfused.cu), pass, causal, mask "dense"
// for an explicit additive mask. Sizes: batch, heads, kv_heads, length, head_dim.
#include "calibrate/bench/cases/cases.h"
#include "calibrate/bench/cases/reference_attention.h"
#include "calibrate/bench/cases/workshop.h"

namespace sgsim::calibrate {
namespace {

struct Operands {
  SdpaShape shape;
  SdpaMemory memory;
  std::shared_ptr<Sdpa> forward, backward;  // backward only when that is measured
  char* scratch = nullptr;

  Operands(Context& c, const SdpaShape& s) : shape(s) {
    const std::size_t q_bytes = s.q_elements() * 2, kv_bytes = s.kv_elements() * 2;
    const auto random = [&](std::size_t bytes) {
      char* data = c.pool.take(bytes);
      fill_random(data, bytes / 2, s.element, c.seed++, 1.0F, c.stream.get());
      return data;
    };
    memory = {.q = random(q_bytes), .k = random(kv_bytes), .v = random(kv_bytes), .out = c.pool.take(q_bytes), .stats = c.pool.take(s.rows() * 4),
              .mask = s.dense_mask ? random(static_cast<std::size_t>(s.length * s.length) * 2) : nullptr, .d_out = random(q_bytes), .dq = c.pool.take(q_bytes),
              .dk = c.pool.take(kv_bytes), .dv = c.pool.take(kv_bytes)};
  }
  void take_scratch(Context& c) {
    scratch = c.pool.take(std::max(forward->scratch_bytes(), backward ? backward->scratch_bytes() : 0) + 256);
  }
  void run(Context& c) const { (backward ? backward : forward)->run(c.dnn, memory, scratch, c.stream.get()); }
};

Check check_attention(Context& c, const Operands& o) {
  const std::size_t q_bytes = o.shape.q_elements() * 2, kv_bytes = o.shape.kv_elements() * 2;
  poison(o.memory.out, q_bytes, c.stream.get());
  poison(o.memory.stats, o.shape.rows() * 4, c.stream.get());
  o.forward->run(c.dnn, o.memory, o.scratch, c.stream.get());
  // bfloat16 keeps 8 bits of each probability and result; gradients pass through two such roundings.
  Check check{sdpa_forward_error(c, o.shape, o.memory), 2e-2};
  if (!o.backward || !check.passed()) return check;
  for (void* gradient : {o.memory.dq, o.memory.dk, o.memory.dv}) poison(gradient, gradient == o.memory.dq ? q_bytes : kv_bytes, c.stream.get());
  o.backward->run(c.dnn, o.memory, o.scratch, c.stream.get());
  const SdpaGradientErrors errors = sdpa_backward_error(c, o.shape, o.memory);
  check.tolerance = 4e-2;
  for (const double error : {errors.dq, errors.dk, errors.dv}) {
    if (!(error <= check.error)) check.error = error;  // also when it is NaN
  }
  return check;
}

Key forward_of(Key key) {
  key.labels["pass"] = "forward";
  return key;
}

}  // namespace

Task prepare_attention(Context& c, PlanWorkshop& workshop, const Key& key) {
  if (key.is("kernel", "unfused")) return prepare_unfused_attention(c, key);
  auto operands = std::make_shared<Operands>(c, sdpa_shape(key));
  try {
    operands->forward = workshop.sdpa(forward_of(key));
    if (is_backward(key)) operands->backward = workshop.sdpa(key);
  } catch (const DnnUnsupported& unsupported) {
    throw Waived{unsupported.reason};
  }
  operands->take_scratch(c);
  return {.timing = DeviceTimed{[operands, &c](int) { operands->run(c); }},
          .synchronize = c.synchronizer(),
          .check = [operands, &c] { return check_attention(c, *operands); },
          .sustain_seconds = key.is("set", "sustained") ? 0.5 : 0.0,
          .rest_seconds = key.is("set", "cool") ? 0.02 : 0.0,
          .probe = c.probe(),
          .holds = operands};
}

}  // namespace sgsim::calibrate

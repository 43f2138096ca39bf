#include "sim/import/hf_config/ops.h"

namespace sgsim::import::hf {
namespace {

bool column_major(const TensorType& type) { return !type.stride.empty() && type.stride[0] == 1; }

/// d loss / d a of a b: g b^T, kept in the layout of a.
ValueRef gradient_of_left(Tape& tape, ValueRef g, ValueRef a, ValueRef b) {
  if (column_major(tape.type(a))) {
    const ValueRef product = tape.call("aten.mm.default", b, tape.call("aten.t.default", g));
    return tape.call("aten.t.default", product);
  }
  return tape.call("aten.mm.default", g, tape.call("aten.t.default", b));
}

/// d loss / d b of a b: a^T g, kept in the layout of b (the gradient of x W^T is (g^T x)^T).
ValueRef gradient_of_right(Tape& tape, ValueRef g, ValueRef a, ValueRef b) {
  if (column_major(tape.type(b))) {
    const ValueRef product = tape.call("aten.mm.default", tape.call("aten.t.default", g), a);
    return tape.call("aten.t.default", product);
  }
  return tape.call("aten.mm.default", tape.call("aten.t.default", a), g);
}

}  // namespace

ValueRef mm(Tape& tape, ValueRef a, ValueRef b) {
  const ValueRef y = tape.call("aten.mm.default", a, b);
  tape.on_backward(y, {a, b}, [&tape, a, b](ValueRef g) {
    if (tape.differentiable(b)) tape.add_gradient(b, gradient_of_right(tape, g, a, b));
    if (tape.differentiable(a)) tape.add_gradient(a, gradient_of_left(tape, g, a, b));
  });
  return y;
}

ValueRef addmm(Tape& tape, ValueRef bias, ValueRef a, ValueRef b) {
  const ValueRef y = tape.call("aten.addmm.default", bias, a, b);
  tape.on_backward(y, {bias, a, b}, [&tape, bias, a, b](ValueRef g) {
    if (tape.differentiable(a)) tape.add_gradient(a, gradient_of_left(tape, g, a, b));
    if (tape.differentiable(b)) tape.add_gradient(b, gradient_of_right(tape, g, a, b));
    if (tape.differentiable(bias)) tape.add_gradient(bias, reduced_to(tape, g, tape.type(bias)));
  });
  return y;
}

ValueRef bmm(Tape& tape, ValueRef a, ValueRef b, const std::function<void()>& before) {
  before();
  const ValueRef y = tape.call("aten.bmm.default", a, b);
  tape.on_backward(y, {a, b}, [&tape, a, b, before](ValueRef g) {
    if (tape.differentiable(b)) {
      before();
      tape.add_gradient(b, tape.call("aten.bmm.default", tape.call("aten.transpose.int", a, 1, 2), g));
    }
    if (tape.differentiable(a)) {
      before();
      tape.add_gradient(a, tape.call("aten.bmm.default", g, tape.call("aten.transpose.int", b, 1, 2)));
    }
  });
  return y;
}

namespace {

struct Heads {
  ValueRef q, k, v;
};

void hand_on(Tape& tape, const Heads& h, ValueRef gq) {
  tape.add_gradient(h.q, gq);
  tape.add_gradient(h.k, {gq.node, 1});
  tape.add_gradient(h.v, {gq.node, 2});
}

ValueRef cudnn_attention(Tape& tape, const Heads& h, ValueRef mask, double dropout, const Keywords& scale) {
  const ValueRef y = tape.call_with(scale, "aten._scaled_dot_product_cudnn_attention.default", h.q, h.k, h.v, mask, true, dropout);
  tape.on_backward(y, {h.q, h.k, h.v}, [&tape, h, mask, dropout, scale, y](ValueRef g) {
    const auto out = [&y](std::uint32_t i) { return ValueRef{y.node, i}; };
    hand_on(tape, h, tape.call_with(scale, "aten._scaled_dot_product_cudnn_attention_backward.default", g, h.q, h.k, h.v, y, out(1), out(6),
                                    out(7), mask, nullptr, nullptr, tape.shape(h.q)[2], tape.shape(h.k)[2], dropout, false));
  });
  return y;
}

ValueRef flash_attention(Tape& tape, const Heads& h, bool causal, double dropout, const Keywords& scale) {
  const ValueRef y = tape.call_with(scale, "aten._scaled_dot_product_flash_attention.default", h.q, h.k, h.v, dropout, causal);
  tape.on_backward(y, {h.q, h.k, h.v}, [&tape, h, causal, dropout, scale, y](ValueRef g) {
    const auto out = [&y](std::uint32_t i) { return ValueRef{y.node, i}; };
    hand_on(tape, h, tape.call_with(scale, "aten._scaled_dot_product_flash_attention_backward.default", g, h.q, h.k, h.v, y, out(1), nullptr,
                                    nullptr, tape.shape(h.q)[2], tape.shape(h.k)[2], dropout, causal, out(6), out(7)));
  });
  return y;
}

}  // namespace

ValueRef fused_attention(Tape& tape, ValueRef q, ValueRef k, ValueRef v, std::optional<ValueRef> mask, bool causal, double dropout) {
  const double head_dim = static_cast<double>(tape.shape(q)[3]);
  const Keywords scale = {{"scale", Argument{1.0 / __builtin_sqrt(head_dim)}}};
  return mask ? cudnn_attention(tape, {q, k, v}, *mask, dropout, scale) : flash_attention(tape, {q, k, v}, causal, dropout, scale);
}

}  // namespace sgsim::import::hf

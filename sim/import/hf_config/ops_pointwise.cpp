#include "sim/import/hf_config/ops.h"

namespace sgsim::import::hf {

ValueRef reduced_to(Tape& tape, ValueRef gradient, const TensorType& wanted) {
  const TensorType type = wanted;  // a copy: calls below may move the nodes
  const Dims from = tape.shape(gradient);
  const std::size_t lead = from.size() - type.shape.size();
  Dims dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (i < lead || (type.shape[i - lead] == 1 && from[i] != 1)) dims.push_back(static_cast<std::int64_t>(i));
  }
  if (!dims.empty()) {
    Keywords keywords;
    if (tape.autocast()) keywords.emplace("dtype", text_of(DType::float32));
    gradient = tape.call_with(std::move(keywords), "aten.sum.dim_IntList", gradient, dims, true);
    if (lead > 0) gradient = tape.call("aten.view.default", gradient, type.shape);
  }
  if (tape.dtype(gradient) != type.dtype) {
    gradient = tape.call_with({{"dtype", text_of(type.dtype)}}, "aten._to_copy.default", gradient);
  }
  return gradient;
}

ValueRef cast(Tape& tape, ValueRef x, DType dtype) {
  const DType from = tape.dtype(x);
  if (from == dtype) return x;
  const ValueRef y = tape.call_with({{"dtype", text_of(dtype)}}, "aten._to_copy.default", x);
  tape.on_backward(y, {x}, [&tape, x, from](ValueRef g) {
    tape.add_gradient(x, tape.call_with({{"dtype", text_of(from)}}, "aten._to_copy.default", g));
  });
  return y;
}

ValueRef contiguous_clone(Tape& tape, ValueRef x) {
  const ValueRef y = tape.call_with({{"memory_format", Argument{std::string("torch.contiguous_format")}}}, "aten.clone.default", x);
  tape.on_backward(y, {x}, [&tape, x](ValueRef g) { tape.add_gradient(x, g); });
  return y;
}

ValueRef dropout(Tape& tape, ValueRef x, double p) {
  if (p == 0.0) {
    const ValueRef y = tape.call("aten.clone.default", x);
    tape.on_backward(y, {x}, [&tape, x](ValueRef g) { tape.add_gradient(x, g); });
    return y;
  }
  const ValueRef y = tape.call("aten.native_dropout.default", x, p, true);
  tape.on_backward(y, {x}, [&tape, x, y, p](ValueRef g) {
    tape.add_gradient(x, tape.call("aten.native_dropout_backward.default", g, ValueRef{y.node, 1}, 1.0 / (1.0 - p)));
  });
  return y;
}

ValueRef add(Tape& tape, ValueRef a, ValueRef b) {
  const ValueRef y = tape.call("aten.add.Tensor", a, b);
  tape.on_backward(y, {a, b}, [&tape, a, b](ValueRef g) {
    // Both gradients first, then the sums with what has arrived before.
    const ValueRef ga = tape.differentiable(a) ? reduced_to(tape, g, tape.type(a)) : g;
    const ValueRef gb = tape.differentiable(b) ? reduced_to(tape, g, tape.type(b)) : g;
    tape.add_gradient(a, ga);
    tape.add_gradient(b, gb);
  });
  return y;
}

ValueRef add(Tape& tape, ValueRef a, double b) {
  const ValueRef y = tape.call("aten.add.Tensor", a, b);
  tape.on_backward(y, {a}, [&tape, a](ValueRef g) { tape.add_gradient(a, g); });
  return y;
}

ValueRef mul(Tape& tape, ValueRef a, ValueRef b) {
  const ValueRef y = tape.call("aten.mul.Tensor", a, b);
  tape.on_backward(y, {a, b}, [&tape, a, b](ValueRef g) {
    ValueRef ga, gb;
    if (tape.differentiable(b)) gb = tape.call("aten.mul.Tensor", g, a);
    if (tape.differentiable(a)) ga = tape.call("aten.mul.Tensor", g, b);
    if (tape.differentiable(b)) gb = reduced_to(tape, gb, tape.type(b));
    if (tape.differentiable(a)) ga = reduced_to(tape, ga, tape.type(a));
    tape.add_gradient(a, ga);
    tape.add_gradient(b, gb);
  });
  return y;
}

ValueRef mul(Tape& tape, ValueRef a, double b) {
  const ValueRef y = tape.call("aten.mul.Tensor", a, b);
  tape.on_backward(y, {a}, [&tape, a, b](ValueRef g) { tape.add_gradient(a, tape.call("aten.mul.Tensor", g, b)); });
  return y;
}

ValueRef div(Tape& tape, ValueRef a, ValueRef b) {
  const ValueRef y = tape.call("aten.div.Tensor", a, b);
  tape.on_backward(y, {a, b}, [&tape, a, b, y](ValueRef g) {
    if (tape.differentiable(b)) {  // -g * y / b
      const ValueRef quotient = tape.call("aten.div.Tensor", y, b);
      const ValueRef product = tape.call("aten.mul.Tensor", tape.call("aten.neg.default", g), quotient);
      tape.add_gradient(b, reduced_to(tape, product, tape.type(b)));
    }
    if (tape.differentiable(a)) tape.add_gradient(a, reduced_to(tape, tape.call("aten.div.Tensor", g, b), tape.type(a)));
  });
  return y;
}

ValueRef neg(Tape& tape, ValueRef x) {
  const ValueRef y = tape.call("aten.neg.default", x);
  tape.on_backward(y, {x}, [&tape, x](ValueRef g) { tape.add_gradient(x, tape.call("aten.neg.default", g)); });
  return y;
}

ValueRef pow(Tape& tape, ValueRef x, double exponent) {
  const ValueRef y = tape.call("aten.pow.Tensor_Scalar", x, exponent);
  tape.on_backward(y, {x}, [&tape, x, exponent](ValueRef g) {
    const ValueRef lower = tape.call("aten.pow.Tensor_Scalar", x, exponent - 1.0);
    tape.add_gradient(x, tape.call("aten.mul.Tensor", g, tape.call("aten.mul.Scalar", lower, exponent)));
  });
  return y;
}

ValueRef rsqrt(Tape& tape, ValueRef x) {
  const ValueRef y = tape.call("aten.rsqrt.default", x);
  tape.on_backward(y, {x}, [&tape, x, y](ValueRef g) {
    const ValueRef cube = tape.call("aten.pow.Tensor_Scalar", y, 3);
    tape.add_gradient(x, tape.call("aten.mul.Tensor", tape.call("aten.mul.Scalar", g, -0.5), cube));
  });
  return y;
}

ValueRef tanh(Tape& tape, ValueRef x) {
  const ValueRef y = tape.call("aten.tanh.default", x);
  tape.on_backward(y, {x}, [&tape, x, y](ValueRef g) { tape.add_gradient(x, tape.call("aten.tanh_backward.default", g, y)); });
  return y;
}

ValueRef silu(Tape& tape, ValueRef x) {
  const ValueRef y = tape.call("aten.silu.default", x);
  tape.on_backward(y, {x}, [&tape, x](ValueRef g) { tape.add_gradient(x, tape.call("aten.silu_backward.default", g, x)); });
  return y;
}

ValueRef relu(Tape& tape, ValueRef x) {
  const ValueRef y = tape.call("aten.relu.default", x);
  tape.on_backward(y, {x}, [&tape, x, y](ValueRef g) {
    tape.add_gradient(x, tape.call("aten.threshold_backward.default", g, y, 0));
  });
  return y;
}

ValueRef gelu(Tape& tape, ValueRef x, bool tanh_approximation) {
  Keywords keywords;
  if (tanh_approximation) keywords.emplace("approximate", Argument{std::string("tanh")});
  const ValueRef y = tape.call_with(keywords, "aten.gelu.default", x);
  tape.on_backward(y, {x}, [&tape, x, keywords](ValueRef g) {
    tape.add_gradient(x, tape.call_with(keywords, "aten.gelu_backward.default", g, x));
  });
  return y;
}

namespace {

ValueRef masked(Tape& tape, const char* target, ValueRef x, ValueRef mask, double value) {
  const ValueRef y = tape.call(target, x, mask, value);
  tape.on_backward(y, {x}, [&tape, x, mask](ValueRef g) {
    tape.add_gradient(x, tape.call("aten.masked_fill.Scalar", g, mask, 0));
  });
  return y;
}

}  // namespace

ValueRef masked_fill(Tape& tape, ValueRef x, ValueRef mask, double value) { return masked(tape, "aten.masked_fill.Scalar", x, mask, value); }
ValueRef masked_fill_in_place(Tape& tape, ValueRef x, ValueRef mask, double value) { return masked(tape, "aten.masked_fill_.Scalar", x, mask, value); }

}  // namespace sgsim::import::hf

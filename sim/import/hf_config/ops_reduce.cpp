#include "sim/import/hf_config/ops.h"

namespace sgsim::import::hf {
namespace {

Keywords float32_sum(const Tape& tape) {
  Keywords keywords;
  if (tape.autocast()) keywords.emplace("dtype", text_of(DType::float32));
  return keywords;
}

constexpr int kMean = 1;        // PyTorch's reduction code
constexpr int kIgnored = -100;  // its label to ignore

}  // namespace

ValueRef mean_last(Tape& tape, ValueRef x) {
  const ValueRef y = tape.call("aten.mean.dim", x, Dims{-1}, true);
  tape.on_backward(y, {x}, [&tape, x](ValueRef g) {
    const ValueRef wide = tape.call("aten.expand.default", g, tape.shape(x));
    tape.add_gradient(x, tape.call("aten.div.Scalar", wide, tape.shape(x).back()));
  });
  return y;
}

ValueRef sum_last(Tape& tape, ValueRef x) {
  const ValueRef y = tape.call_with(float32_sum(tape), "aten.sum.dim_IntList", x, Dims{-1}, true);
  tape.on_backward(y, {x}, [&tape, x](ValueRef g) {
    tape.add_gradient(x, reduced_to(tape, tape.call("aten.expand.default", g, tape.shape(x)), tape.type(x)));
  });
  return y;
}

ValueRef sum_middle(Tape& tape, ValueRef x) {
  const ValueRef y = tape.call_with(float32_sum(tape), "aten.sum.dim_IntList", x, Dims{1});
  tape.on_backward(y, {x}, [&tape, x](ValueRef g) {
    const ValueRef wide = tape.call("aten.expand.default", tape.call("aten.unsqueeze.default", g, 1), tape.shape(x));
    tape.add_gradient(x, reduced_to(tape, wide, tape.type(x)));
  });
  return y;
}

ValueRef native_layer_norm(Tape& tape, ValueRef x, ValueRef weight, ValueRef bias, double eps) {
  const Dims normalized = {tape.shape(x).back()};
  const ValueRef y = tape.call("aten.native_layer_norm.default", x, normalized, weight, bias, eps);
  tape.on_backward(y, {x, weight, bias}, [&tape, x, weight, bias, y, normalized](ValueRef g) {
    const ValueRef mean{y.node, 1}, rstd{y.node, 2};
    const ValueRef gx = tape.call("aten.native_layer_norm_backward.default", g, x, normalized, mean, rstd, weight, bias,
                                  flags_of({true, true, true}));
    tape.add_gradient(x, gx);
    tape.add_gradient(weight, {gx.node, 1});
    tape.add_gradient(bias, {gx.node, 2});
  });
  return y;
}

ValueRef softmax(Tape& tape, ValueRef x) {
  const ValueRef y = tape.call("aten._softmax.default", x, -1, false);
  tape.on_backward(y, {x}, [&tape, x, y](ValueRef g) {
    tape.add_gradient(x, tape.call("aten._softmax_backward_data.default", g, y, -1, text_of(tape.dtype(x))));
  });
  return y;
}

ValueRef log_softmax(Tape& tape, ValueRef x) {
  const ValueRef y = tape.call("aten._log_softmax.default", x, 1, false);
  tape.on_backward(y, {x}, [&tape, x, y](ValueRef g) {
    tape.add_gradient(x, tape.call("aten._log_softmax_backward_data.default", g, y, 1, text_of(tape.dtype(x))));
  });
  return y;
}

ValueRef nll_loss(Tape& tape, ValueRef log_probabilities, ValueRef labels) {
  const ValueRef y = tape.call("aten.nll_loss_forward.default", log_probabilities, labels, nullptr, kMean, kIgnored);
  tape.on_backward(y, {log_probabilities}, [&tape, log_probabilities, labels, y](ValueRef g) {
    tape.add_gradient(log_probabilities, tape.call("aten.nll_loss_backward.default", g, log_probabilities, labels, nullptr,
                                                   kMean, kIgnored, ValueRef{y.node, 1}));
  });
  return y;
}

ValueRef embedding(Tape& tape, ValueRef weight, ValueRef indices) {
  const ValueRef y = tape.call("aten.embedding.default", weight, indices);
  tape.on_backward(y, {weight}, [&tape, weight, indices](ValueRef g) {
    tape.add_gradient(weight, tape.call("aten.embedding_dense_backward.default", g, indices, tape.shape(weight)[0], -1, false));
  });
  return y;
}

ValueRef index_select(Tape& tape, ValueRef x, int dim, ValueRef indices) {
  const ValueRef y = tape.call("aten.index_select.default", x, dim, indices);
  tape.on_backward(y, {x}, [&tape, x, dim, indices](ValueRef g) {
    const ValueRef zeros = tape.call("aten.new_zeros.default", g, tape.shape(x));
    tape.add_gradient(x, tape.call("aten.index_add.default", zeros, dim, indices, g));
  });
  return y;
}

ValueRef index_add_rows(Tape& tape, std::int64_t rows, ValueRef indices, ValueRef x) {
  const ValueRef zeros = tape.call("aten.new_zeros.default", x, Dims{rows, tape.shape(x).back()});
  const ValueRef y = tape.call("aten.index_add.default", zeros, 0, indices, x);
  tape.on_backward(y, {x}, [&tape, x, indices](ValueRef g) {
    tape.add_gradient(x, tape.call("aten.index_select.default", g, 0, indices));
  });
  return y;
}

TopK topk_last(Tape& tape, ValueRef x, std::int64_t k) {
  const ValueRef values = tape.call("aten.topk.default", x, k, -1);
  const ValueRef indices{values.node, 1};
  tape.on_backward(values, {x}, [&tape, x, indices](ValueRef g) {
    const ValueRef zeros = tape.call("aten.new_zeros.default", g, tape.shape(x));
    tape.add_gradient(x, tape.call("aten.scatter.src", zeros, -1, indices, g));
  });
  return {values, indices};
}

}  // namespace sgsim::import::hf

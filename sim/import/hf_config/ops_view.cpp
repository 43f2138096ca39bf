#include <limits>

#include "sim/import/hf_config/ops.h"

namespace sgsim::import::hf {
namespace {

/// Without a place on the tape; autograd reshapes gradients.
ValueRef reshaped(Tape& tape, ValueRef x, const Dims& sizes) {
  if (graph::view_strides(tape.type(x), sizes)) return tape.call("aten.view.default", x, sizes);
  const Keywords contiguous = {{"memory_format", Argument{std::string("torch.contiguous_format")}}};
  return tape.call("aten._unsafe_view.default", tape.call_with(contiguous, "aten.clone.default", x), sizes);
}

}  // namespace

ValueRef view(Tape& tape, ValueRef x, Dims sizes) {
  const ValueRef y = tape.call("aten.view.default", x, sizes);
  tape.on_backward(y, {x}, [&tape, x](ValueRef g) { tape.add_gradient(x, reshaped(tape, g, tape.shape(x))); });
  return y;
}

ValueRef reshape(Tape& tape, ValueRef x, Dims sizes) {
  const ValueRef y = reshaped(tape, x, sizes);
  tape.on_backward(y, {x}, [&tape, x](ValueRef g) { tape.add_gradient(x, reshaped(tape, g, tape.shape(x))); });
  return y;
}

ValueRef unsafe_view(Tape& tape, ValueRef x, Dims sizes) {
  const ValueRef y = tape.call("aten._unsafe_view.default", x, sizes);
  tape.on_backward(y, {x}, [&tape, x](ValueRef g) { tape.add_gradient(x, reshaped(tape, g, tape.shape(x))); });
  return y;
}

ValueRef transpose(Tape& tape, ValueRef x, int a, int b) {
  const ValueRef y = tape.call("aten.transpose.int", x, a, b);
  tape.on_backward(y, {x}, [&tape, x, a, b](ValueRef g) { tape.add_gradient(x, tape.call("aten.transpose.int", g, a, b)); });
  return y;
}

ValueRef t(Tape& tape, ValueRef x) {
  const ValueRef y = tape.call("aten.t.default", x);
  tape.on_backward(y, {x}, [&tape, x](ValueRef g) { tape.add_gradient(x, tape.call("aten.t.default", g)); });
  return y;
}

ValueRef unsqueeze(Tape& tape, ValueRef x, int dim) {
  const ValueRef y = tape.call("aten.unsqueeze.default", x, dim);
  tape.on_backward(y, {x}, [&tape, x, dim](ValueRef g) { tape.add_gradient(x, tape.call("aten.squeeze.dim", g, dim)); });
  return y;
}

ValueRef expand(Tape& tape, ValueRef x, Dims sizes) {
  const ValueRef y = tape.call("aten.expand.default", x, sizes);
  tape.on_backward(y, {x}, [&tape, x](ValueRef g) { tape.add_gradient(x, reduced_to(tape, g, tape.type(x))); });
  return y;
}

ValueRef slice(Tape& tape, ValueRef x, int dim, std::int64_t start, std::int64_t end) {
  const ValueRef y = tape.call("aten.slice.Tensor", x, dim, start, end);
  tape.on_backward(y, {x}, [&tape, x, dim, start, end](ValueRef g) {
    tape.add_gradient(x, tape.call("aten.slice_backward.default", g, tape.shape(x), dim, start, end, 1));
  });
  return y;
}

std::vector<ValueRef> split(Tape& tape, ValueRef x, std::int64_t size, int dim) {
  const ValueRef y = tape.call("aten.split.Tensor", x, size, dim);
  std::vector<ValueRef> parts;
  for (std::int64_t i = 0; i < tape.shape(x)[static_cast<std::size_t>(dim)] / size; ++i) parts.push_back({y.node, static_cast<std::uint32_t>(i)});
  tape.on_backward_any(y.node, {x}, [&tape, x, parts, dim] {
    std::vector<ValueRef> gradients;
    for (const ValueRef part : parts) {
      const auto arrived = tape.gradient(part);
      if (!arrived) return;
      gradients.push_back(*arrived);
    }
    tape.add_gradient(x, tape.call("aten.cat.default", list_of(gradients), dim));
  });
  return parts;
}

ValueRef cat(Tape& tape, ValueRef a, ValueRef b, int dim) {
  const ValueRef y = tape.call("aten.cat.default", list_of({a, b}), dim);
  tape.on_backward(y, {a, b}, [&tape, a, b, dim](ValueRef g) {
    const auto rank = tape.shape(a).size();
    const std::int64_t at = dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim;
    const std::int64_t first = tape.shape(a)[static_cast<std::size_t>(at)], both = tape.shape(g)[static_cast<std::size_t>(at)];
    const ValueRef left = tape.call("aten.slice.Tensor", g, at, 0, first);
    const ValueRef right = tape.call("aten.slice.Tensor", g, at, first, both);
    tape.add_gradient(a, left);
    tape.add_gradient(b, right);
  });
  return y;
}

}  // namespace sgsim::import::hf

#include <numeric>

#include <rapidcheck.h>

#include "sim/graph/tensor_type.h"
#include "tests/support/catch.h"
#include "tests/unit/graph/graph_builder.h"

using namespace sgsim;
using namespace sgsim::graph;
using namespace sgsim::graph::test;

namespace {

/// A dense tensor of up to four dimensions in a random memory order.
TensorType random_dense() {
  const auto rank = *rc::gen::inRange<std::size_t>(1, 5);
  Dims shape;
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(*rc::gen::inRange<std::int64_t>(1, 5));
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = rank; i-- > 1;) std::swap(order[i], order[*rc::gen::inRange<std::size_t>(0, i + 1)]);
  Dims stride(rank, 1);
  std::int64_t next = 1;
  for (const std::size_t at : order) {
    stride[at] = next;
    next *= shape[at];
  }
  return strided(shape, DType::float32, stride);
}

/// Sizes with a given product.
Dims random_factors(std::int64_t elements) {
  Dims sizes;
  while (elements > 1) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t d = 2; d <= elements; ++d) {
      if (elements % d == 0) divisors.push_back(d);
    }
    sizes.push_back(*rc::gen::elementOf(divisors));
    elements /= sizes.back();
  }
  if (*rc::gen::arbitrary<bool>()) sizes.insert(sizes.begin(), 1);
  return sizes;
}

/// Memory offset of the k-th element in row-major order of the shape.
std::int64_t offset_of(std::int64_t k, const Dims& shape, const Dims& stride) {
  std::int64_t offset = 0;
  for (std::size_t i = shape.size(); i-- > 0;) {
    offset += k % shape[i] * stride[i];
    k /= shape[i];
  }
  return offset;
}

/// The only strides that can work: each dimension's step is the offset of its second element.
Dims candidate_strides(const TensorType& type, const Dims& sizes) {
  const Dims old = strides_of(type), step = contiguous_strides(sizes);
  Dims stride(sizes.size(), 0);
  for (std::size_t i = 0; i < sizes.size(); ++i) stride[i] = sizes[i] > 1 ? offset_of(step[i], type.shape, old) : 0;
  return stride;
}

bool shows_the_same_memory(const TensorType& type, const Dims& sizes, const Dims& stride) {
  for (std::int64_t k = 0; k < type.elements(); ++k) {
    if (offset_of(k, type.shape, strides_of(type)) != offset_of(k, sizes, stride)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("view_strides finds strides that show the same memory exactly when there are some") {
  CHECK(rc::check([] {
    const TensorType type = random_dense();
    const Dims sizes = random_factors(type.elements());
    const auto found = view_strides(type, sizes);
    if (found) {
      RC_ASSERT(shows_the_same_memory(type, sizes, *found));
    } else {
      RC_ASSERT(!shows_the_same_memory(type, sizes, candidate_strides(type, sizes)));
    }
  }));
}

TEST_CASE("A pointwise operator on one dense tensor keeps its layout; on parts of it the result is dense") {
  CHECK(rc::check([] {
    GraphBuilder b;
    const TensorType type = random_dense();
    const ValueRef x = b.input(type);
    RC_ASSERT(b.inferred("aten.neg.default", {arg(x)}) == std::vector<TensorType>{type});
    const auto at = *rc::gen::inRange<std::int64_t>(0, static_cast<std::int64_t>(type.shape.size()));
    const ValueRef part = b.call("aten.slice.Tensor", {arg(x), arg(at), arg(0), arg(type.shape[static_cast<std::size_t>(at)] / 2 + 1)});
    const TensorType result = b.inferred("aten.neg.default", {arg(part)}).value()[0];
    std::vector<bool> seen(static_cast<std::size_t>(result.elements()), false);
    for (std::int64_t k = 0; k < result.elements(); ++k) {
      const std::int64_t offset = offset_of(k, result.shape, strides_of(result));
      RC_ASSERT((offset >= 0 && offset < result.elements()));
      RC_ASSERT(!seen[static_cast<std::size_t>(offset)]);
      seen[static_cast<std::size_t>(offset)] = true;
    }
  }));
}

TEST_CASE("Transposing twice, permuting and back, expanding by one change nothing") {
  CHECK(rc::check([] {
    GraphBuilder b;
    const TensorType type = random_dense();
    const ValueRef x = b.input(type);
    const auto rank = static_cast<std::int64_t>(type.shape.size());
    const auto i = *rc::gen::inRange<std::int64_t>(-rank, rank), j = *rc::gen::inRange<std::int64_t>(-rank, rank);
    const ValueRef once = b.call("aten.transpose.int", {arg(x), arg(i), arg(j)});
    RC_ASSERT(b.inferred("aten.transpose.int", {arg(once), arg(i), arg(j)}) == std::vector<TensorType>{type});
    const ValueRef longer = b.call("aten.unsqueeze.default", {arg(x), arg(i < 0 ? i - 1 : i)});
    RC_ASSERT(b.graph.type(longer).elements() == type.elements());
    RC_ASSERT(b.inferred("aten.squeeze.dim", {arg(longer), arg(i < 0 ? i - 1 : i)}) == std::vector<TensorType>{type});
  }));
}

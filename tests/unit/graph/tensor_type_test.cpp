#include "sim/graph/tensor_type.h"

#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::graph;

TEST_CASE("Elements and bytes") {
  const TensorType type = contiguous({2, 3, 4}, DType::bfloat16);
  CHECK(type.elements() == 24);
  CHECK(type.bytes().value() == 48);
  CHECK(contiguous({}, DType::float32).elements() == 1);
  CHECK(absent().elements() == 0);
}

TEST_CASE("Row-major strides are not spelled out, so equal tensors compare equal") {
  CHECK(contiguous_strides({2, 3, 4}) == Dims{12, 4, 1});
  CHECK(strided({2, 3, 4}, DType::int64, {12, 4, 1}) == contiguous({2, 3, 4}, DType::int64));
  // The stride of a dimension of size 1 says nothing.
  CHECK(strided({1, 4}, DType::int64, {99, 1}) == contiguous({1, 4}, DType::int64));
  CHECK_FALSE(is_contiguous(strided({3, 4}, DType::int64, {1, 3})));
}

TEST_CASE("A view of strided memory") {
  const TensorType heads = strided({2, 5, 4, 8}, DType::bfloat16, {160, 8, 40, 1});  // [b, h, s, d] seen in [b, s, h, d]
  CHECK_FALSE(view_strides(heads, {2, 5, 32}).has_value());                          // s and d are not adjacent
  CHECK(view_strides(heads, {2, 5, 4, 2, 4}) == Dims{160, 8, 40, 4, 1});             // splitting one dimension is
  const TensorType rows = strided({6, 8}, DType::bfloat16, {24, 1});                 // a third of wider rows
  CHECK(view_strides(rows, {2, 3, 8}) == Dims{72, 24, 1});
  CHECK(view_strides(rows, {6, 1, 8}) == Dims{24, 8, 1});
  CHECK_FALSE(view_strides(rows, {48}).has_value());
}

TEST_CASE("Text") {
  CHECK(to_text(contiguous({2, 3}, DType::bfloat16)) == "bfloat16[2, 3]");
  CHECK(to_text(strided({2, 3}, DType::float32, {1, 2})) == "float32[2, 3] stride [1, 2]");
  CHECK(to_text(absent()) == "none");
}

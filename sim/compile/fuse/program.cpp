#include "sim/compile/fuse/program.h"

#include <algorithm>

namespace sgsim::compile::fuse {

std::int64_t Dims::product() const {
  std::int64_t p = 1;
  for (std::uint32_t i = 0; i < rank; ++i) p *= at[i];
  return p;
}

bool Dims::operator==(const Dims& o) const { return rank == o.rank && std::equal(at.begin(), at.begin() + rank, o.at.begin()); }

Dims row_major(const Dims& shape) {
  Dims strides;
  strides.rank = shape.rank;
  std::int64_t stride = 1;
  for (std::uint32_t i = shape.rank; i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

}  // namespace sgsim::compile::fuse

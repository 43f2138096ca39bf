#include "sim/cost/attention.h"
#include "sim/cost/convolution.h"
#include "sim/cost/cost.h"
#include "sim/cost/matmul.h"
#include "sim/cost/memory_bound.h"
#include "sim/cost/profile.h"

namespace sgsim::cost {
namespace {

struct TimeOf {
  const Profile& profile;
  Diagnostics& diagnostics;

  Estimate operator()(const graph::Matmul& work) const { return matmul_time(profile, work, diagnostics); }
  Estimate operator()(const graph::Attention& work) const { return attention_time(profile, work, diagnostics); }
  Estimate operator()(const graph::Convolution& work) const { return convolution_time(profile, work, diagnostics); }
  Estimate operator()(const graph::MemoryBound& work) const { return memory_bound_time(profile, work, diagnostics); }
};

}  // namespace

Estimate kernel_time(const Profile& profile, const graph::Work& work, Diagnostics& diagnostics) {
  return std::visit(TimeOf{profile, diagnostics}, work);
}

}  // namespace sgsim::cost

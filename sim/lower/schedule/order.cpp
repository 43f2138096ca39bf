#include "sim/lower/schedule/order.h"

#include <algorithm>

namespace sgsim::lower {
namespace {

// Forward or backward passes of one stage in their own order: groups of pp micro-batches, all chunks of a group in turn;
// backward passes take the chunks in reverse.
std::vector<PassStep> grouped(bool forward, int pp, int virtual_stages, int micro_batches) {
  std::vector<PassStep> passes;
  for (int group = 0; group < micro_batches; group += pp) {
    for (int v = 0; v < virtual_stages; ++v) {
      for (int m = group; m < std::min(group + pp, micro_batches); ++m) {
        passes.push_back({.forward = forward, .virtual_stage = forward ? v : virtual_stages - 1 - v, .micro_batch = m});
      }
    }
  }
  return passes;
}

// `ahead` forward passes, then one forward and one backward in turn, then the remaining backward passes.
std::vector<PassStep> one_forward_one_backward(const std::vector<PassStep>& forward, const std::vector<PassStep>& backward, std::size_t ahead) {
  std::vector<PassStep> order(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(ahead));
  order.reserve(forward.size() + backward.size());
  std::size_t next = 0;
  for (std::size_t f = ahead; f < forward.size(); ++f) {
    order.push_back(forward[f]);
    order.push_back(backward[next++]);
  }
  order.insert(order.end(), backward.begin() + static_cast<std::ptrdiff_t>(next), backward.end());
  return order;
}

// Each backward pass in two: weight gradients follow the input gradients of `delay` micro-batches later.
std::vector<PassStep> split_backward(const std::vector<PassStep>& order, int delay) {
  std::vector<PassStep> split;
  int weights = 0, inputs = 0;
  const auto add_weights = [&] { split.push_back({.forward = false, .virtual_stage = 0, .micro_batch = weights++, .gradients = Gradients::weights}); };
  for (PassStep pass : order) {
    if (!pass.forward) pass.gradients = Gradients::inputs;
    split.push_back(pass);
    if (!pass.forward && ++inputs > delay) add_weights();
  }
  while (weights < inputs) add_weights();
  return split;
}

}  // namespace

std::vector<PassStep> pass_order(plan::Schedule schedule, int pp, int virtual_stages, int micro_batches, int stage) {
  if (schedule == plan::Schedule::interleaved) {
    const auto forward = grouped(true, pp, virtual_stages, micro_batches);
    const auto backward = grouped(false, pp, virtual_stages, micro_batches);
    const int ahead = 2 * (pp - stage - 1) + (virtual_stages - 1) * pp;
    // Megatron-LM runs everything ahead when there is one group only: nothing could alternate before the first backward.
    const bool all = micro_batches <= pp;
    return one_forward_one_backward(forward, backward, all ? forward.size() : std::min<std::size_t>(static_cast<std::size_t>(ahead), forward.size()));
  }
  const auto forward = grouped(true, std::max(1, micro_batches), 1, micro_batches);
  const auto backward = grouped(false, std::max(1, micro_batches), 1, micro_batches);
  const int ahead = schedule == plan::Schedule::gpipe ? micro_batches : std::min(pp - stage - 1, micro_batches);
  const auto order = one_forward_one_backward(forward, backward, static_cast<std::size_t>(ahead));
  return schedule == plan::Schedule::zero_bubble ? split_backward(order, stage) : order;
}

}  // namespace sgsim::lower

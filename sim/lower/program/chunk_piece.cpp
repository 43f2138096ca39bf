#include "sim/lower/program/chunk_piece.h"

namespace sgsim::lower {
namespace {

void take(PieceWriter& writer, const std::vector<Action>& actions) {
  for (const Action& action : actions) writer.act(action);
}

const PositionActions& at(const ChunkActions& actions, std::size_t position) {
  static const PositionActions none;
  return actions.positions.empty() ? none : actions.positions[position];
}

void memory(PieceWriter& writer, const Position& position, Bytes delta, bool transient, const char* label) {
  if (delta.value() != 0.0) writer.act(MemoryChange{.memory_class = MemoryClass::activations, .delta = delta, .transient = transient, .label = label, .of = position.label});
}

/// Places in the backward list become places in the list of its weight-only kernels.
std::vector<Insertion> among_weights(const std::vector<Insertion>& insertions, const std::vector<bool>& weight_only) {
  std::vector<Insertion> moved;
  std::uint32_t before = 0, kernel = 0;
  for (const Insertion& insertion : insertions) {
    for (; kernel < insertion.kernel && kernel < weight_only.size(); ++kernel) before += weight_only[kernel] ? 1U : 0U;
    moved.push_back({.kernel = before, .actions = insertion.actions});
  }
  return moved;
}

}  // namespace

void write_forward(PieceWriter& writer, const Chunk& chunk, const std::vector<SegmentLaunches>& segments, const ChunkActions& actions) {
  take(writer, actions.begin_forward);
  for (std::size_t p = 0; p < chunk.positions.size(); ++p) {
    const Position& position = chunk.positions[p];
    const SegmentLaunches& launches = segments[position.segment];
    take(writer, at(actions, p).before_forward);
    memory(writer, position, launches.segment->saved, false, "saved activations");
    memory(writer, position, launches.segment->forward_peak, true, "forward temporaries");
    writer.kernels(launches.forward, {.phase = graph::Phase::forward, .position = position.label}, {});
    take(writer, at(actions, p).after_forward);
  }
  take(writer, actions.end_forward);
}

void write_backward(PieceWriter& writer, const Chunk& chunk, const std::vector<SegmentLaunches>& segments, const ChunkActions& actions) {
  take(writer, actions.begin_backward);
  for (std::size_t p = chunk.positions.size(); p-- > 0;) {
    const Position& position = chunk.positions[p];
    const SegmentLaunches& launches = segments[position.segment];
    take(writer, at(actions, p).before_backward);
    memory(writer, position, launches.segment->backward_peak, true, "backward temporaries");
    writer.kernels(launches.recompute, {.phase = graph::Phase::backward, .position = position.label, .recompute = true}, {});
    writer.kernels(launches.backward, {.phase = graph::Phase::backward, .position = position.label}, at(actions, p).in_backward);
    memory(writer, position, -launches.segment->saved, false, "saved activations");
    take(writer, at(actions, p).after_backward);
  }
  take(writer, actions.end_backward);
}

void write_input_gradients(PieceWriter& writer, const Chunk& chunk, const std::vector<SegmentLaunches>& segments, const ChunkActions& actions) {
  take(writer, actions.begin_backward);
  for (std::size_t p = chunk.positions.size(); p-- > 0;) {
    const Position& position = chunk.positions[p];
    const SegmentLaunches& launches = segments[position.segment];
    take(writer, at(actions, p).before_backward);
    memory(writer, position, launches.segment->backward_peak, true, "backward temporaries");
    writer.kernels(launches.recompute, {.phase = graph::Phase::backward, .position = position.label, .recompute = true}, {});
    writer.kernels(launches.input_gradients, {.phase = graph::Phase::backward, .position = position.label}, {});
    memory(writer, position, -launches.segment->saved, false, "saved activations");
    memory(writer, position, launches.segment->held, false, "kept for weight gradients");
  }
}

void write_weight_gradients(PieceWriter& writer, const Chunk& chunk, const std::vector<SegmentLaunches>& segments, const ChunkActions& actions) {
  for (std::size_t p = chunk.positions.size(); p-- > 0;) {
    const Position& position = chunk.positions[p];
    const SegmentLaunches& launches = segments[position.segment];
    const auto insertions = among_weights(at(actions, p).in_backward, launches.segment->weight_only);
    writer.kernels(launches.weight_gradients, {.phase = graph::Phase::backward, .position = position.label}, insertions);
    memory(writer, position, -launches.segment->held, false, "kept for weight gradients");
    take(writer, at(actions, p).after_backward);
  }
  take(writer, actions.end_backward);
}

}  // namespace sgsim::lower

#pragma once

#include <vector>

#include "sim/lower/program/piece_writer.h"
#include "sim/lower/schedule/partition.h"

namespace sgsim::lower {

/// Writes one pass of `chunk` with the actions around its kernels. Activations are taken in the forward pass and given
/// back in the backward pass.
void write_forward(PieceWriter& writer, const Chunk& chunk, const std::vector<SegmentLaunches>& segments, const ChunkActions& actions);
void write_backward(PieceWriter& writer, const Chunk& chunk, const std::vector<SegmentLaunches>& segments, const ChunkActions& actions);

/// The backward pass in two. Input gradients, after recomputation: what the weight gradients need of the activations is kept. Weight gradients: what
/// is done with finished gradients is done around them.
void write_input_gradients(PieceWriter& writer, const Chunk& chunk, const std::vector<SegmentLaunches>& segments, const ChunkActions& actions);
void write_weight_gradients(PieceWriter& writer, const Chunk& chunk, const std::vector<SegmentLaunches>& segments, const ChunkActions& actions);

}  // namespace sgsim::lower

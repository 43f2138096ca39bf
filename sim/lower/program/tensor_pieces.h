#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "sim/lower/program/launches.h"

namespace sgsim::lower {

/// The kernel that first needs the result of collective `index`; the list's size: none. Without data flow in the list (no kernel names an
/// input) the next kernel is taken to need it.
[[nodiscard]] std::uint32_t first_reader(const std::vector<compile::Kernel>& kernels, std::size_t index, bool has_flow);

/// Whether collective `index`, first read by `reader`, gathers the operand of a linear layer's product over the tensor-parallel ranks.
[[nodiscard]] bool is_operand_gather(const std::vector<compile::Kernel>& kernels, std::size_t index, std::uint32_t reader);

/// The products that tensor-parallel transfers in pieces change (Stack::tensor_parallel_pipelined): of which a gather's pieces are read, or
/// whose pieces are sent. Each runs as `count` smaller ones. Weight gradients sum over what is gathered: their pieces add up in place, as
/// one product does, and they are not among them.
struct ProductPieces {
  std::set<std::uint32_t> gathered, scattered;
  std::int64_t count = 1;
};
[[nodiscard]] ProductPieces product_pieces(const std::vector<compile::Kernel>& kernels, std::int64_t count);

/// What a product in pieces takes longer than in one; what was received of a reduce-scatter is summed up at the end.
[[nodiscard]] Seconds more_in_pieces(const graph::Work& work, const ProductPieces& pieces, std::uint32_t index, const TaskCosts& costs);

/// Orders launches, one a kernel, so that transfers go in pieces. A gather goes on while the product that reads it works on the pieces that
/// have come, so that not this product but what follows it waits for the end; a reduce-scatter of a product begins with the product, whose
/// pieces it sends as they are made. The first piece of a gather and the last of a reduce-scatter, which have nothing to run beside, are not counted.
void send_in_pieces(std::vector<Launch>& launches, const std::vector<compile::Kernel>& kernels);

}  // namespace sgsim::lower

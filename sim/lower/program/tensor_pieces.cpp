#include "sim/lower/program/tensor_pieces.h"

#include <algorithm>
#include <utility>

namespace sgsim::lower {
namespace {

bool reads(const compile::Kernel& kernel, std::size_t other) {
  return std::find(kernel.inputs.begin(), kernel.inputs.end(), KernelId{static_cast<std::uint32_t>(other)}) != kernel.inputs.end();
}

bool is_linear_product(const compile::Kernel& kernel) {
  const auto* product = std::get_if<graph::Matmul>(&kernel.work);
  return !kernel.is_communication && product != nullptr && product->batch == 1;
}

bool is_tensor(const compile::Kernel& kernel, graph::CollectiveOp op) { return kernel.is_communication && kernel.communication.group == "tp" && kernel.communication.op == op; }

/// A reduce-scatter of what the kernel before it made.
bool sends_pieces(const std::vector<compile::Kernel>& kernels, std::uint32_t k) {
  return k > 0 && is_tensor(kernels[k], graph::CollectiveOp::reduce_scatter) && is_linear_product(kernels[k - 1]) && reads(kernels[k], k - 1);
}

}  // namespace

std::uint32_t first_reader(const std::vector<compile::Kernel>& kernels, std::size_t index, bool has_flow) {
  if (!has_flow) return static_cast<std::uint32_t>(index + 1);
  for (std::size_t k = index + 1; k < kernels.size(); ++k) {
    if (reads(kernels[k], index)) return static_cast<std::uint32_t>(k);
  }
  return static_cast<std::uint32_t>(kernels.size());
}

bool is_operand_gather(const std::vector<compile::Kernel>& kernels, std::size_t index, std::uint32_t reader) {
  return is_tensor(kernels[index], graph::CollectiveOp::all_gather) && reader < kernels.size() && is_linear_product(kernels[reader]);
}

ProductPieces product_pieces(const std::vector<compile::Kernel>& kernels, std::int64_t count) {
  ProductPieces pieces{.gathered = {}, .scattered = {}, .count = count};
  for (std::uint32_t k = 0; k < kernels.size(); ++k) {
    if (sends_pieces(kernels, k)) pieces.scattered.insert(k - 1);
    if (!kernels[k].is_communication) continue;
    const std::uint32_t reader = first_reader(kernels, k, true);
    if (is_operand_gather(kernels, k, reader) && !std::get<graph::Matmul>(kernels[reader].work).a_transposed) pieces.gathered.insert(reader);
  }
  return pieces;
}

Seconds more_in_pieces(const graph::Work& work, const ProductPieces& pieces, std::uint32_t index, const TaskCosts& costs) {
  const bool scattered = pieces.scattered.contains(index);
  if (pieces.count <= 1 || (!scattered && !pieces.gathered.contains(index))) return {};
  const auto& whole = std::get<graph::Matmul>(work);
  graph::Matmul piece = whole;
  piece.m = std::max<std::int64_t>(1, whole.m / pieces.count);
  Seconds more = std::max(Seconds(), costs.kernel(piece).time * static_cast<double>(pieces.count) - costs.kernel(work).time);
  if (scattered) {
    const Bytes received(static_cast<double>(whole.m) * static_cast<double>(whole.n) * graph::size_of(whole.out_dtype));
    more += costs.kernel(graph::MemoryBound{.kind = graph::MemoryKind::reduction, .read = received, .written = received / static_cast<double>(pieces.count), .flops = {}}).time;
  }
  return more;
}

void send_in_pieces(std::vector<Launch>& launches, const std::vector<compile::Kernel>& kernels) {
  const auto end = static_cast<std::uint32_t>(launches.size());
  std::vector<std::uint32_t> place(launches.size() + 1);
  for (std::uint32_t k = 0; k <= end; ++k) place[k] = k;
  for (std::uint32_t k = 1; k < end; ++k) {
    if (!sends_pieces(kernels, k)) continue;
    std::swap(launches[k - 1], launches[k]);
    std::swap(place[k - 1], place[k]);
  }
  for (Launch& launch : launches) {
    if (!launch.kernel->is_communication) continue;
    const auto own = static_cast<std::size_t>(launch.kernel - kernels.data());
    const bool runs_beside = is_operand_gather(kernels, own, launch.reader);
    launch.reader = place[launch.reader] + (runs_beside ? 1 : 0);
  }
}

}  // namespace sgsim::lower

// One kernel that sums a matrix along its rows and along its columns (Inductor's mix-order reductions).
#include <algorithm>

#include "sim/compile/fuse/fuser.h"
#include "sim/compile/fuse/reduction_split.h"

namespace sgsim::compile::fuse {

/// A reduction of whole rows and one of whole columns of the same matrix, which neither reads the other's result.
bool Fuser::is_mixed_pair(const FusionNode& rows, const FusionNode& columns) const {
  if (!rows.alive || !columns.alive || !rows.reduces || !columns.reduces || rows.backward != columns.backward || rows.piece != columns.piece) return false;
  const LoopNest& row = program_.nests[rows.first];
  const LoopNest& column = program_.nests[columns.first];
  const std::int64_t width = column.whole_kept != 0 ? column.whole_kept : column.kept;
  const std::int64_t height = column.whole_kept != 0 ? column.whole_reduced : column.reduced;
  if (row.whole_kept != 0 || row.outer || row.kept != height || row.reduced != width || !sums_both_ways(height, width)) return false;
  for (const std::uint32_t n : columns.nests) {
    if (program_.nests[n].online || program_.nests[n].kind != LoopKind::reduction || program_.nests[n].combines) return false;
  }
  const double matrix = static_cast<double>(height) * static_cast<double>(width);
  return std::any_of(rows.reads.begin(), rows.reads.end(), [&](const Dependency& r) {
    return r.elements >= matrix && std::any_of(columns.reads.begin(), columns.reads.end(), [&](const Dependency& c) { return c.buffer == r.buffer; });
  });
}

void Fuser::join_mixed_orders() {
  std::vector<std::vector<std::uint32_t>> reductions(program_.buffers.size());  // that read a buffer
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].alive || !nodes_[i].reduces || nodes_[i].fixed) continue;
    for (const Dependency& d : nodes_[i].reads) {
      if (reductions[d.buffer].empty() || reductions[d.buffer].back() != i) reductions[d.buffer].push_back(i);
    }
  }
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].alive || !nodes_[i].reduces || nodes_[i].mixed) continue;
    std::uint32_t best = kNone;
    double most = 0.0;
    for (const Dependency& d : nodes_[i].reads) {
      for (const std::uint32_t j : reductions[d.buffer]) {
        if (j == i || nodes_[j].mixed || !is_mixed_pair(nodes_[i], nodes_[j]) || !paths_allow(i, j)) continue;
        const double bytes = d.elements * program_.buffers[d.buffer].element_size;
        if (bytes <= most) continue;
        most = bytes;
        best = j;
      }
    }
    if (best == kNone) continue;
    for (const std::uint32_t n : nodes_[best].nests) {  // partial sums of kMixedRows rows each
      for (const Dependency& w : program_.nests[n].writes)
        program_.buffers[w.buffer].elements = static_cast<double>(nodes_[i].reduced * (nodes_[i].kept / kMixedRows));
    }
    const std::int64_t kept = nodes_[i].kept, reduced = nodes_[i].reduced;
    const std::uint32_t a = std::min(i, best);
    join(a, std::max(i, best));
    nodes_[a].kept = kept;
    nodes_[a].reduced = reduced;
    nodes_[a].mixed = true;
    absorb_row_results(a);
  }
}

/// The elementwise results that the row sums are for are computed while the row is in registers. What reads those results
/// from memory stays a kernel of its own, as profiles show ("triton_poi_fused__to_copy_view" after each such kernel).
void Fuser::absorb_row_results(std::uint32_t mixed) {
  for (std::uint32_t j = 0; j < nodes_.size(); ++j) {
    const FusionNode& other = nodes_[j];
    if (j == mixed || !other.alive || other.reduces || other.fixed || other.backward != nodes_[mixed].backward) continue;
    if (other.kept != nodes_[mixed].kept && other.kept != nodes_[mixed].kept * nodes_[mixed].reduced) continue;
    if (!makes_for(nodes_[mixed], other) || !reads_match(nodes_[mixed], other) || !paths_allow(std::min(mixed, j), std::max(mixed, j))) continue;
    const bool reads_elements = std::any_of(other.reads.begin(), other.reads.end(), [&](const Dependency& r) {
      return maker_of(r.buffer) == mixed && r.elements > static_cast<double>(nodes_[mixed].kept);
    });
    if (!reads_elements) join(mixed, j);
  }
}

}  // namespace sgsim::compile::fuse

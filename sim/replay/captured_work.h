#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/graph/work.h"
#include "sim/trace/imported_run.h"

namespace sgsim::replay {

/// What a captured kernel may have computed, and what it computes with another tensor size. Several where the file leaves something open (layout, mask,
/// which extent of a product is which): the captured time tells which.
struct WorkPair {
  graph::Work captured, wanted;
};

/// Knows the work of a rank's matrix products, attention and, where the file counts bytes, of other kernels: from the shapes of their operators, else from the flops
/// and bytes of a timeline of sgsim simulate.
///
/// Products of tensor parallel layers have two extents that are not divided, tokens s and hidden size h, and one that is, x: their
/// flops are 2 s h x, and their elements s h + (s + h) x. All of a model lie on one line over x, which gives s and h.
class CapturedWork {
 public:
  /// `share`: captured over wanted tensor size.
  CapturedWork(const trace::ImportedRun& run, const trace::RankTrace& rank, double share);

  /// Empty where the work is not known.
  [[nodiscard]] std::vector<WorkPair> of(std::uint32_t device_op) const;

  struct Undivided {
    std::int64_t tokens = 0, hidden = 0;  // which of the two is which is not known
  };
  [[nodiscard]] const std::optional<Undivided>& undivided() const { return undivided_; }
  /// What a tensor size divides and must leave whole: heads of attention, or the batch of a batched product (heads times sequences); nothing for others.
  [[nodiscard]] std::optional<std::int64_t> heads_of(std::uint32_t device_op) const;
  /// Whether the wanted tensor size divides this operation's extent or heads; true where that is not known.
  [[nodiscard]] static bool divides(const WorkPair& pair, double share);

 private:
  struct Product {
    double flops = 0.0, elements = 0.0, time = 0.0;
  };
  [[nodiscard]] std::optional<graph::Matmul> product_of(const trace::DeviceOp& op) const;
  [[nodiscard]] std::vector<graph::Attention> attention_of(const trace::DeviceOp& op) const;
  [[nodiscard]] std::vector<WorkPair> products(const trace::DeviceOp& op) const;
  [[nodiscard]] std::int64_t divided(std::int64_t extent) const;
  void find_undivided();

  const trace::ImportedRun& run_;
  const trace::RankTrace& rank_;
  double share_;
  std::optional<Undivided> undivided_;
};

}  // namespace sgsim::replay

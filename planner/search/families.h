#pragma once

#include <string>
#include <vector>

#include "planner/search/axes.h"
#include "planner/search/estimator.h"
#include "planner/search/search.h"

namespace sgsim::search {

/// Plans of one family that may fit, with memory and a lower bound of the step time, and why the others fell out.
struct FamilyResult {
  std::vector<Found> fit;
  Rejections rejections;
  std::uint64_t estimated = 0;
};

/// Closed-form memory of plans near the limit may be off by so much; those go on and are lowered before they are shown.
inline constexpr double kMemoryDoubt = 0.05;

/// Looks at the micro-batches of a family in ascending order: where no option of one fits, larger ones are not looked at. One a thread.
class FamilyEstimator {
 public:
  FamilyEstimator(const Problem& problem, const Axes& axes, const SearchOptions& options, LayerCostTable& table);
  [[nodiscard]] FamilyResult run(const Family& family);
  [[nodiscard]] Estimator& estimator() { return estimator_; }

 private:
  void keep(const Candidate& candidate, const Figures& figures, FamilyResult& result) const;
  [[nodiscard]] bool layout(const Layout& layout, const std::vector<StateOption>& options, FamilyResult& result);
  [[nodiscard]] bool offloaded(const Layout& layout, const std::vector<StateOption>& options, FamilyResult& result);
  [[nodiscard]] bool partly_recomputed(const Layout& layout, const std::vector<StateOption>& options, FamilyResult& result);

  const Problem& problem_;
  const Axes& axes_;
  const SearchOptions& options_;
  MemoryRule rule_;
  Estimator estimator_;
};

/// Why a plan that needs so much does not fit: "memory", or "memory_margin" where it would without the margin. Counts it.
void reject_memory(const MemoryRule& rule, const Figures& figures, Rejections& rejections);

}  // namespace sgsim::search

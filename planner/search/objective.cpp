#include "planner/search/objective.h"

#include <cmath>
#include <limits>

#include "sim/core/error.h"

namespace sgsim::search {

std::optional<double> cost_per_sample(const Economics& e, int gpus, Seconds step_time, std::int64_t global_batch) {
  if (!e.price) return std::nullopt;
  return *e.price / 3600.0 * gpus * step_time.value() / static_cast<double>(global_batch);
}

std::optional<double> useful_share(const Economics& e, int gpus) {
  if (!e.gpu_mtbf || !e.checkpoint || !e.restart) return std::nullopt;
  const double between = e.gpu_mtbf->value() / gpus, checkpoint = e.checkpoint->value();
  if (between <= checkpoint + e.restart->value()) return 0.0;
  const double interval = std::sqrt(2.0 * checkpoint * between);
  const double running = interval + checkpoint > 0.0 ? interval / (interval + checkpoint) : 1.0;
  const double lost = e.restart->value() + (interval + checkpoint) / 2.0;
  return running * between / (between + lost);
}

double score(Objective objective, const Economics& e, int gpus, std::int64_t global_batch, const Figures& figures) {
  const double step = figures.step_time.value();
  switch (objective) {
    case Objective::time: return step / static_cast<double>(global_batch);
    case Objective::cost: {
      const auto cost = cost_per_sample(e, gpus, figures.step_time, global_batch);
      SGSIM_CHECK(cost.has_value(), "the objective cost needs a price");
      return *cost;
    }
    case Objective::goodput: {
      const auto share = useful_share(e, gpus);
      SGSIM_CHECK(share.has_value(), "the objective goodput needs failures, checkpoint and restart times");
      return *share > 0.0 ? step / static_cast<double>(global_batch) / *share : std::numeric_limits<double>::infinity();
    }
    case Objective::memory: return figures.needed.value();
  }
  return step;
}

}  // namespace sgsim::search

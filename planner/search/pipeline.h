#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "sim/lower/data_parallel/data_parallel.h"
#include "sim/lower/program/run_cost.h"
#include "sim/lower/schedule/order.h"
#include "sim/plan/plan.h"

namespace sgsim::search {

/// Passes of one chunk of the model over one micro-batch, by lower::variant_of.
struct ChunkPasses {
  std::array<lower::RunCost, lower::kMicroBatchVariants> forward, backward;  // zero bubble: backward is the weight gradients
  lower::RunCost inputs;         // zero bubble: the input gradients
  Seconds hop;                   // transfer from this chunk to the next, and of its gradient back
};

struct PipelineInput {
  plan::Schedule schedule = plan::Schedule::one_f_one_b;
  int pp = 1, virtual_stages = 1;
  std::int64_t micro_batches = 1;
  std::vector<ChunkPasses> chunks;   // in model order
  bool waits_for_sends = false;
  Seconds exchange_host, latency;    // of issuing one send or receive
};

struct PipelineTimes {
  std::vector<Seconds> end, host;                    // by stage: computation over, host free
  std::vector<Seconds> last_backward_start;          // by chunk; of the pass with the weight gradients
};

/// Passes of all stages in schedule order with rendezvous transfers between them; long steps are continued from the steady
/// state between 2 pp and 3 pp micro-batches. Keeps pass orders between calls; one a thread.
class Pipeline {
 public:
  [[nodiscard]] PipelineTimes run(const PipelineInput& input);

 private:
  using Order = std::vector<lower::PassStep>;
  [[nodiscard]] PipelineTimes simulate(const PipelineInput& input, int micro_batches);
  [[nodiscard]] const std::vector<Order>& orders(const PipelineInput& input, int micro_batches);

  std::map<std::tuple<plan::Schedule, int, int, int>, std::vector<Order>> orders_;
};

}  // namespace sgsim::search

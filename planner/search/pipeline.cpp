#include "planner/search/pipeline.h"

#include <algorithm>

#include "sim/core/error.h"

namespace sgsim::search {
namespace {

constexpr double kNotYet = -1.0;

/// One simulation: stages take turns as long as one of them can go on.
class Clock {
 public:
  Clock(const PipelineInput& in, const std::vector<std::vector<lower::PassStep>>& orders, int micro_batches)
      : in_(in), orders_(orders), m_(static_cast<std::size_t>(micro_batches)), last_(in.chunks.size() - 1) {
    const std::size_t cells = in.chunks.size() * m_;
    forward_in_.assign(cells, kNotYet);
    backward_in_.assign(cells, kNotYet);
    if (in.pp > 1) post_receives();
    stages_.resize(orders.size());
    times_.last_backward_start.assign(in.chunks.size(), Seconds());
  }

  PipelineTimes run() {
    std::size_t passes = 0, done = 0;
    for (const auto& order : orders_) passes += order.size();
    while (done < passes) {
      const std::size_t before = done;
      for (std::size_t s = 0; s < stages_.size(); ++s) {
        while (stages_[s].next < orders_[s].size() && pass(s)) ++done;
      }
      SGSIM_CHECK(done > before, "a pipeline order that waits for itself");
    }
    for (const Stage& stage : stages_) {
      times_.end.push_back(Seconds(stage.stream));
      times_.host.push_back(Seconds(stage.host));
    }
    return std::move(times_);
  }

 private:
  struct Stage {
    std::size_t next = 0;
    double stream = 0.0, host = 0.0, sent_forward = 0.0, sent_backward = 0.0;
  };
  [[nodiscard]] std::size_t cell(std::size_t chunk, int micro_batch) const { return chunk * m_ + static_cast<std::size_t>(micro_batch); }
  [[nodiscard]] std::size_t variant(int micro_batch) const { return lower::variant_of(micro_batch, static_cast<std::int64_t>(m_)); }
  [[nodiscard]] std::size_t chunk_of(const lower::PassStep& step, std::size_t stage) const { return static_cast<std::size_t>(step.virtual_stage * in_.pp) + stage; }

  [[nodiscard]] const lower::RunCost& run_of(const ChunkPasses& passes, const lower::PassStep& step) const {
    if (step.gradients == lower::Gradients::inputs) return passes.inputs;
    return (step.forward ? passes.forward : passes.backward)[variant(step.micro_batch)];
  }

  /// The host posts a pass's receive before its kernels; it never waits, so that this is known beforehand.
  void post_receives() {
    forward_posted_.assign(forward_in_.size(), 0.0);
    backward_posted_.assign(forward_in_.size(), 0.0);
    const double exchange = in_.exchange_host.value();
    for (std::size_t s = 0; s < orders_.size(); ++s) {
      double host = 0.0;
      for (const lower::PassStep& step : orders_[s]) {
        const std::size_t chunk = chunk_of(step, s);
        const ChunkPasses& passes = in_.chunks[chunk];
        const bool exchanges = step.gradients != lower::Gradients::weights;
        const bool receives = exchanges && (step.forward ? chunk > 0 : chunk < last_), sends = exchanges && (step.forward ? chunk < last_ : chunk > 0);
        if (receives) host += exchange;
        if (exchanges) (step.forward ? forward_posted_ : backward_posted_)[cell(chunk, step.micro_batch)] = host + in_.latency.value();
        host += run_of(passes, step).host.value() + (sends ? exchange : 0.0);
      }
    }
  }

  bool pass(std::size_t s) {
    Stage& stage = stages_[s];
    const lower::PassStep& step = orders_[s][stage.next];
    const std::size_t chunk = chunk_of(step, s), at = cell(chunk, step.micro_batch);
    const bool exchanges = step.gradients != lower::Gradients::weights;
    const bool receives = exchanges && (step.forward ? chunk > 0 : chunk < last_);
    double start = stage.stream;
    if (receives) {
      const double arrival = (step.forward ? forward_in_ : backward_in_)[at];
      if (arrival == kNotYet) return false;
      start = std::max(start, arrival);
      stage.host += in_.exchange_host.value();
    }
    if (in_.waits_for_sends) start = std::max({start, stage.sent_forward, stage.sent_backward});
    const lower::RunCost& run = run_of(in_.chunks[chunk], step);
    if (!step.forward && step.gradients != lower::Gradients::inputs && step.micro_batch + 1 == static_cast<int>(m_)) times_.last_backward_start[chunk] = Seconds(start);
    stage.stream = std::max(start + run.device.value(), stage.host + run.issue_to_end.value());
    stage.host += run.host.value();
    if (!exchanges) {
      ++stage.next;
      return true;
    }
    if (step.forward && chunk < last_) send(stage, stage.sent_forward, in_.chunks[chunk].hop.value(), forward_in_, forward_posted_, cell(chunk + 1, step.micro_batch));
    if (!step.forward && chunk > 0) send(stage, stage.sent_backward, in_.chunks[chunk - 1].hop.value(), backward_in_, backward_posted_, cell(chunk - 1, step.micro_batch));
    ++stage.next;
    return true;
  }

  void send(Stage& stage, double& sent, double hop, std::vector<double>& arrivals, const std::vector<double>& posted, std::size_t to) {
    stage.host += in_.exchange_host.value();
    const double start = std::max({stage.stream, stage.host + in_.latency.value(), sent, posted[to]});
    sent = start + hop;
    arrivals[to] = sent;
  }

  const PipelineInput& in_;
  const std::vector<std::vector<lower::PassStep>>& orders_;
  std::size_t m_, last_;
  std::vector<double> forward_in_, backward_in_, forward_posted_, backward_posted_;
  std::vector<Stage> stages_;
  PipelineTimes times_;
};

void continue_steady(std::vector<Seconds>& at, const std::vector<Seconds>& shorter, double periods) {
  for (std::size_t i = 0; i < at.size(); ++i) at[i] += (at[i] - shorter[i]) * periods;
}

}  // namespace

const std::vector<Pipeline::Order>& Pipeline::orders(const PipelineInput& in, int micro_batches) {
  std::vector<Order>& known = orders_[{in.schedule, in.pp, in.virtual_stages, micro_batches}];
  if (known.empty()) {
    for (int s = 0; s < in.pp; ++s) known.push_back(lower::pass_order(in.schedule, in.pp, in.virtual_stages, micro_batches, s));
  }
  return known;
}

PipelineTimes Pipeline::simulate(const PipelineInput& input, int micro_batches) {
  return Clock(input, orders(input, micro_batches), micro_batches).run();
}

PipelineTimes Pipeline::run(const PipelineInput& input) {
  const std::int64_t most = 3LL * std::max(2, input.pp);
  if (input.micro_batches <= most) return simulate(input, static_cast<int>(input.micro_batches));
  const int period = std::max(2, input.pp);
  PipelineTimes times = simulate(input, 3 * period);
  const PipelineTimes shorter = simulate(input, 2 * period);
  const double periods = static_cast<double>(input.micro_batches - 3 * period) / period;
  continue_steady(times.end, shorter.end, periods);
  continue_steady(times.host, shorter.host, periods);
  continue_steady(times.last_backward_start, shorter.last_backward_start, periods);
  return times;
}

}  // namespace sgsim::search

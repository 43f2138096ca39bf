#include "planner/checker/plan_checker.h"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace sgsim::checker {
namespace {

class Check {
 public:
  explicit Check(const Claim& claim) : c_(claim) {}

  std::vector<std::string> run() {
    for (const std::int64_t size : {std::int64_t{c_.dp}, std::int64_t{c_.tp}, std::int64_t{c_.pp}, std::int64_t{c_.cp}, std::int64_t{c_.ep}, std::int64_t{c_.virtual_stages}, c_.micro_batch, c_.global_batch}) {
      if (size < 1) return {fmt::format("a size of the plan is {}", size)};
    }
    ranks();
    samples();
    layers();
    shares();
    if (wrong_.empty()) pipeline();
    physics();
    return std::move(wrong_);
  }

 private:
  template <class... Args>
  void wrong(fmt::format_string<Args...> format, Args&&... args) { wrong_.push_back(fmt::format(format, std::forward<Args>(args)...)); }

  void ranks() {
    std::set<int> taken;
    for (int p = 0; p < c_.pp; ++p) {
      for (int d = 0; d < c_.dp; ++d) {
        for (int x = 0; x < c_.cp; ++x) {
          for (int t = 0; t < c_.tp; ++t) taken.insert(((p * c_.dp + d) * c_.cp + x) * c_.tp + t);
        }
      }
    }
    if (static_cast<int>(taken.size()) != c_.gpus || *taken.rbegin() != c_.gpus - 1) wrong("{} ranks for {} GPUs", taken.size(), c_.gpus);
    if (c_.sharding == "hybrid" && (c_.shard_group < 1 || (c_.dp * c_.cp) % c_.shard_group != 0)) wrong("shard groups of {} do not divide {} replicas", c_.shard_group, c_.dp * c_.cp);
  }

  void samples() {
    std::int64_t placed = 0;
    for (; placed + c_.micro_batch * c_.dp <= c_.global_batch; placed += c_.micro_batch * c_.dp) ++rounds_;
    if (placed != c_.global_batch) wrong("{} of {} samples have no micro-batch", c_.global_batch - placed, c_.global_batch);
  }

  void layers() {
    const int chunks = c_.pp * c_.virtual_stages;
    if (c_.layers == 0) return;
    std::vector<int> count = c_.stage_layers;
    if (count.empty()) {
      count.assign(static_cast<std::size_t>(chunks), 0);
      for (std::int64_t l = 0; l < c_.layers; ++l) ++count[static_cast<std::size_t>(l % chunks)];
    }
    if (static_cast<int>(count.size()) != chunks) wrong("layers of {} chunks for {}", count.size(), chunks);
    if (std::accumulate(count.begin(), count.end(), std::int64_t{0}) != c_.layers) wrong("the chunks hold another number of layers than {}", c_.layers);
    for (const int n : count) {
      if (n < 1) return wrong("a chunk without a layer");
      if (c_.recompute_layers > n) return wrong("{} layers recomputed in a chunk of {}", c_.recompute_layers, n);
    }
  }

  void shares() {
    const auto evenly = [&](std::int64_t number, std::int64_t ranks, const char* what) {
      if (number % ranks != 0) wrong("{} {} cannot be divided over {} ranks", number, what, ranks);
    };
    evenly(c_.heads, c_.tp, "heads");
    evenly(c_.kv_heads, c_.tp, "key and value heads");
    evenly(c_.ffn, c_.tp, "feed-forward columns");
    if (c_.cp > 1 || c_.sequence_parallel) evenly(c_.sequence, static_cast<std::int64_t>(c_.cp) * (c_.sequence_parallel ? c_.tp : 1), "tokens");
    if (c_.sequence_parallel && c_.tp == 1) wrong("sequence parallel without tensor parallel");
    if (c_.ep > 1) {
      if (c_.experts == 0) wrong("expert parallel without experts");
      evenly(c_.experts, c_.ep, "experts");
      evenly(static_cast<std::int64_t>(c_.dp) * c_.cp, c_.ep, "replicas");
    }
    if (c_.sharding == "zero2" && c_.pp > 1) wrong("ZeRO-2 in a pipeline");
    if (c_.cp > 1) evenly(c_.sequence, 2LL * c_.cp, "tokens in two chunks a rank");
    if (c_.sharding == "hybrid" && c_.shard_group > 0) evenly(c_.shard_group, c_.ep, "ranks of a shard group");
    if (c_.recompute_layers > 0 && !c_.recomputes) wrong("{} layers recomputed without recomputation", c_.recompute_layers);
    if (c_.offload_activations && (c_.pp > 1 || c_.recomputes)) wrong("activations offloaded in a pipeline or beside recomputation");
  }

  enum Kind : int { kForward, kBackward, kWeights };   // zb_h1: kBackward is the input gradients alone
  using Pass = std::tuple<int, int, std::int64_t>;      // kind, chunk of the model, micro-batch

  /// Passes of a stage: how many run ahead is what tells the schedules apart.
  std::vector<Pass> order(int stage, std::int64_t m) const {
    const int v = c_.virtual_stages;
    std::vector<Pass> forward, backward;
    const std::int64_t group = v > 1 ? c_.pp : m;
    for (std::int64_t start = 0; start < m; start += group) {
      for (int chunk = 0; chunk < v; ++chunk) {
        for (std::int64_t b = start; b < std::min(start + group, m); ++b) {
          forward.emplace_back(kForward, chunk * c_.pp + stage, b);
          backward.emplace_back(kBackward, (v - 1 - chunk) * c_.pp + stage, b);
        }
      }
    }
    std::size_t ahead = forward.size();
    if (c_.schedule == "1f1b" || c_.schedule == "zb_h1") ahead = std::min<std::size_t>(ahead, static_cast<std::size_t>(c_.pp - stage - 1));
    if (v > 1 && m > c_.pp) ahead = std::min<std::size_t>(ahead, static_cast<std::size_t>(2 * (c_.pp - stage - 1) + (v - 1) * c_.pp));
    std::vector<Pass> all(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(ahead));
    std::size_t done = 0;
    for (std::size_t f = ahead; f < forward.size(); ++f) {
      all.push_back(forward[f]);
      all.push_back(backward[done++]);
    }
    all.insert(all.end(), backward.begin() + static_cast<std::ptrdiff_t>(done), backward.end());
    return c_.schedule == "zb_h1" ? with_weights(all, stage) : all;
  }

  /// Weight gradients as soon as `stage` younger micro-batches have their input gradients, the rest at the end.
  static std::vector<Pass> with_weights(const std::vector<Pass>& passes, int stage) {
    std::vector<Pass> all;
    std::deque<Pass> owed;
    for (const Pass& pass : passes) {
      all.push_back(pass);
      if (std::get<0>(pass) != kBackward) continue;
      owed.emplace_back(kWeights, std::get<1>(pass), std::get<2>(pass));
      if (static_cast<int>(owed.size()) > stage) {
        all.push_back(owed.front());
        owed.pop_front();
      }
    }
    all.insert(all.end(), owed.begin(), owed.end());
    return all;
  }

  /// ZB-H1 may hold no more than 1F1B's first stage: pp micro-batches whose weight gradients are still to come.
  void in_flight(const std::vector<Pass>& passes) {
    int live = 0;
    for (const Pass& pass : passes) {
      live += std::get<0>(pass) == kForward ? 1 : std::get<0>(pass) == kWeights ? -1 : 0;
      if (live > c_.pp) return wrong("{} micro-batches in flight on {} stages", live, c_.pp);
    }
    if (live != 0) wrong("{} micro-batches without weight gradients", live);
  }

  /// Runs the schedule as a token game: a pass needs its neighbour's; everything must come to its end.
  void pipeline() {
    if (c_.schedule != "gpipe" && c_.schedule != "1f1b" && c_.schedule != "interleaved" && c_.schedule != "zb_h1") return wrong("an unknown schedule, {}", c_.schedule);
    if (c_.schedule == "zb_h1" && (c_.sharding == "zero2" || c_.resharded)) return wrong("split backward passes with gradients or parameters that are given up between them");
    if ((c_.virtual_stages > 1) != (c_.schedule == "interleaved")) return wrong("{} with {} chunks a stage", c_.schedule, c_.virtual_stages);
    const std::int64_t rounds = rounds_;
    if (c_.virtual_stages > 1 && rounds % c_.pp != 0) return wrong("{} micro-batches do not fill groups of {}", rounds, c_.pp);
    const std::int64_t m = std::min<std::int64_t>(rounds, 4LL * c_.pp);  // from there on it repeats
    const int last = c_.pp * c_.virtual_stages - 1;
    std::vector<std::deque<Pass>> waiting;
    for (int s = 0; s < c_.pp; ++s) {
      const auto passes = order(s, m);
      if (c_.schedule == "zb_h1") in_flight(passes);
      waiting.emplace_back(passes.begin(), passes.end());
    }
    std::set<Pass> done;
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& stage : waiting) {
        while (!stage.empty()) {
          const auto& [kind, chunk, b] = stage.front();
          const bool ready = kind == kForward   ? chunk == 0 || done.count({kForward, chunk - 1, b}) > 0
                             : kind == kWeights ? done.count({kBackward, chunk, b}) > 0
                                                : done.count({kForward, chunk, b}) > 0 && (chunk == last || done.count({kBackward, chunk + 1, b}) > 0);
          if (!ready) break;
          done.insert(stage.front());
          stage.pop_front();
          moved = true;
        }
      }
    }
    for (std::size_t s = 0; s < waiting.size(); ++s) {
      if (!waiting[s].empty()) return wrong("stage {} never ends: {} passes wait", s, waiting[s].size());
    }
  }

  void physics() {
    const double replicas = static_cast<double>(c_.dp) * c_.cp, model = static_cast<double>(c_.tp) * c_.pp * (c_.ep > 1 ? c_.ep : 1);
    // The fullest rank holds at least the average.
    const double here = c_.parameters / model, trained = c_.trained / model;
    double divided = 1.0, whole = 1.0;
    if (c_.sharding == "zero1" || c_.sharding == "zero2") divided = replicas;
    if (c_.sharding == "fsdp") divided = whole = replicas;
    if (c_.sharding == "hybrid") divided = whole = c_.shard_group;
    const double least = here * c_.bytes_parameter / whole + trained * (c_.offload_optimizer ? 0.0 : c_.bytes_optimizer) / divided;
    if (c_.memory_needed < least) wrong("{:.4g} bytes claimed, but parameters and optimizer state alone take {:.4g}", c_.memory_needed, least);
    if (c_.memory_needed > c_.memory) wrong("{:.4g} bytes needed, but only {:.4g} taken", c_.memory_needed, c_.memory);
    const double left = c_.gpu_memory - c_.memory_needed, wanted = c_.memory_needed * c_.memory_margin;
    if (c_.gpu_memory > 0.0 && left < wanted - 1.0) wrong("{:.4g} of {:.4g} bytes left, but the margin is {:.4g}", left, c_.gpu_memory, wanted);
    if (c_.gpu_memory > 0.0 && c_.memory > c_.gpu_memory) wrong("{:.4g} bytes on a GPU of {:.4g}", c_.memory, c_.gpu_memory);
    const double fastest = c_.flops_a_sample * static_cast<double>(c_.global_batch) / (c_.gpus * c_.gpu_flops);
    if (c_.gpu_flops > 0.0 && c_.step_time < fastest) wrong("{:.4g} s claimed, {:.4g} s at the peak rate of all GPUs", c_.step_time, fastest);
    if (!(c_.step_time > 0.0)) wrong("a step of {} s", c_.step_time);
  }

  const Claim& c_;
  std::int64_t rounds_ = 0;
  std::vector<std::string> wrong_;
};

}  // namespace

std::vector<std::string> check(const Claim& claim) { return Check(claim).run(); }

}  // namespace sgsim::checker

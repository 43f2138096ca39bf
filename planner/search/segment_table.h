#pragma once

#include <compare>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>

#include "sim/graph/graph.h"
#include "sim/lower/lower.h"
#include "sim/lower/segment/model_flops.h"
#include "sim/lower/segment/reduce.h"
#include "sim/lower/segments.h"
#include "sim/plan/plan.h"

namespace sgsim::search {

/// A value for each key, made once and shared by threads; those that ask while it is made wait.
template <class Key, class Value>
class OnceTable {
 public:
  template <class Make>
  std::shared_ptr<const Value> get(const Key& key, Make make) {
    std::promise<std::shared_ptr<const Value>> promise;
    std::shared_future<std::shared_ptr<const Value>> future;
    bool mine = false;
    {
      const std::lock_guard lock(mutex_);
      const auto found = made_.find(key);
      mine = found == made_.end();
      future = mine ? made_.emplace(key, promise.get_future().share()).first->second : found->second;
    }
    if (mine) {
      try {
        promise.set_value(make());
      } catch (...) {
        promise.set_exception(std::current_exception());
      }
    }
    return future.get();
  }
  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return made_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<Key, std::shared_future<std::shared_ptr<const Value>>> made_;
};

/// lower::segment_model() for many plans of one graph. What depends on the graph alone, its cut into layers and which of them are equal, is
/// done once for each graph; each plan then works on a graph of a few layers. Segments and order are the same.
class SegmentTable {
 public:
  /// Of a legal plan whose layers are all recomputed or none (Plan::recompute_layers 0). `graph` must outlive the table.
  [[nodiscard]] std::shared_ptr<const lower::SegmentedModel> get(const std::shared_ptr<const graph::OperatorGraph>& graph, const plan::ModelShape& model, const plan::Plan& plan,
                                                                 const lower::Training& training);

 private:
  struct Short {
    std::shared_ptr<const graph::OperatorGraph> whole;  // kept, so that no other graph gets its address
    lower::segment::Reduced reduced;
    lower::segment::ModelFlops flops;
  };
  struct ShortKey {
    const graph::OperatorGraph* graph = nullptr;
    bool across = false;
    auto operator<=>(const ShortKey&) const = default;
  };
  struct Key {
    ShortKey graph;
    int tp = 1, cp = 1, ep = 1;
    bool sequence_parallel = false;
    plan::Recompute recompute = plan::Recompute::none;
    auto operator<=>(const Key&) const = default;
  };

  OnceTable<ShortKey, Short> short_;
  OnceTable<Key, lower::SegmentedModel> models_;
};

}  // namespace sgsim::search

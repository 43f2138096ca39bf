#pragma once

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/bench/cases/cases.h"
#include "calibrate/device/cuda/sdpa.h"

namespace sgsim::calibrate {

/// A cuDNN plan takes about a second of a core to compile (its kernels are generated at run time), longer than it takes to
/// measure it. The workshop compiles the plans of all points to come on all cores but two, in order, while others are
/// measured. A plan is made with its worker's handle and may run with any handle of the same GPU.
class PlanWorkshop {
 public:
  explicit PlanWorkshop(const std::vector<Key>& points);
  ~PlanWorkshop();
  PlanWorkshop(const PlanWorkshop&) = delete;
  PlanWorkshop& operator=(const PlanWorkshop&) = delete;

  struct Convolution {
    DnnTensor x, w, y;
    std::unique_ptr<DnnPlan> plan;
  };
  /// Wait for the plan; made on the spot when the key was not among the points. Throw DnnUnsupported as its making did.
  [[nodiscard]] std::shared_ptr<Sdpa> sdpa(const Key& key);
  [[nodiscard]] std::shared_ptr<Convolution> convolution(const Key& key);

 private:
  struct Job;
  void work();
  /// The job of a key, done: by a worker, or else here and now.
  Job& finished(const Key& key);

  int device_ = 0;
  std::map<Key, std::unique_ptr<Job>> jobs_;
  std::vector<Job*> queue_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<std::unique_ptr<Dnn>> handles_;  // the workers'
  std::unique_ptr<Dnn> own_;
  std::mutex mutex_;
  std::vector<std::thread> workers_;
};

/// Shape that an attention key names.
[[nodiscard]] SdpaShape sdpa_shape(const Key& key);
[[nodiscard]] bool is_backward(const Key& key);

}  // namespace sgsim::calibrate

#include "calibrate/bench/cases/cases.h"

#include "calibrate/bench/cases/clock.h"
#include "calibrate/device/cuda/cupti_source.h"
#include "calibrate/device/cuda/nccl_group.h"

namespace sgsim::calibrate {

std::map<std::string, Prepare> all_cases(Context& c, const std::vector<Key>& points, int gpus, ActivitySource& activities, ClockProbe& probe) {
  // Opens with the first kernel that is no launch measurement: its threads would disturb those.
  const auto workshop = std::make_shared<std::shared_ptr<PlanWorkshop>>();
  const auto open_workshop = [workshop, points] {
    if (!*workshop) *workshop = make_workshop(points);
  };
  const std::shared_ptr<Collectives> collectives = make_collectives(gpus);
  const std::shared_ptr<InterferenceRig> rig = make_interference_rig();
  const auto fresh = [&c, &activities, &probe, open_workshop](auto prepare) -> Prepare {
    return [&c, &activities, &probe, prepare, open_workshop](const Key& key) {
      if (key.group != "launch" && key.group != "host_copy") {
        if (probe.cycles == 0.0) probe = calibrate_probe(c, activities);
        open_workshop();
      }
      c.pool.reset();
      return prepare(key);
    };
  };
  return {{"matmul", fresh([&c](const Key& key) { return prepare_matmul(c, key); })},
          {"memory", fresh([&c](const Key& key) { return prepare_memory(c, key); })},
          {"attention", fresh([&c, workshop](const Key& key) { return prepare_attention(c, **workshop, key); })},
          {"convolution", fresh([&c, workshop](const Key& key) { return prepare_convolution(c, **workshop, key); })},
          {"host_copy", fresh([&c](const Key& key) { return prepare_host_copy(c, key); })},
          {"launch", fresh([&c, &activities](const Key& key) { return prepare_launch(c, activities, key); })},
          {"clock", fresh([&c, &activities, &probe, workshop](const Key& key) { return prepare_clock(c, **workshop, activities, probe, key); })},
          {"collective", fresh([collectives](const Key& key) { return prepare_collective(*collectives, key); })},
          {"interference", fresh([rig, collectives, &activities](const Key& key) { return prepare_interference(*rig, *collectives, activities, key); })}};
}

std::map<std::string, std::string> library_versions(const Context& c) {
  return {{"cublas", c.blas.version()}, {"cudnn", Dnn::version()}, {"nccl", nccl_version()}, {"cupti", cupti_version()}};
}

}  // namespace sgsim::calibrate

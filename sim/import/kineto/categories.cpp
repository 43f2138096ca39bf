#include "sim/import/kineto/categories.h"

#include <initializer_list>
#include <unordered_map>

namespace sgsim::import::kineto {
namespace {

using trace::CallKind;

bool has(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

}  // namespace

Category category_of(std::string_view text) {
  // New names, and those of PyTorch before 1.13 ("Operator", "Kernel", ...).
  static const std::unordered_map<std::string_view, Category> kCategories = {
      {"cpu_op", Category::op}, {"Operator", Category::op}, {"operator", Category::op}, {"cpu_instant_event", Category::marker},
      {"user_annotation", Category::annotation}, {"User_annotation", Category::annotation},
      {"python_function", Category::python}, {"Python", Category::python},
      {"cuda_runtime", Category::call}, {"cuda_driver", Category::call}, {"Runtime", Category::call}, {"runtime", Category::call},
      {"hip_runtime", Category::call}, {"privateuse1_runtime", Category::call}, {"privateuse1_driver", Category::call}, {"mtia_runtime", Category::call},
      {"xpu_runtime", Category::call}, {"xpu_driver", Category::call}, {"mtia_ccp_events", Category::marker},
      {"kernel", Category::kernel}, {"Kernel", Category::kernel}, {"concurrent_kernel", Category::kernel}, {"mtia_kernel", Category::kernel},
      {"gpu_memcpy", Category::copy}, {"Memcpy", Category::copy}, {"memcpy", Category::copy}, {"gpu_memset", Category::set}, {"Memset", Category::set}, {"memset", Category::set},
      {"cuda_sync", Category::sync},
      {"gpu_user_annotation", Category::device_annotation}, {"mtia_user_annotation", Category::device_annotation},
      {"Trace", Category::marker}, {"overhead", Category::marker}, {"cuda_profiler_range", Category::marker}, {"mtia_insight", Category::marker},
      {"forward", Category::marker}, {"backward", Category::marker}, {"optimizer", Category::marker}, {"host", Category::marker},  // of sgsim simulate --trace
      {"communication", Category::kernel}, {"wait", Category::marker}, {"send", Category::kernel}, {"receive", Category::kernel}, {"collective", Category::kernel},
      {"python_gc", Category::marker}, {"glow_runtime", Category::marker}, {"collective_comm", Category::marker},
  };
  const auto found = kCategories.find(text);
  return found == kCategories.end() ? Category::unknown : found->second;
}

CallKind call_kind(std::string_view name) {
  if (has(name, "GraphLaunch")) return CallKind::graph_launch;
  if (has(name, "Launch") && !has(name, "Attribute") && !has(name, "HostFunc") && !has(name, "LaunchDep")) return CallKind::launch;
  if (has(name, "Memcpy") || has(name, "memcpy")) return CallKind::copy;
  if (has(name, "Memset") || has(name, "memset")) return CallKind::set;
  if (has(name, "StreamWaitEvent")) return CallKind::stream_wait_event;
  if (has(name, "EventRecord")) return CallKind::event_record;
  if (has(name, "EventSynchronize")) return CallKind::event_sync;
  if (has(name, "StreamSynchronize")) return CallKind::stream_sync;
  if (has(name, "DeviceSynchronize") || has(name, "CtxSynchronize")) return CallKind::device_sync;
  if (has(name, "EventQuery") || has(name, "StreamQuery")) return CallKind::event_query;
  if (has(name, "Malloc") || has(name, "MemAlloc") || has(name, "Free") || has(name, "MemCreate")) return CallKind::allocate;
  return CallKind::other;
}

}  // namespace sgsim::import::kineto

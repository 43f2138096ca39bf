#include "calibrate/device/cuda/cupti_source.h"

#include <cupti.h>

#include <cstdlib>
#include <mutex>
#include <utility>

#include "sim/core/error.h"

namespace sgsim::calibrate {
namespace {

// The newest kernel record of the toolkit in use: CUDA 12 has version 9, CUDA 13 version 10.
#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
using CopyRecord = CUpti_ActivityMemcpy6;
#else
using KernelRecord = CUpti_ActivityKernel9;
using CopyRecord = CUpti_ActivityMemcpy5;
#endif

void check_cupti(CUptiResult status, const char* what) {
  if (status == CUPTI_SUCCESS) return;
  if (status == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    throw ActivitiesHeld("another tool holds CUPTI in this process (nsys, ncu, a framework's profiler); run sgsim-calibrate without it");
  }
  const char* text = nullptr;
  (void)cuptiGetResultString(status, &text);
  throw EnvironmentError(std::string("CUPTI could not ") + what + ": " + (text != nullptr ? text : "unknown error"));
}

// CUPTI's callbacks carry no user pointer, so the records of the one live source pass through here.
std::mutex g_mutex;
ActivityBatch* g_batch = nullptr;
thread_local bool t_marked = false;  // CUPTI keeps a stack of marks for each thread

constexpr std::size_t kBufferBytes = 4u << 20;  // NVIDIA advises 1 to 10 MB
constexpr std::size_t kAlignment = 8;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *size = *buffer != nullptr ? kBufferBytes : 0;
  *most_records = 0;  // as many as fit
}

void take_record(const CUpti_Activity* record, ActivityBatch& batch) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: {
      const auto& k = *reinterpret_cast<const KernelRecord*>(record);
      batch.activities.push_back({.kind = ActivityKind::kernel, .name = k.name != nullptr ? k.name : "", .start_ns = static_cast<std::int64_t>(k.start),
                                  .end_ns = static_cast<std::int64_t>(k.end), .device = static_cast<int>(k.deviceId), .stream = k.streamId,
                                  .correlation = k.correlationId, .graph_node = k.graphNodeId, .bytes = 0, .grid = {k.gridX, k.gridY, k.gridZ}});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& c = *reinterpret_cast<const CopyRecord*>(record);
      batch.activities.push_back({.kind = ActivityKind::copy, .name = "copy", .start_ns = static_cast<std::int64_t>(c.start),
                                  .end_ns = static_cast<std::int64_t>(c.end), .device = static_cast<int>(c.deviceId), .stream = c.streamId,
                                  .correlation = c.correlationId, .graph_node = c.graphNodeId, .bytes = static_cast<std::int64_t>(c.bytes), .grid = {1, 1, 1}});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& m = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      batch.activities.push_back({.kind = ActivityKind::fill, .name = "fill", .start_ns = static_cast<std::int64_t>(m.start),
                                  .end_ns = static_cast<std::int64_t>(m.end), .device = static_cast<int>(m.deviceId), .stream = m.streamId,
                                  .correlation = m.correlationId, .graph_node = m.graphNodeId, .bytes = static_cast<std::int64_t>(m.bytes), .grid = {1, 1, 1}});
      break;
    }
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& e = *reinterpret_cast<const CUpti_ActivityExternalCorrelation*>(record);
      batch.marks.push_back({.correlation = e.correlationId, .mark = e.externalId});
      break;
    }
    default: break;  // API records: they exist only because marks hang on them
  }
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::lock_guard lock(g_mutex);
  if (g_batch != nullptr && valid > 0) {
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) take_record(record, *g_batch);
    std::size_t dropped = 0;
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) g_batch->dropped += dropped;
  }
  std::free(buffer);
}

void CUPTIAPI no_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                         // marks are written only beside API records
                                         CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER};

/// Attaches when records are first asked for: until then launches cost what they cost without CUPTI.
class CuptiSource final : public ActivitySource {
 public:
  CuptiSource() {
    SGSIM_CHECK(g_batch == nullptr, "one CUPTI source at a time");
    g_batch = &batch_;
  }
  ~CuptiSource() override {
    if (subscriber_ != nullptr) {
      disable();
      (void)cuptiActivityFlushAll(1);
      (void)cuptiUnsubscribe(subscriber_);
    }
    const std::lock_guard lock(g_mutex);
    g_batch = nullptr;
  }

  void set_mark(std::uint64_t mark) override {
    attach();
    clear_mark();
    check_cupti(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, mark), "set a mark");
    t_marked = true;
  }
  void clear_mark() override {
    if (!t_marked) return;
    std::uint64_t last = 0;
    check_cupti(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last), "clear a mark");
    t_marked = false;
  }
  ActivityBatch collect() override {
    attach();
    check_cupti(cuptiActivityFlushAll(0), "deliver records");
    const std::lock_guard lock(g_mutex);
    return std::exchange(batch_, {});
  }
  void pause() override {
    if (subscriber_ == nullptr) return;
    disable();
    (void)collect();
  }
  void resume() override {
    if (subscriber_ != nullptr) enable();
  }

 private:
  void attach() {
    if (subscriber_ != nullptr) return;
    // Subscribing is how CUPTI tells that another tool is there; nothing is called back.
    check_cupti(cuptiSubscribe(&subscriber_, reinterpret_cast<CUpti_CallbackFunc>(no_callback), nullptr), "subscribe");
    check_cupti(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "register its buffers");
    enable();
  }
  static void enable() {
    for (const CUpti_ActivityKind kind : kKinds) check_cupti(cuptiActivityEnable(kind), "start recording");
  }
  static void disable() {
    for (const CUpti_ActivityKind kind : kKinds) (void)cuptiActivityDisable(kind);
  }
  CUpti_SubscriberHandle subscriber_ = nullptr;
  ActivityBatch batch_;
};

}  // namespace

std::unique_ptr<ActivitySource> make_cupti_source() { return std::make_unique<CuptiSource>(); }

std::string cupti_version() {
  std::uint32_t version = 0;
  check_cupti(cuptiGetVersion(&version), "tell its version");
  return std::to_string(version);
}

}  // namespace sgsim::calibrate

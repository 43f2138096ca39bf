#include "calibrate/bench/cases/workshop.h"

namespace sgsim::calibrate {
namespace {

using Made = std::variant<std::shared_ptr<Sdpa>, std::shared_ptr<PlanWorkshop::Convolution>>;

/// An NHWC image or filter as cuDNN wants it: dimensions in NCHW order, strides as they lie.
DnnTensor image(DnnGraph& graph, std::int64_t n, std::int64_t channels, std::int64_t height, std::int64_t width) {
  return graph.tensor({n, channels, height, width}, {height * width * channels, 1, width * channels, channels}, CUDNN_DATA_BFLOAT16);
}

std::shared_ptr<PlanWorkshop::Convolution> make_convolution(const Dnn& dnn, const Key& key) {
  const std::int64_t size = key.size("height"), kernel = key.size("kernel"), stride = key.size("stride"), padding = key.size("padding");
  const std::int64_t out = (size + 2 * padding - kernel) / stride + 1;
  DnnGraph graph;
  auto result = std::make_shared<PlanWorkshop::Convolution>();
  result->x = image(graph, key.size("batch"), key.size("in_channels"), size, size);
  result->w = image(graph, key.size("out_channels"), key.size("in_channels"), kernel, kernel);
  result->y = image(graph, key.size("batch"), key.size("out_channels"), out, out);
  const std::string& pass = key.label("pass");
  const DnnGraph::Pass p = pass == "forward" ? DnnGraph::Pass::forward : pass == "input_gradient" ? DnnGraph::Pass::input_gradient : DnnGraph::Pass::weight_gradient;
  graph.convolution(p, result->x, result->w, result->y, {.padding = padding, .stride = stride});
  result->plan = graph.plan(dnn);
  return result;
}

Made make(const Dnn& dnn, const Key& key) {
  if (key.group == "convolution") return make_convolution(dnn, key);
  const SdpaShape shape = sdpa_shape(key);
  return std::shared_ptr<Sdpa>(is_backward(key) ? make_sdpa_backward(dnn, shape) : make_sdpa_forward(dnn, shape));
}

/// A backward point needs the forward pass of its shape, to have something to go back from.
Key forward_of(Key key) {
  key.labels["pass"] = "forward";
  return key;
}

}  // namespace

struct PlanWorkshop::Job {
  Key key;
  std::once_flag once;
  std::promise<Made> promise;
  std::shared_future<Made> result = promise.get_future().share();
  void run(const Dnn& dnn) {
    std::call_once(once, [&] {
      try {
        promise.set_value(make(dnn, key));
      } catch (...) {
        promise.set_exception(std::current_exception());
      }
    });
  }
};

SdpaShape sdpa_shape(const Key& key) {
  return {.batch = key.size("batch"), .heads = key.size("heads"), .kv_heads = key.size("kv_heads"), .length = key.size("length"), .head_dim = key.size("head_dim"),
          .causal = key.is("causal", "yes"), .dense_mask = key.is("mask", "dense"), .element = element_of(key.label("dtype"))};
}
bool is_backward(const Key& key) { return key.is("pass", "backward"); }

PlanWorkshop::PlanWorkshop(const std::vector<Key>& points) {
  check_cuda(cudaGetDevice(&device_), "tell the current device");
  const auto add = [&](const Key& key) {
    auto [it, fresh] = jobs_.try_emplace(key, nullptr);
    if (!fresh) return;
    it->second = std::make_unique<Job>();
    it->second->key = key;
    queue_.push_back(it->second.get());
  };
  for (const Key& key : points) {
    if (key.group == "attention" && key.is("kernel", "flash")) {
      if (is_backward(key)) add(forward_of(key));
      add(key);
    } else if (key.group == "convolution") {
      add(key);
    }
  }
  if (queue_.empty()) return;
  const unsigned cores = std::max(3u, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < std::min<std::size_t>(cores - 2, queue_.size()); ++i) workers_.emplace_back([this] { work(); });
}

PlanWorkshop::~PlanWorkshop() {
  stop_ = true;
  for (std::thread& worker : workers_) worker.join();
}

void PlanWorkshop::work() {
  std::unique_ptr<Dnn> own;
  try {
    check_cuda(cudaSetDevice(device_), "select a device");
    own = std::make_unique<Dnn>();
  } catch (const std::exception&) {
    return;  // the jobs are then made where they are needed, which reports what is wrong
  }
  const Dnn& dnn = *own;
  {
    const std::lock_guard lock(mutex_);
    handles_.push_back(std::move(own));  // plans may outlive this thread
  }
  while (!stop_) {
    const std::size_t i = next_++;
    if (i >= queue_.size()) return;
    queue_[i]->run(dnn);
  }
}

PlanWorkshop::Job& PlanWorkshop::finished(const Key& key) {
  Job* wanted = nullptr;
  const Dnn* dnn = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto& slot = jobs_[key];
    if (!slot) {
      slot = std::make_unique<Job>();
      slot->key = key;
    }
    wanted = slot.get();
    if (!own_) own_ = std::make_unique<Dnn>();
    dnn = own_.get();
  }
  wanted->run(*dnn);  // waits where a worker is at it
  return *wanted;
}

std::shared_ptr<Sdpa> PlanWorkshop::sdpa(const Key& key) { return std::get<std::shared_ptr<Sdpa>>(finished(key).result.get()); }

std::shared_ptr<PlanWorkshop::Convolution> PlanWorkshop::convolution(const Key& key) {
  return std::get<std::shared_ptr<Convolution>>(finished(key).result.get());
}

std::shared_ptr<PlanWorkshop> make_workshop(const std::vector<Key>& points) { return std::make_shared<PlanWorkshop>(points); }

}  // namespace sgsim::calibrate

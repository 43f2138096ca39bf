#include "calibrate/bench/sweeps.h"

namespace sgsim::calibrate {
namespace {

/// The convolutions of ResNet-50 v1.5 (He et al. 2016, Table 1; the stride of a block sits on its 3x3 convolution).
struct Layer {
  std::int64_t in, out, size, kernel, stride;  // channels, height = width of the image, filter, stride
};
constexpr Layer kResNet50[] = {
    {3, 64, 224, 7, 2},     {64, 64, 56, 1, 1},     {64, 64, 56, 3, 1},      {64, 256, 56, 1, 1},   {256, 64, 56, 1, 1},   {256, 128, 56, 1, 1},
    {128, 128, 56, 3, 2},   {128, 512, 28, 1, 1},   {256, 512, 56, 1, 2},    {512, 128, 28, 1, 1},  {128, 128, 28, 3, 1},  {512, 256, 28, 1, 1},
    {256, 256, 28, 3, 2},   {256, 1024, 14, 1, 1},  {512, 1024, 28, 1, 2},   {1024, 256, 14, 1, 1}, {256, 256, 14, 3, 1},  {1024, 512, 14, 1, 1},
    {512, 512, 14, 3, 2},   {512, 2048, 7, 1, 1},   {1024, 2048, 14, 1, 2},  {2048, 512, 7, 1, 1},  {512, 512, 7, 3, 1}};

}  // namespace

std::vector<Key> convolution_sweep() {
  std::vector<Key> points;
  for (const std::int64_t batch : {32, 128, 256}) {
    for (const char* pass : {"forward", "input_gradient", "weight_gradient"}) {
      for (const Layer& l : kResNet50) {
        if (l.in == 3 && std::string(pass) == "input_gradient") continue;  // nobody needs the gradient of an image
        points.push_back({.group = "convolution", .labels = {{"dtype", "bfloat16"}, {"pass", pass}, {"set", "grid"}},
                          .sizes = {{"batch", batch}, {"in_channels", l.in}, {"out_channels", l.out}, {"height", l.size}, {"kernel", l.kernel},
                                    {"stride", l.stride}, {"padding", l.kernel / 2}}});
      }
    }
  }
  return points;
}

std::vector<Key> host_copy_sweep() {
  std::vector<Key> points;
  for (const char* direction : {"host_to_device", "device_to_host"}) {
    for (const char* memory : {"pinned", "pageable"}) {
      for (std::int64_t bytes = 1 << 12; bytes <= (1ll << 28); bytes *= 4) {
        points.push_back({.group = "host_copy", .labels = {{"direction", direction}, {"memory", memory}}, .sizes = {{"bytes", bytes}}});
      }
    }
  }
  return points;
}

std::vector<Key> clock_sweep() {
  std::vector<Key> points;
  for (const char* load : {"memory", "training_mix", "matmul"}) points.push_back({.group = "clock", .labels = {{"load", load}}, .sizes = {}});
  return points;
}

std::vector<Key> launch_sweep() {
  std::vector<Key> points;
  const auto add = [&](const char* what, std::map<std::string, std::int64_t> sizes = {}) {
    points.push_back({.group = "launch", .labels = {{"what", what}}, .sizes = std::move(sizes)});
  };
  for (const char* what : {"kernel_enqueue", "kernel_latency", "stream_of_kernels", "stream_synchronize", "event_record", "event_synchronize",
                           "event_wait_across_streams", "first_launch", "jit_ptx", "stream_of_work", "graph_of_work", "library_enqueue", "collective_enqueue"}) {
    add(what);
  }
  for (const std::int64_t nodes : {1, 4, 16, 64, 256, 1024, 4096}) {
    for (const char* what : {"graph_enqueue", "graph_per_node", "graph_latency", "graph_instantiate", "graph_first_launch"}) add(what, {{"nodes", nodes}});
  }
  add("device_gap");  // these need activity records, which are off until then
  add("empty_kernel");
  add("work_kernel");
  return points;
}

}  // namespace sgsim::calibrate

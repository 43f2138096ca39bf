#pragma once

#include <fmt/format.h>

#include <fstream>
#include <string>
#include <vector>

#include "sim/import/kineto/kineto.h"

/// Kineto traces written by hand: times in microseconds.
namespace sgsim::testing {

inline std::string kernel(const std::string& name, double ts, double dur, int stream, int correlation, const std::string& more = "") {
  return fmt::format(R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"device":0,"stream":{},"correlation":{}{}}}}})", name, stream, ts, dur, stream, correlation, more);
}
inline std::string call(const std::string& name, double ts, double dur, int correlation, int thread = 20) {
  return fmt::format(R"({{"ph":"X","cat":"cuda_runtime","name":"{}","pid":10,"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"correlation":{}}}}})", name, thread, ts, dur, correlation);
}
inline std::string launch(double ts, int correlation, int thread = 20) { return call("cudaLaunchKernel", ts, 4.0, correlation, thread); }
inline std::string annotation(const std::string& name, double ts, double dur, int id, int thread = 20) {
  return fmt::format(R"({{"ph":"X","cat":"user_annotation","name":"{}","pid":10,"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"External id":{}}}}})", name, thread, ts, dur, id);
}
inline std::string all_reduce(double ts, double dur, int stream, int correlation, int elements = 1024, const std::string& ranks = "[0, 1]", const std::string& kind = "allreduce") {
  return kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", ts, dur, stream, correlation,
                fmt::format(R"(,"Collective name":"{}","In msg nelems":{},"Out msg nelems":{},"Group size":2,"dtype":"BFloat16","Process Group Name":"0","Process Group Ranks":"{}")", kind, elements, elements, ranks));
}
inline std::string trace_text(const std::vector<std::string>& events, int rank = -1, int world = 0) {
  std::string text = "{";
  if (rank >= 0) text += fmt::format(R"("distributedInfo":{{"backend":"nccl","rank":{},"world_size":{}}},)", rank, world);
  text += "\"traceEvents\":[\n";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "" : ",\n") + events[i];
  return text + "\n]}";
}

inline std::string write_trace(const std::string& name, const std::string& text) {
  const std::string path = std::string(SGSIM_BINARY_DIR) + "/trace_test_" + name + ".json";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}
inline trace::ImportedRun read_text(const std::string& name, const std::string& text) { return import::kineto::read({write_trace(name, text)}, {}); }
inline trace::ImportedRun read_corpus(const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& n : names) paths.push_back(std::string(SGSIM_SOURCE_DIR) + "/tests/fuzz/corpus/kineto/" + n);
  return import::kineto::read(paths, {});
}
inline std::uint64_t count_of(const Diagnostics& report, const std::string& key) {
  const auto found = report.entries().find(key);
  return found == report.entries().end() ? 0 : found->second.count;
}
inline std::uint64_t counted(const trace::ImportedRun& run, const std::string& key) { return count_of(run.report, "import.kineto." + key); }

}  // namespace sgsim::testing

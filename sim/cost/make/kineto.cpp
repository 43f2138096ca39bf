#include "sim/cost/make/kineto.h"

#include <map>

#include <nlohmann/json.hpp>

#include "sim/core/json_value.h"
#include "sim/core/text_file.h"

namespace sgsim::cost::make {
namespace {

using Json = nlohmann::json;

std::vector<std::int64_t> sizes(const Json& list) {
  std::vector<std::int64_t> result;
  if (!list.is_array()) return result;
  for (const Json& item : list) {
    if (!item.is_number_integer()) return {};  // a list of tensors
    result.push_back(item.get<std::int64_t>());
  }
  return result;
}

std::vector<std::vector<std::int64_t>> shape_list(const Json& args, const char* key) {
  std::vector<std::vector<std::int64_t>> result;
  if (const auto found = args.find(key); found != args.end()) {
    for (const Json& item : *found) result.push_back(sizes(item));
  }
  return result;
}

std::vector<std::string> words(const Json& args, const char* key) {
  std::vector<std::string> result;
  if (const auto found = args.find(key); found != args.end()) {
    for (const Json& item : *found) result.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  }
  return result;
}

double element_size(const std::string& type) {
  static const std::map<std::string, double> kSizes = {{"c10::BFloat16", 2}, {"c10::Half", 2}, {"float", 4}, {"double", 8}, {"long int", 8}, {"int", 4}, {"bool", 1}, {"unsigned char", 1}};
  const auto found = kSizes.find(type);
  return found == kSizes.end() ? 0.0 : found->second;
}

}  // namespace

std::vector<TracedKernel> read_trace(const std::string& path) {
  const Json trace = parse_json(read_text_file(path), path);
  std::map<std::int64_t, const Json*> operators;  // the first (outermost kept last) operator of each external id
  for (const Json& e : trace.at("traceEvents")) {
    if (e.value("cat", "") == "cpu_op" && e.at("args").contains("External id")) operators.try_emplace(e.at("args").at("External id").get<std::int64_t>(), &e);
  }
  std::vector<TracedKernel> kernels;
  for (const Json& e : trace.at("traceEvents")) {
    const std::string cat = e.value("cat", "");
    if ((cat != "kernel" && cat != "gpu_memset") || !e.at("args").contains("External id")) continue;
    const auto call = e.at("args").at("External id").get<std::int64_t>();
    const auto op = operators.find(call);
    if (op == operators.end()) continue;
    const Json& args = op->second->at("args");
    kernels.push_back({.kernel = e.at("name"), .us = e.at("dur"), .call = call, .op = op->second->at("name"), .shapes = shape_list(args, "Input Dims"),
                       .strides = shape_list(args, "Input Strides"), .types = words(args, "Input type"), .constants = words(args, "Concrete Inputs")});
  }
  return kernels;
}

double argument_bytes(const TracedKernel& kernel) {
  double total = 0.0;
  for (std::size_t i = 0; i < kernel.shapes.size() && i < kernel.types.size(); ++i) {
    if (kernel.shapes[i].empty()) continue;
    double elements = 1.0;
    for (const std::int64_t extent : kernel.shapes[i]) elements *= static_cast<double>(extent);
    total += elements * element_size(kernel.types[i]);
  }
  return total;
}

}  // namespace sgsim::cost::make

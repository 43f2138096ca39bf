#include <zlib.h>

#include <filesystem>
#include <map>
#include <memory>

#include "sim/core/error.h"
#include "sim/import/format.h"
#include "sim/import/chakra/chakra.h"
#include "sim/import/cuda_graph_dot/cuda_graph_dot.h"
#include "sim/import/fx_text/fx_text.h"
#include "sim/import/kineto/kineto.h"
#include "sim/import/nccl_topo/nccl_topo.h"
#include "sim/import/nsys/nsys.h"
#include "sim/import/nvidia_smi/nvidia_smi.h"
#include "sim/import/known/known.h"
#include "sim/import/onnx/onnx.h"
#include "sim/import/own_timeline/own_timeline.h"
#include "sim/import/pytorch_et/pytorch_et.h"
#include "sim/import/simai/simai.h"
#include "sim/import/torch_trace/torch_trace.h"

namespace sgsim::import {

const std::vector<Format>& formats() {
  static const std::vector<Format> kFormats = {
      kineto::format(),
      chakra::format(),
      cuda_graph_dot::format(),
      fx_text::format(),
      nccl_topo::format(),
      nsys::format(),
      nvidia_smi::format(),
      onnx::format(),
      own_timeline::format(),
      pytorch_et::format(),
      simai::format(),
      torch_trace::format(),
      known::format(),
  };
  return kFormats;
}

namespace {

std::string printable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes.substr(0, 60)) text += c >= 0x20 && c < 0x7f ? c : '.';
  return text;
}

std::string names() {
  std::string text;
  for (const Format& f : formats()) {
    if (f.name != "known") text += (text.empty() ? "" : ", ") + std::string(f.name);
  }
  return text;
}

const Format* best_format(const FileHead& head) {
  const Format* best = nullptr;
  const Format* second = nullptr;
  int most = 0;
  for (const Format& f : formats()) {
    const int confidence = f.confidence(head);
    if (confidence > most) {
      best = &f;
      second = nullptr;
      most = confidence;
    } else if (confidence > 0 && confidence == most) {
      second = &f;
    }
  }
  if (second != nullptr) {
    throw InputError({.file = head.path, .where = "", .found = "a file that looks like " + std::string(best->name) + " and like " + std::string(second->name),
                      .expected = "a file of one format", .hint = ""});
  }
  return best;
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Profiler traces and execution traces of the same processes become one run.
void merge_execution_traces(std::vector<Imported>& results) {
  const auto find = [&](std::string_view format) {
    return std::find_if(results.begin(), results.end(), [&](const Imported& imported) { return format_of(imported) == format; });
  };
  const auto profile = find("kineto"), execution = find("pytorch_et");
  if (profile == results.end() || execution == results.end()) return;
  auto& run = std::get<trace::ImportedRun>(*profile);
  pytorch_et::merge(run, std::get<trace::ImportedRun>(*execution));
  run.report.merge(report_of(*execution));
  results.erase(execution);
}

std::vector<Imported> import_folder(const std::string& folder, const Progress& progress) {
  std::map<std::size_t, std::vector<std::string>> by_format;
  std::vector<std::string> unknown;
  for (const std::string& file : files_of(folder)) {
    const Format* format = nullptr;
    try {
      format = best_format(read_head(file));
    } catch (const InputError&) {  // empty or damaged: counted below, so that one bad file does not hide the others
    }
    if (format == nullptr || format->name == "known") {  // a folder may hold other files beside traces
      unknown.push_back(file);
    } else {
      by_format[static_cast<std::size_t>(format - formats().data())].push_back(file);
    }
  }
  if (by_format.empty()) {
    throw InputError({.file = folder, .where = "", .found = std::to_string(unknown.size()) + " files, none of a known format", .expected = names(), .hint = ""});
  }
  std::vector<Imported> result;
  for (const auto& [index, files] : by_format) {
    if (!formats()[index].one_by_one) {
      result.push_back(formats()[index].read(files, progress));
    } else {
      for (const std::string& file : files) result.push_back(formats()[index].read({file}, progress));
    }
  }
  merge_execution_traces(result);
  std::visit([&](auto& first) {
    for (const std::string& file : unknown) first.report.add("import.file.unknown", Severity::warning, file);
  }, result.front());
  return result;
}

}  // namespace

FileHead read_head(const std::string& path) {
  FileHead head{.path = path, .bytes = std::string(kHeadBytes, '\0')};
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file || !std::filesystem::is_regular_file(path)) {
    throw InputError({.file = path, .where = "", .found = "no readable file", .expected = "a trace, graph or topology file", .hint = ""});
  }
  const int read = gzread(file.get(), head.bytes.data(), static_cast<unsigned>(head.bytes.size()));
  head.packed = gzdirect(file.get()) == 0;
  if (read <= 0) {
    throw InputError({.file = path, .where = "", .found = std::filesystem::file_size(path) == 0 ? "an empty file" : head.packed || read < 0 ? "gzip data that cannot be unpacked or ends before its first byte" : "a file without bytes", .expected = "a trace, graph or topology file", .hint = ""});
  }
  head.bytes.resize(static_cast<std::size_t>(read));
  head.whole = head.bytes.size() < kHeadBytes;
  return head;
}

const Format& recognise(const FileHead& head) {
  if (const Format* format = best_format(head)) return *format;
  throw InputError({.file = head.path, .where = "", .found = "a file that begins with \"" + printable(head.bytes) + "\"", .expected = "one of: " + names(), .hint = "sgsim import --formats says what each is"});
}

std::vector<Imported> import_path(const std::string& path, const Progress& progress) {
  if (std::filesystem::is_directory(path)) return import_folder(path, progress);
  std::vector<Imported> result;
  result.push_back(recognise(read_head(path)).read({path}, progress));
  return result;
}

const Diagnostics& report_of(const Imported& imported) {
  return std::visit([](const auto& content) -> const Diagnostics& { return content.report; }, imported);
}

const std::string& format_of(const Imported& imported) {
  return std::visit([](const auto& content) -> const std::string& { return content.format; }, imported);
}

}  // namespace sgsim::import

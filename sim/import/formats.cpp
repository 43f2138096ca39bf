#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "sim/core/error.h"
#include "sim/import/format.h"
#include "sim/import/chakra/chakra.h"
#include "sim/import/cuda_graph_dot/cuda_graph_dot.h"
#include "sim/import/fx_text/fx_text.h"
#include "sim/core/byte_source.h"
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

struct Files {
  std::vector<std::string> paths;                      // ascending
  std::vector<std::string> nested, hidden, unreadable; // files in subfolders; folders passed over
};

/// Links to folders are not followed.
Files files_of(const std::string& top) {
  Files files;
  std::vector<std::filesystem::path> folders{top};
  while (!folders.empty()) {
    const std::filesystem::path folder = folders.back();
    folders.pop_back();
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error); !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      const std::string path = entry->path().string();
      if (entry->is_directory() && !entry->is_symlink()) {
        if (entry->path().filename().string().starts_with('.')) files.hidden.push_back(path);
        else folders.push_back(entry->path());
      } else if (entry->is_regular_file()) {
        files.paths.push_back(path);
        if (folder != top) files.nested.push_back(path);
      }
    }
    if (error) files.unreadable.push_back(folder.string() + ": " + error.message());
  }
  std::sort(files.paths.begin(), files.paths.end());
  std::sort(files.nested.begin(), files.nested.end());
  std::sort(files.hidden.begin(), files.hidden.end());
  return files;
}

/// A file of a folder that cannot be read, and why.
struct Bad {
  std::string file;
  InputError error;
};

void tell(const Files& files, const std::vector<std::string>& unknown, const std::vector<Bad>& bad, Diagnostics& report) {
  for (const Bad& one : bad) {
    const InputProblem& problem = one.error.problem();
    report.add("import.file.not_readable", Severity::error, fmt::format("{}: {}found {}, expected {}", one.file, problem.where.empty() ? "" : problem.where + ": ", problem.found, problem.expected));
  }
  for (const std::string& file : files.nested) report.add("import.file.in_subfolder", Severity::info, file);
  for (const std::string& folder : files.hidden) report.add("import.file.hidden_folder_passed_over", Severity::warning, folder);
  for (const std::string& folder : files.unreadable) report.add("import.file.folder_unreadable", Severity::error, folder);
  for (const std::string& file : unknown) report.add("import.file.unknown", Severity::warning, file);
}

/// Profiler traces and execution traces of the same processes become one run.
void merge_execution_traces(std::vector<Imported>& results) {
  const auto execution = std::find_if(results.begin(), results.end(), [](const Imported& imported) { return format_of(imported) == "pytorch_et"; });
  std::vector<trace::ImportedRun*> profiles;
  for (Imported& imported : results) {
    if (format_of(imported) == "kineto") profiles.push_back(&std::get<trace::ImportedRun>(imported));
  }
  if (profiles.empty() || execution == results.end()) return;
  auto& traced = std::get<trace::ImportedRun>(*execution);
  if (const std::string reason = pytorch_et::merge(profiles, traced); !reason.empty()) {
    traced.report.add("import.pytorch_et.other_run", Severity::warning, reason);  // a result of its own
    return;
  }
  profiles.front()->report.merge(report_of(*execution));
  results.erase(execution);
}

std::vector<Imported> read_files(const Format& format, const std::vector<std::string>& paths, const Progress& progress) {
  if (format.read_apart != nullptr) return format.read_apart(paths, progress);
  std::vector<Imported> results;
  results.push_back(format.read(paths, progress));
  return results;
}

/// Reads again without the file that an error names, so that one bad file does not hide the others.
std::vector<Imported> read_good(const Format& format, std::vector<std::string> paths, const Progress& progress, std::vector<Bad>& bad) {
  while (!paths.empty()) {
    try {
      return read_files(format, paths, progress);
    } catch (const InputError& error) {
      const auto named = std::find(paths.begin(), paths.end(), error.problem().file);
      if (named == paths.end()) throw;
      bad.push_back({*named, error});
      paths.erase(named);
    }
  }
  return {};
}

std::vector<Imported> import_folder(const std::string& folder, const Progress& progress) {
  std::map<std::size_t, std::vector<std::string>> by_format;
  std::vector<std::string> unknown;
  std::vector<Bad> bad;
  const Files files = files_of(folder);
  for (const std::string& file : files.paths) {
    const Format* format = nullptr;
    try {
      format = best_format(read_head(file));
    } catch (const InputError& error) {  // empty or damaged
      bad.push_back({file, error});
      continue;
    }
    if (format == nullptr || format->name == "known") {  // a folder may hold other files beside traces
      unknown.push_back(file);
    } else {
      by_format[static_cast<std::size_t>(format - formats().data())].push_back(file);
    }
  }
  if (by_format.empty()) {
    const std::string example = !unknown.empty() ? ", for example " + unknown.front() : bad.empty() ? "" : fmt::format(", for example {}: {}", bad.front().file, bad.front().error.problem().found);
    throw InputError({.file = folder, .where = "", .found = fmt::format("{} files ({} of them in subfolders), none of a known format{}", files.paths.size(), files.nested.size(), example),
                      .expected = "files of " + names(), .hint = files.hidden.empty() ? "" : "hidden folders are passed over: " + files.hidden.front()});
  }
  const std::size_t heads = bad.size();  // files whose beginning could not be read
  std::vector<Imported> result;
  for (const auto& [index, paths] : by_format) {
    std::vector<std::vector<std::string>> together{paths};
    if (formats()[index].one_by_one) {
      together.clear();
      for (const std::string& file : paths) together.push_back({file});
    }
    for (const auto& some : together) {
      for (Imported& one : read_good(formats()[index], some, progress, bad)) result.push_back(std::move(one));
    }
  }
  if (result.empty()) throw bad.at(heads).error;  // what went wrong first: later ones may follow from it
  merge_execution_traces(result);
  std::visit([&](auto& first) { tell(files, unknown, bad, first.report); }, result.front());
  return result;
}

}  // namespace

FileHead read_head(const std::string& path) {
  FileHead head{.path = path, .bytes = std::string(kHeadBytes, '\0')};
  if (!std::filesystem::is_regular_file(path)) throw InputError({.file = path, .where = "", .found = "no readable file", .expected = "a trace, graph or topology file", .hint = ""});
  ByteSource source(path);
  const std::size_t read = source.read(head.bytes.data(), head.bytes.size());
  head.packed = source.packed();
  if (read == 0) {
    const std::string reason = source.damage().empty() ? "" : " (" + source.damage() + ")";
    throw InputError({.file = path, .where = "", .found = source.file_bytes() == 0 ? "an empty file" : head.packed ? "gzip data without a byte that can be unpacked" + reason : "a file without bytes", .expected = "a trace, graph or topology file", .hint = ""});
  }
  head.bytes.resize(read);
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

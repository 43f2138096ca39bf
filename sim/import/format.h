#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/core/diagnostics.h"
#include "sim/graph/graph.h"
#include "sim/trace/imported_run.h"

namespace sgsim::import {

/// What a file is recognised by: its first bytes, unpacked when it is gzip, and never its name.
struct FileHead {
  std::string path;
  std::string bytes;       // up to kHeadBytes
  bool packed = false;     // it is gzip
  bool whole = false;      // `bytes` is all there is
};
inline constexpr std::size_t kHeadBytes = 64 << 10;

/// A graph file: one operator graph, with the name of its part.
struct ImportedGraphs {
  std::string format;
  std::vector<std::pair<std::string, graph::OperatorGraph>> graphs;
  Diagnostics report;
};
/// A topology: one node as the file describes it.
struct ImportedTopology {
  std::string format;
  cluster::Cluster cluster;
  Diagnostics report;
};
/// A format that is read into none of the above is a list of facts: (what, value) in file order.
struct ImportedFacts {
  std::string format;
  std::vector<std::pair<std::string, std::string>> facts;
  Diagnostics report;
};
using Imported = std::variant<trace::ImportedRun, ImportedGraphs, ImportedTopology, ImportedFacts>;

/// Told now and then how much of the input was read.
using Progress = std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)>;

/// A reader. `confidence`: 0 not this format, 100 certain; the highest wins, a tie is an error that names both.
/// `read` takes all files of one import that were recognised as this format (ranks of one run, in name order).
struct Format {
  std::string_view name;
  std::string_view description;
  int (*confidence)(const FileHead&);
  Imported (*read)(const std::vector<std::string>& paths, const Progress& progress);
  bool one_by_one = false;  // the files of a folder have nothing to do with each other: a result each
  std::vector<Imported> (*read_apart)(const std::vector<std::string>& paths, const Progress& progress) = nullptr;  // of a folder, where its files may be of several runs
};

/// All formats: one line a reader in formats.cpp.
[[nodiscard]] const std::vector<Format>& formats();

/// Reads the head of a file. Throws InputError when it is missing, unreadable or empty.
[[nodiscard]] FileHead read_head(const std::string& path);
/// Throws InputError, with the start of the file and what is accepted, when no reader knows it.
[[nodiscard]] const Format& recognise(const FileHead& head);

/// Imports a file, or the files of a folder and its subfolders: one result a format found there, or several (Format::one_by_one, read_apart). Files
/// that nobody knows are counted in the report of the first result ("import.file.unknown"), as are those that cannot be read, with the reason ("import.file.not_readable"), and hidden folders, which are passed over; a folder with no known file, or
/// none that can be read, is an InputError.
[[nodiscard]] std::vector<Imported> import_path(const std::string& path, const Progress& progress);

[[nodiscard]] const Diagnostics& report_of(const Imported& imported);
[[nodiscard]] const std::string& format_of(const Imported& imported);

}  // namespace sgsim::import

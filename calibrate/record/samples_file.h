#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "calibrate/device/machine.h"
#include "calibrate/record/measurement.h"

namespace sgsim::calibrate {

/// Everything measured on one kind of machine: what `run` writes and `fit` reads.
struct Samples {
  std::vector<Machine> machines;                // one for each run that added to it
  std::vector<std::string> commands;            // of each run
  std::vector<std::string> findings;            // clock drift, lost records
  std::map<Key, Measurement> measured;
  std::map<Key, NotMeasured> missing;           // waived or failed, unless measured later

  /// A later measurement of a key replaces an earlier one and its being missing.
  void add(const Measurement& measurement);
  void add(const NotMeasured& missing);
  /// A measurement that turned out to be none; it is missing as failed.
  void withdraw(const Key& key, const std::string& reason);
  bool operator==(const Samples&) const = default;
};

/// Reads a samples file (docs/calibrate.md: one JSON object a line). A last line cut short by an interruption is left
/// out; any other bad line is an InputError with its number. A file that does not exist gives empty samples.
[[nodiscard]] Samples load_samples(const std::filesystem::path& path);

/// Appends to a samples file; every line is on disk when the call returns, so that an interrupted run keeps its work.
class SamplesWriter {
 public:
  /// Throws EnvironmentError when the file cannot be opened.
  explicit SamplesWriter(const std::filesystem::path& path);
  void write(const Machine& machine, const std::string& command);
  void write(const Measurement& measurement);
  void write(const NotMeasured& missing);
  void withdraw(const Key& key, const std::string& reason);
  void write_finding(const std::string& finding);

 private:
  void line(const std::string& text);
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace sgsim::calibrate

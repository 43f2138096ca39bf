#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/sweep/point.h"

struct sqlite3;

namespace sgsim::scenario {

/// Results of sweeps in one SQLite file. A result is one transaction, on disk before `put` returns: a killed sweep keeps
/// every result that it had. One sweep at a time: a second one on the same file is an EnvironmentError, as is any other
/// failure of the file.
class ResultStore {
 public:
  explicit ResultStore(const std::string& path);
  ~ResultStore();
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;

  /// The points of this sweep, in its order; replaces those of the sweep before it. Results stay.
  void set_points(const std::vector<std::string>& settings, const std::vector<PointKeys::Key>& keys);
  [[nodiscard]] std::optional<PointOutcome> find(const PointKeys::Key& key);
  void put(const PointKeys::Key& key, const PointOutcome& outcome);
  void forget(const PointKeys::Key& key);

 private:
  void run(const char* sql);
  sqlite3* database_ = nullptr;
  std::string path_;
};

}  // namespace sgsim::scenario

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/import/kineto/categories.h"
#include "sim/import/kineto/communication.h"
#include "sim/import/kineto/lexer.h"
#include "sim/import/kineto/tally.h"
#include "sim/trace/imported_run.h"

namespace sgsim::import::kineto {

/// Builds one rank's trace from its events, in any order; `finish` sorts and links.
class RankBuilder {
 public:
  RankBuilder(std::string file, trace::ImportedRun& run, Tally& tally);

  void take(const Event& event);
  /// `header`: members of the file's root. Returns the rank, its groups registered in the run.
  [[nodiscard]] trace::RankTrace finish(const std::map<std::string, std::string, std::less<>>& header);

 private:
  struct Times {
    trace::Nanoseconds start = 0, duration = 0;
  };
  bool times(const Event& event, Times& t);
  trace::Text text(std::string_view raw);
  std::uint32_t thread(const Event& event);
  std::uint32_t stream(const Event& event, std::string_view fallback);
  void take_op(const Event& event, trace::HostKind kind);
  void take_call(const Event& event);
  CommFacts op_facts(const Event& event);
  void take_device(const Event& event, trace::DeviceKind kind);
  void take_sync(const Event& event);
  void take_metadata(const Event& event);

  void read_header(const std::map<std::string, std::string, std::less<>>& header);
  void shift(trace::Nanoseconds base);

  trace::ImportedRun& run_;
  Tally& tally_;
  trace::RankTrace rank_;
  std::unordered_map<std::string, std::uint32_t> threads_;
  std::pair<std::string, std::uint32_t> last_thread_;         // neighbours mostly share thread and category
  std::pair<std::string, Category> last_category_{"", Category::unknown};
  std::unordered_map<trace::Text, trace::CallKind> call_kinds_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> streams_;
  std::unordered_map<std::uint32_t, CommFacts> kernel_comms_, op_comms_;  // by index before sorting
  std::vector<std::int64_t> call_ids_;                                    // "External id" of each call
  struct Sync {
    std::int64_t correlation, stream, device, record_correlation, event, source_stream;
  };
  std::vector<Sync> syncs_;
  std::map<std::string, trace::Text, std::less<>> thread_names_;
  std::map<std::string, std::uint32_t, std::less<>> local_groups_;        // communicators known by an address only
  std::string key_, shapes_;
};

/// Sorts a rank's tables by time, links kernels to launches and launches to operators, and makes its collectives.
struct LinkInput {
  std::unordered_map<std::uint32_t, CommFacts> kernel_comms, op_comms;  // by index before sorting
  std::vector<std::int64_t> call_ids;
};
void link_rank(trace::RankTrace& rank, trace::ImportedRun& run, const LinkInput& input, Tally& tally);

/// The group of these facts in the run, added when it is new; kNone when the facts name none.
[[nodiscard]] std::uint32_t group_of(trace::ImportedRun& run, const CommFacts& facts);

}  // namespace sgsim::import::kineto

#include "sim/import/kineto/kineto.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "sim/core/error.h"
#include "sim/import/kineto/byte_source.h"
#include "sim/import/kineto/lexer.h"
#include "sim/import/kineto/number.h"
#include "sim/import/kineto/rank_builder.h"

namespace sgsim::import::kineto {
namespace {

constexpr std::uint64_t kProgressEvery = 1 << 16;  // events

int confidence(const FileHead& head) {
  const std::string& text = head.bytes;
  const std::size_t begin = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (begin == std::string::npos || (text[begin] != '{' && text[begin] != '[')) return 0;
  if (text.find("\"traceEvents\"") != std::string::npos) return 80;
  // A trace whose header is longer than the head, or a bare list of events.
  const bool event = text.find("\"ph\"") != std::string::npos && (text.find("\"ts\"") != std::string::npos || text.find("\"cat\"") != std::string::npos);
  if (event && text[begin] == '[') return 70;
  if (text.find("\"distributedInfo\"") != std::string::npos && text.find("\"deviceProperties\"") != std::string::npos) return 60;
  return 0;
}

// "rank-34", "rank_0", "megatron_kineto_3.json.gz": the number after "rank", else the last one before the extension.
std::int32_t rank_of_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  std::size_t at = name.find("rank");
  if (at != std::string::npos) {
    at += 4;
    while (at < name.size() && (name[at] == '-' || name[at] == '_' || name[at] == '.')) ++at;
    const std::size_t end = std::min(name.find_first_not_of("0123456789", at), name.size());
    if (end > at) return static_cast<std::int32_t>(integer(name.substr(at, std::min<std::size_t>(end - at, 7))).value_or(-1));
  }
  std::size_t end = name.find(".json");
  if (end == std::string::npos) end = name.size();
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])) != 0) --begin;
  if (begin == end || end - begin > 6 || begin == 0 || (name[begin - 1] != '_' && name[begin - 1] != '-')) return -1;
  return static_cast<std::int32_t>(integer(name.substr(begin, end - begin)).value_or(-1));
}

void tell_forgiven(const EventLexer& lexer, const ByteSource& source, const std::string& path, Tally& tally) {
  const Forgiven& f = lexer.forgiven();
  tally.add_many(Count::malformed, f.malformed_events, f.malformed_example);
  tally.add_many(Count::quotes, f.unescaped_quotes, f.quote_example);
  if (f.list_root) tally.add(Count::list_root, path);
  if (f.unterminated) tally.add(Count::unterminated, path);
  if (f.trailing_garbage) tally.add(Count::trailing, path);
  if (!source.damage().empty()) tally.add(Count::packed_cut, path + ": " + source.damage());
}

trace::RankTrace read_rank(const std::string& path, trace::ImportedRun& run, Tally& tally, const Progress& progress) {
  ByteSource source(path);
  EventLexer lexer(source);
  RankBuilder builder(path, run, tally);
  Event event;
  std::uint64_t events = 0;
  while (lexer.next(event)) {
    builder.take(event);
    if (++events % kProgressEvery == 0 && progress) progress(source.file_done(), source.file_bytes());
  }
  if (progress) progress(source.file_bytes(), source.file_bytes());
  if (!lexer.found_events() || (events == 0 && lexer.forgiven().malformed_events > 0)) {
    throw InputError({.file = path, .where = "", .found = "no trace events" + (source.damage().empty() ? "" : " (" + source.damage() + ")"),
                      .expected = "a list \"traceEvents\" or a list of events", .hint = ""});
  }
  tell_forgiven(lexer, source, path, tally);
  trace::RankTrace rank = builder.finish(lexer.header());
  rank.ends_early = lexer.forgiven().unterminated || !source.damage().empty();
  return rank;
}

void name_ranks(trace::ImportedRun& run, Tally& tally) {
  for (trace::RankTrace& rank : run.ranks) {
    if (rank.rank >= 0) continue;
    rank.rank = run.ranks.size() == 1 && rank_of_name(rank.file) < 0 ? -1 : rank_of_name(rank.file);
    if (rank.rank >= 0) tally.add(Count::rank_from_name, rank.file);
    else if (run.ranks.size() > 1) tally.add(Count::rank_unknown, rank.file);
  }
  std::stable_sort(run.ranks.begin(), run.ranks.end(), [](const auto& a, const auto& b) {
    return static_cast<std::uint32_t>(a.rank) < static_cast<std::uint32_t>(b.rank);  // -1 last
  });
  for (std::size_t i = 1; i < run.ranks.size();) {
    if (run.ranks[i].rank >= 0 && run.ranks[i].rank == run.ranks[i - 1].rank) {
      tally.add(Count::rank_duplicate, run.ranks[i].file + " is rank " + std::to_string(run.ranks[i].rank) + " as is " + run.ranks[i - 1].file);
      run.ranks.erase(run.ranks.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

void check_ranks(const trace::ImportedRun& run, Tally& tally) {
  std::uint32_t world = 0;
  std::set<std::int32_t> present;
  for (const trace::RankTrace& rank : run.ranks) {
    if (rank.world_size != 0 && world != 0 && rank.world_size != world) {
      tally.add(Count::ranks_mixed, rank.file + " has world size " + std::to_string(rank.world_size) + ", another " + std::to_string(world));
    }
    world = std::max(world, rank.world_size);
    if (rank.rank >= 0) present.insert(rank.rank);
    if (rank.gpu != run.ranks.front().gpu) tally.add(Count::ranks_mixed, rank.file + " ran on " + rank.gpu + ", another rank on " + run.ranks.front().gpu);
  }
  if (run.ranks.size() < 2) return;
  for (std::uint32_t r = 0; r < world; ++r) {
    if (present.count(static_cast<std::int32_t>(r)) == 0) tally.add(Count::rank_missing, "rank " + std::to_string(r) + " of " + std::to_string(world));
  }
}

}  // namespace

trace::ImportedRun read(const std::vector<std::string>& paths, const Progress& progress) {
  trace::ImportedRun run{.format = "kineto", .strings = {}, .groups = {}, .ranks = {}, .report = {}};
  Tally tally;
  std::uint64_t total = 0, done = 0;
  for (const std::string& path : paths) {
    if (std::filesystem::is_regular_file(path)) total += std::filesystem::file_size(path);
  }
  for (const std::string& path : paths) {
    std::uint64_t of_file = 0;
    run.ranks.push_back(read_rank(path, run, tally, [&](std::uint64_t at, std::uint64_t bytes) {
      of_file = bytes;
      if (progress) progress(done + at, total);
    }));
    done += of_file;
  }
  name_ranks(run, tally);
  check_ranks(run, tally);
  tally.tell(run.report);
  for (const trace::RankTrace& rank : run.ranks) {
    for (const trace::Collective& c : rank.collectives) {
      run.report.add(std::string("import.kineto.collectives.") + trace::name_of(c.kind), Severity::info, run.strings.at(c.name));
    }
  }
  return run;
}

Format format() {
  return {.name = "kineto", .description = "PyTorch profiler (Kineto) trace, Chrome JSON", .confidence = confidence,
          .read = [](const std::vector<std::string>& paths, const Progress& progress) -> Imported { return read(paths, progress); }};
}

}  // namespace sgsim::import::kineto

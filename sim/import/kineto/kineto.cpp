#include "sim/import/kineto/kineto.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "sim/core/error.h"
#include "sim/core/byte_source.h"
#include "sim/import/kineto/lexer.h"
#include "sim/import/kineto/number.h"
#include "sim/import/kineto/rank_builder.h"
#include "sim/import/runs/apart.h"

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

// "rank-34", "rank_0": the number after "rank", or -1.
std::int32_t after_rank(const std::string& name) {
  std::size_t at = name.find("rank");
  if (at == std::string::npos) return -1;
  at += 4;
  while (at < name.size() && (name[at] == '-' || name[at] == '_' || name[at] == '.')) ++at;
  const std::size_t end = std::min(name.find_first_not_of("0123456789", at), name.size());
  return end > at ? static_cast<std::int32_t>(integer(name.substr(at, std::min<std::size_t>(end - at, 7))).value_or(-1)) : -1;
}

// The number after "rank" in the file's name, else in its folder's ("rank_3/trace.json"), else the last one of the file's name ("megatron_kineto_3.json.gz").
std::int32_t rank_of_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  for (const std::string& part : {name, std::filesystem::path(path).parent_path().filename().string()}) {
    if (const std::int32_t rank = after_rank(part); rank >= 0) return rank;
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
  if (!source.wrong_checksum().empty()) tally.add(Count::checksum, path + ": " + source.wrong_checksum() + "; all was unpacked, some of it may be wrong");
  tally.add_many(Count::behind_gzip, source.bytes_behind(), path);
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
  rank.ends_early = rank.ends_early || lexer.forgiven().unterminated || !source.damage().empty();
  return rank;
}

void name_ranks(trace::ImportedRun& run, std::vector<Tally>& tallies) {
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    trace::RankTrace& rank = run.ranks[i];
    if (rank.rank >= 0) continue;
    rank.rank = rank_of_name(rank.file);
    if (rank.rank >= 0) tallies[i].add(Count::rank_from_name, rank.file);
    else if (run.ranks.size() > 1) tallies[i].add(Count::rank_unknown, rank.file);
  }
}

void sort_ranks(trace::ImportedRun& run, Tally& tally) {
  std::stable_sort(run.ranks.begin(), run.ranks.end(), [](const auto& a, const auto& b) {
    return static_cast<std::uint32_t>(a.rank) < static_cast<std::uint32_t>(b.rank);  // -1 last
  });
  for (std::size_t i = 1; i < run.ranks.size();) {
    if (run.ranks[i].rank >= 0 && run.ranks[i].rank == run.ranks[i - 1].rank) {
      tally.add(Count::rank_duplicate, run.ranks[i].file + " holds the same as " + run.ranks[i - 1].file);
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
    world = std::max(world, rank.world_size);
    if (rank.rank >= 0) present.insert(rank.rank);
    if (rank.gpu != run.ranks.front().gpu) tally.add(Count::gpus_differ, rank.file + " ran on " + rank.gpu + ", another rank on " + run.ranks.front().gpu);
  }
  if (run.ranks.size() < 2) return;
  std::uint32_t first = 0, below = 0;  // the first that is missing; how many are there
  for (const std::int32_t rank : present) {
    if (static_cast<std::uint32_t>(rank) == first) ++first;
    if (static_cast<std::uint32_t>(rank) < world) ++below;
  }
  tally.add_many(Count::rank_missing, world - below, "rank " + std::to_string(first) + " of " + std::to_string(world));
}

/// One of the runs that were read together, with what was counted of its files.
trace::ImportedRun take_run(trace::ImportedRun& all, const OneRun& one, const std::vector<Tally>& tallies, bool last) {
  trace::ImportedRun run{.format = all.format, .strings = {}, .groups = {}, .ranks = {}, .report = {}};
  if (last) run.strings = std::move(all.strings), run.groups = std::move(all.groups);
  else run.strings = all.strings, run.groups = all.groups;
  Tally tally;
  for (const std::size_t i : one.ranks) {
    run.ranks.push_back(std::move(all.ranks[i]));
    tallies[i].tell(run.report);
  }
  sort_ranks(run, tally);
  check_ranks(run, tally);
  if (!one.reason.empty()) tally.add(Count::other_run, one.reason);
  tally.tell(run.report);
  for (const trace::RankTrace& rank : run.ranks) {
    for (const trace::Collective& c : rank.collectives) {
      run.report.add(std::string("import.kineto.collectives.") + trace::name_of(c.kind), Severity::info, run.strings.at(c.name));
    }
  }
  return run;
}

bool holds_nothing(const trace::RankTrace& rank) { return rank.ops.empty() && rank.calls.empty() && rank.device_ops.empty(); }

/// Of several files those that hold something, where one does: an empty list is no rank. `set_aside`: what was counted of the others.
void leave_out_empty(trace::ImportedRun& all, std::vector<Tally>& tallies, std::vector<Tally>& set_aside) {
  if (std::all_of(all.ranks.begin(), all.ranks.end(), holds_nothing)) return;
  for (std::size_t i = all.ranks.size(); i-- > 0;) {
    if (!holds_nothing(all.ranks[i])) continue;
    tallies[i].add(Count::file_empty, all.ranks[i].file);
    set_aside.push_back(std::move(tallies[i]));
    all.ranks.erase(all.ranks.begin() + static_cast<std::ptrdiff_t>(i));
    tallies.erase(tallies.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

std::vector<trace::ImportedRun> read_runs(const std::vector<std::string>& paths, const Progress& progress) {
  trace::ImportedRun all{.format = "kineto", .strings = {}, .groups = {}, .ranks = {}, .report = {}};
  std::vector<Tally> tallies(paths.size());
  std::uint64_t total = 0, done = 0;
  for (const std::string& path : paths) {
    if (std::filesystem::is_regular_file(path)) total += std::filesystem::file_size(path);
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::uint64_t of_file = 0;
    all.ranks.push_back(read_rank(paths[i], all, tallies[i], [&](std::uint64_t at, std::uint64_t bytes) {
      of_file = bytes;
      if (progress) progress(done + at, total);
    }));
    done += of_file;
  }
  std::vector<Tally> set_aside;
  leave_out_empty(all, tallies, set_aside);
  name_ranks(all, tallies);
  std::vector<trace::ImportedRun> runs;
  const std::vector<OneRun> apart = runs_apart(all);
  for (const OneRun& one : apart) runs.push_back(take_run(all, one, tallies, &one == &apart.back()));
  for (const Tally& tally : set_aside) tally.tell(runs.front().report);
  return runs;
}

trace::ImportedRun read(const std::vector<std::string>& paths, const Progress& progress) {
  std::vector<trace::ImportedRun> runs = read_runs(paths, progress);
  if (runs.size() == 1) return std::move(runs.front());
  throw InputError({.file = paths.front(), .where = "", .found = std::to_string(runs.size()) + " runs (" + runs[1].report.entries().at("import.kineto.other_run").example + ")", .expected = "the traces of one run", .hint = "put each run into a folder of its own"});
}

Format format() {
  return {.name = "kineto", .description = "PyTorch profiler (Kineto) trace, Chrome JSON", .confidence = confidence,
          .read = [](const std::vector<std::string>& paths, const Progress& progress) -> Imported { return read(paths, progress); },
          .read_apart = [](const std::vector<std::string>& paths, const Progress& progress) {
            std::vector<Imported> runs;
            for (trace::ImportedRun& run : read_runs(paths, progress)) runs.emplace_back(std::move(run));
            return runs;
          }};
}

}  // namespace sgsim::import::kineto

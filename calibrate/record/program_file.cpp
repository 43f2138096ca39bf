#include "calibrate/record/program_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "calibrate/record/program_json.h"
#include "sim/core/error.h"
#include "sim/core/text_file.h"

namespace sgsim::calibrate {
namespace {

using nlohmann::json;

constexpr std::string_view kTaskWords[] = {"compute", "collective", "send", "receive"};

json write_task(const ProgramTask& t) {
  json j = {{"kind", kTaskWords[static_cast<std::size_t>(t.kind)]}, {"stream", t.stream}};
  if (!t.waits.empty()) {
    json& waits = j["waits"] = json::array();
    for (const ProgramWait& w : t.waits) waits.push_back({w.stream, w.position});
  }
  j[t.kind == ProgramTaskKind::compute ? "segment" : "comm"] = t.kind == ProgramTaskKind::compute ? t.segment : t.comm;
  if (t.micro_batch >= 0) j["micro_batch"] = t.micro_batch;
  return j;
}

json write_rank_program(const RankProgram& p) {
  json segments = json::array(), comms = json::array(), tasks = json::array();
  for (const ProgramSegment& s : p.segments) segments.push_back({{"name", s.name}, {"phase", s.phase}, {"kernels", s.kernels}});
  for (const ProgramComm& c : p.comms) comms.push_back({{"name", c.name}, {"slot", c.slot}, {"op", cost::name_of(c.op)}, {"bytes", c.bytes}});
  for (const ProgramTask& t : p.tasks) tasks.push_back(write_task(t));
  return {{"name", p.name}, {"streams", p.streams}, {"segments", segments}, {"comms", comms}, {"tasks", tasks}};
}

/// The whole file while it is read: errors name it.
struct Reader {
  const std::string& file;
  [[noreturn]] void fail(std::string where, std::string found, std::string expected) const {
    throw InputError({.file = file, .where = std::move(where), .found = std::move(found), .expected = std::move(expected), .hint = "sgsim validate --write-program writes such files"});
  }

  std::vector<std::uint32_t> indices(cost::StrictObject& o, std::string_view key) const {
    std::vector<std::uint32_t> result;
    for (const std::int64_t i : o.integers(key, 0)) result.push_back(static_cast<std::uint32_t>(i));
    return result;
  }

  ProgramTask task(cost::StrictObject& o) const {
    ProgramTask t;
    const std::string kind = o.text("kind");
    const auto* found = std::find(std::begin(kTaskWords), std::end(kTaskWords), kind);
    if (found == std::end(kTaskWords)) fail(o.path_of("kind"), "\"" + kind + "\"", "compute, collective, send or receive");
    t.kind = static_cast<ProgramTaskKind>(found - std::begin(kTaskWords));
    t.stream = static_cast<std::uint16_t>(o.integer("stream", 0));
    if (o.has("waits")) {
      const json& waits = o.at("waits");
      if (!waits.is_array()) fail(o.path_of("waits"), "no array", "pairs of stream and position");
      for (const json& w : waits) {
        if (!w.is_array() || w.size() != 2 || !w[0].is_number_unsigned() || !w[1].is_number_unsigned()) fail(o.path_of("waits"), w.dump(), "pairs of stream and position");
        t.waits.push_back({.stream = w[0].get<std::uint16_t>(), .position = w[1].get<std::uint32_t>()});
      }
    }
    if (t.kind == ProgramTaskKind::compute) t.segment = static_cast<std::uint32_t>(o.integer("segment", 0));
    else t.comm = static_cast<std::uint32_t>(o.integer("comm", 0));
    if (o.has("micro_batch")) t.micro_batch = static_cast<std::int32_t>(o.integer("micro_batch", 0));
    return t;
  }

  RankProgram rank_program(cost::StrictObject& o) const {
    RankProgram p;
    p.name = o.text("name");
    const json& streams = o.at("streams");
    if (!streams.is_array()) fail(o.path_of("streams"), "no array", "names");
    for (const json& s : streams) {
      if (!s.is_string()) fail(o.path_of("streams"), s.dump(), "names");
      p.streams.push_back(s.get<std::string>());
    }
    o.each("segments", [&](cost::StrictObject& s) { p.segments.push_back({.name = s.text("name"), .phase = s.text("phase"), .kernels = indices(s, "kernels")}); });
    o.each("comms", [&](cost::StrictObject& c) {
      p.comms.push_back({.name = c.text("name"), .slot = static_cast<std::uint16_t>(c.integer("slot", 0)), .op = word_of<graph::CollectiveOp>(c, "op"), .bytes = c.integer("bytes", 1)});
    });
    o.each("tasks", [&](cost::StrictObject& t) { p.tasks.push_back(task(t)); });
    return p;
  }

  // ---- what indices may be ----
  void check_tasks(const ExecutableProgram& all, const RankProgram& p, const std::string& where) const {
    if (p.streams.empty()) fail(where + ".streams", "no stream", "at least one");
    std::vector<std::uint32_t> done(p.streams.size(), 0);
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
      const ProgramTask& t = p.tasks[i];
      const std::string here = fmt::format("{}.tasks[{}]", where, i);
      if (t.stream >= p.streams.size()) fail(here + ".stream", std::to_string(t.stream), fmt::format("less than {}", p.streams.size()));
      for (const ProgramWait& w : t.waits) {
        if (w.stream >= p.streams.size() || w.position == 0 || w.position > done[w.stream]) {
          fail(here + ".waits", fmt::format("[{}, {}]", w.stream, w.position), "a stream, and a number of tasks of it that stand before this one");
        }
      }
      if (t.kind == ProgramTaskKind::compute ? t.segment >= p.segments.size() : t.comm >= p.comms.size()) fail(here, "an index out of range", "a segment or comm of this program");
      ++done[t.stream];
    }
    for (std::size_t i = 0; i < p.segments.size(); ++i) {
      for (const std::uint32_t k : p.segments[i].kernels) {
        if (k >= all.works.size()) fail(fmt::format("{}.segments[{}].kernels", where, i), std::to_string(k), fmt::format("less than {}", all.works.size()));
      }
    }
  }

  void check_ranks(const ExecutableProgram& all) const {
    if (all.ranks.empty()) fail("$.ranks", "no rank", "at least one");
    for (std::size_t g = 0; g < all.groups.size(); ++g) {
      for (const std::uint32_t m : all.groups[g].members) {
        if (m >= all.ranks.size()) fail(fmt::format("$.groups[{}].members", g), std::to_string(m), fmt::format("less than {}", all.ranks.size()));
      }
    }
    for (std::size_t r = 0; r < all.ranks.size(); ++r) {
      const std::string here = fmt::format("$.ranks[{}]", r);
      if (all.ranks[r].program >= all.programs.size()) fail(here + ".program", std::to_string(all.ranks[r].program), fmt::format("less than {}", all.programs.size()));
      for (const std::uint32_t g : all.ranks[r].groups) {
        if (g >= all.groups.size()) fail(here + ".groups", std::to_string(g), fmt::format("less than {}", all.groups.size()));
        const auto& members = all.groups[g].members;
        if (std::find(members.begin(), members.end(), static_cast<std::uint32_t>(r)) == members.end()) fail(here + ".groups", std::to_string(g), "groups that this rank is a member of");
      }
      for (const ProgramComm& c : all.programs[all.ranks[r].program].comms) {
        if (c.slot >= all.ranks[r].groups.size()) fail(here + ".groups", fmt::format("{} groups", all.ranks[r].groups.size()), fmt::format("one for slot {} of \"{}\"", c.slot, c.name));
      }
    }
  }

  /// The uses of each communicator must be the same sequence for all members; a send meets a receive.
  void check_uses(const ExecutableProgram& all) const {
    using Use = std::tuple<bool, graph::CollectiveOp, std::int64_t>;  // collective?, operation, bytes
    std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::pair<Use, ProgramTaskKind>>>> uses;
    for (std::uint32_t r = 0; r < all.ranks.size(); ++r) {
      const RankProgram& p = all.programs[all.ranks[r].program];
      for (const ProgramTask& t : p.tasks) {
        if (t.kind == ProgramTaskKind::compute) continue;
        const ProgramComm& c = p.comms[t.comm];
        uses[all.ranks[r].groups[c.slot]][r].push_back({{t.kind == ProgramTaskKind::collective, c.op, c.bytes}, t.kind});
      }
    }
    for (const auto& [g, by_rank] : uses) {
      const ProgramGroup& group = all.groups[g];
      const std::string here = fmt::format("$.groups[{}]", g);
      const auto& first = by_rank.begin()->second;
      for (const std::uint32_t m : group.members) {
        const auto it = by_rank.find(m);
        if (it == by_rank.end() || it->second.size() != first.size()) fail(here, fmt::format("rank {} uses it {} times, rank {} {} times", by_rank.begin()->first, first.size(), m, it == by_rank.end() ? 0 : it->second.size()), "the same uses by all members");
        for (std::size_t i = 0; i < first.size(); ++i) {
          if (it->second[i].first != first[i].first) fail(here, fmt::format("use {} of rank {} is another operation or size than rank {}'s", i, m, by_rank.begin()->first), "the same uses by all members");
          if (first[i].second == ProgramTaskKind::collective || m == by_rank.begin()->first) continue;
          if (group.members.size() != 2 || it->second[i].second == first[i].second) fail(here, fmt::format("use {} is a send or receive that meets no other", i), "groups of two in which a send meets a receive");
        }
      }
    }
  }
};

std::uint64_t hash_of(std::string_view text) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace

std::string to_text(const ExecutableProgram& program) {
  json works = json::array(), programs = json::array(), ranks = json::array(), groups = json::array();
  for (const graph::Work& w : program.works) works.push_back(write_work(w));
  for (const RankProgram& p : program.programs) programs.push_back(write_rank_program(p));
  for (const ProgramRank& r : program.ranks) ranks.push_back({{"program", r.program}, {"groups", r.groups}});
  for (const ProgramGroup& g : program.groups) groups.push_back({{"kind", g.kind}, {"members", g.members}});
  return json{{"schema_version", kProgramVersion}, {"name", program.name}, {"about", program.about}, {"launch", program.graph ? "graph" : "stream"},
              {"row", program.row}, {"vocabulary", program.vocabulary}, {"works", works}, {"programs", programs}, {"ranks", ranks}, {"groups", groups}}
             .dump() + "\n";
}

ExecutableProgram program_from_text(std::string_view text, const std::string& file) {
  const Reader reader{file};
  const json tree = json::parse(text, nullptr, false);
  if (tree.is_discarded()) reader.fail("$", "no JSON", "a program file");
  cost::StrictObject root(tree, file, "$");
  if (root.integer("schema_version", 1) != kProgramVersion) reader.fail("$.schema_version", root.at("schema_version").dump(), std::to_string(kProgramVersion));
  ExecutableProgram p;
  p.name = root.text("name");
  p.about = root.text("about");
  const std::string launch = root.text("launch");
  if (launch != "graph" && launch != "stream") reader.fail("$.launch", "\"" + launch + "\"", "stream or graph");
  p.graph = launch == "graph";
  p.row = root.integer("row", 0);
  p.vocabulary = root.integer("vocabulary", 0);
  root.each("works", [&](cost::StrictObject& w) { p.works.push_back(read_work(w)); });
  root.each("programs", [&](cost::StrictObject& r) { p.programs.push_back(reader.rank_program(r)); });
  root.each("ranks", [&](cost::StrictObject& r) { p.ranks.push_back({.program = static_cast<std::uint32_t>(r.integer("program", 0)), .groups = reader.indices(r, "groups")}); });
  root.each("groups", [&](cost::StrictObject& g) { p.groups.push_back({.kind = g.text("kind"), .members = reader.indices(g, "members")}); });
  root.finish();
  reader.check_ranks(p);
  for (std::size_t i = 0; i < p.programs.size(); ++i) reader.check_tasks(p, p.programs[i], fmt::format("$.programs[{}]", i));
  reader.check_uses(p);
  return p;
}

ExecutableProgram load_program(const std::string& path) { return program_from_text(read_text_file(path), path); }
void save_program(const ExecutableProgram& program, const std::string& path) { write_text_file(path, to_text(program)); }
std::string program_id(const ExecutableProgram& program) { return fmt::format("{:016x}", hash_of(to_text(program))); }

}  // namespace sgsim::calibrate

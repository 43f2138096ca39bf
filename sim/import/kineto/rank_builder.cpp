#include "sim/import/kineto/rank_builder.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "sim/import/kineto/categories.h"
#include "sim/import/kineto/number.h"
#include "sim/trace/steps.h"

namespace sgsim::import::kineto {
namespace {

using trace::Nanoseconds;

// Microseconds beyond this lie after the year 5100: such times are nanoseconds already.
constexpr Nanoseconds kNanosecondTimes = 100'000'000'000'000'000;  // 1e17, of the number as written
constexpr Nanoseconds kFarthestTime = 4'000'000'000'000'000'000;   // 127 years: differences of two times stay in 63 bits
constexpr Nanoseconds kLongestDuration = 86'400'000'000'000 * 30;  // 30 days
using trace::kStepMark;

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t length = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

std::int64_t whole(std::string_view text, std::int64_t fallback) { return integer(text).value_or(fallback); }

std::int64_t external_id(const Event& e) {
  const std::string_view id = e.arg("External id");
  return whole(id.empty() ? e.arg("external id") : id, -1);
}

}  // namespace

RankBuilder::RankBuilder(std::string file, trace::ImportedRun& run, Tally& tally) : run_(run), tally_(tally) { rank_.file = std::move(file); }

trace::Text RankBuilder::text(std::string_view raw) {
  const std::size_t before = run_.strings.size();
  const trace::Text id = run_.strings.intern(raw.find('\\') == std::string_view::npos ? raw : std::string_view(key_ = unescape(raw)));
  if (run_.strings.size() != before && !is_utf8(run_.strings.at(id))) tally_.add(Count::bytes_not_utf8, raw);
  return id;
}

bool RankBuilder::times(const Event& e, Times& t) {
  if (const auto start = plain_nanoseconds(e.time), duration = plain_nanoseconds(e.duration); start && duration && *duration <= kLongestDuration) {
    t = {*start, *duration};
    return true;
  }
  if (e.time.empty()) return tally_.add(Count::time_missing, e.name), false;
  const bool exponent = e.time.find_first_of("eE") != std::string_view::npos;
  auto start = nanoseconds(e.time);
  if (exponent && start) tally_.add(Count::lossy_time, e.time);
  bool already_ns = false;
  constexpr std::size_t kShortest = 18;  // digits before the point of a time in nanoseconds; what has a point earlier is none
  const bool microseconds = e.time.find('.') < kShortest;
  if (const auto plain = microseconds ? std::nullopt : integer(e.time); plain && !exponent && (*plain >= kNanosecondTimes || *plain <= -kNanosecondTimes)) {
    start = plain;
    already_ns = true;
    tally_.add(Count::nanosecond_times, e.time);
  }
  if (!start) {
    const bool number_like = number(e.time).has_value();
    return tally_.add(number_like ? Count::time_overflow : Count::time_missing, e.name), false;
  }
  if (*start > kFarthestTime || *start < -kFarthestTime) return tally_.add(Count::time_overflow, e.name), false;
  t = {*start, 0};
  if (e.duration.empty() || e.duration == "null") return tally_.add(Count::duration_missing, e.name), true;
  auto duration = nanoseconds(e.duration);
  if (already_ns && integer(e.duration)) duration = integer(e.duration);
  if (!duration && !number(e.duration)) return tally_.add(Count::duration_missing, e.name), true;
  if (duration && *duration < 0) return tally_.add(Count::duration_negative, e.name), true;
  if (!duration || *duration > kLongestDuration || t.start > std::numeric_limits<Nanoseconds>::max() - *duration) {
    return tally_.add(Count::duration_overflow, e.name), false;
  }
  t.duration = *duration;
  return true;
}

std::uint32_t RankBuilder::thread(const Event& e) {
  key_.assign(e.pid).append("/").append(e.tid);
  if (key_ == last_thread_.first) return last_thread_.second;
  const auto [found, is_new] = threads_.try_emplace(key_, static_cast<std::uint32_t>(rank_.threads.size()));
  last_thread_ = *found;
  if (is_new) rank_.threads.push_back({.process = text(e.pid), .thread = text(e.tid)});
  return last_thread_.second;
}

std::uint32_t RankBuilder::stream(const Event& e, std::string_view fallback) {
  const auto device = integer(e.arg("device"));
  auto id = integer(e.arg("stream"));
  if (!id) {
    std::string_view tid = fallback;
    if (tid.rfind("stream ", 0) == 0) tid.remove_prefix(7);
    id = whole(tid, -1);
    tally_.add(Count::stream_guessed, e.name);
  }
  const std::pair key{static_cast<std::uint32_t>(device ? *device : whole(e.pid, 0)), *id};
  const auto [found, is_new] = streams_.try_emplace(key, static_cast<std::uint32_t>(rank_.streams.size()));
  if (is_new) rank_.streams.push_back({.device = key.first, .stream = key.second});
  return found->second;
}

void RankBuilder::take(const Event& e) {
  tally_.add(Count::events);
  if (e.phase == "X") {
    if (e.category != last_category_.first) last_category_ = {std::string(e.category), category_of(e.category)};
    switch (last_category_.second) {
      case Category::op: return take_op(e, trace::HostKind::op);
      case Category::annotation: return take_op(e, trace::HostKind::annotation);
      case Category::python: return take_op(e, trace::HostKind::python);
      case Category::call: return take_call(e);
      case Category::kernel: return take_device(e, trace::DeviceKind::kernel);
      case Category::copy: return take_device(e, trace::DeviceKind::copy);
      case Category::set: return take_device(e, trace::DeviceKind::set);
      case Category::sync: return take_sync(e);
      case Category::device_annotation: return tally_.add(Count::device_annotations, e.name);
      case Category::marker: return tally_.add(Count::markers, e.name);
      case Category::unknown: break;
    }
    key_.assign("category \"").append(e.category).append("\", ").append(e.name);
    return tally_.add(Count::category_unknown, key_);
  }
  if (e.phase == "s" || e.phase == "f" || e.phase == "t") return tally_.add(Count::flows);
  if (e.phase == "i" || e.phase == "I" || e.phase == "R") return tally_.add(Count::instants, e.name);
  if (e.phase == "C") return tally_.add(Count::counters, e.name);
  if (e.phase == "M") return take_metadata(e);
  key_.assign("phase \"").append(e.phase).append("\", ").append(e.name);
  tally_.add(Count::phase_unknown, key_);
}

void RankBuilder::take_metadata(const Event& e) {
  tally_.add(Count::metadata);
  if (e.name != "thread_name") return;
  const std::string name(e.arg("name"));
  thread_names_[std::string(e.pid) + "/" + std::string(e.tid)] = text(name);
}

void RankBuilder::take_op(const Event& e, trace::HostKind kind) {
  Times t;
  if (!times(e, t)) return;
  tally_.add(kind == trace::HostKind::op ? Count::ops : kind == trace::HostKind::python ? Count::python : Count::annotations);
  trace::HostOp op{.start = t.start, .duration = t.duration, .thread = thread(e), .kind = kind};
  op.id = external_id(e);
  op.name = text(e.name);
  if (const auto dims = e.arg("Input Dims"); !dims.empty()) {
    shapes_.assign(dims).append(" ").append(e.arg("Input type"));
    op.shapes = text(shapes_);
  }
  const auto index = static_cast<std::uint32_t>(rank_.ops.size());
  if (e.name.rfind(kStepMark, 0) == 0) {
    tally_.add(Count::steps, e.name);
    rank_.steps.push_back({.number = whole(e.name.substr(kStepMark.size()), -1), .start = t.start, .duration = t.duration, .thread = op.thread});
  }
  if (is_comm_annotation(e.name)) op_comms_.emplace(index, op_facts(e));
  rank_.ops.push_back(op);
}

// PyTorch before 2.2 has no names: "Concrete Inputs" of record_param_comms are (tensors, sequence, communicator, ..., size),
// the communicator as an address of this process. The k-th one of a size is taken for the k-th of that size on other ranks.
CommFacts RankBuilder::op_facts(const Event& e) {
  CommFacts facts = comm_facts(e);
  if (!facts.name.empty() || e.name != "record_param_comms") return facts;
  std::vector<std::string_view> inputs;
  const std::string_view list = e.arg("Concrete Inputs");
  for (std::size_t at = list.find('"'); at != std::string_view::npos;) {
    const std::size_t end = list.find('"', at + 1);
    if (end == std::string_view::npos) break;
    inputs.push_back(list.substr(at + 1, end - at - 1));
    at = list.find('"', end + 1);
  }
  if (inputs.size() != 8 || !inputs[0].empty()) return facts;
  const auto communicator = integer(inputs[2]), size = integer(inputs[7]);
  if (!communicator || !size || *size < 1 || *size > 1'000'000) return facts;
  facts.size = static_cast<std::uint32_t>(*size);
  key_.assign(inputs[7]).append("/").append(inputs[2]);
  auto found = local_groups_.find(key_);
  if (found == local_groups_.end()) {
    const std::string prefix = std::string(inputs[7]) + "/";
    const auto same_size = std::count_if(local_groups_.begin(), local_groups_.end(), [&](const auto& g) { return g.first.rfind(prefix, 0) == 0; });
    found = local_groups_.emplace(key_, static_cast<std::uint32_t>(same_size)).first;
    tally_.add(Count::collective_group_guessed, inputs[2]);
  }
  facts.group = "communicator " + std::to_string(found->second) + " of size " + std::string(inputs[7]);
  return facts;
}

void RankBuilder::take_call(const Event& e) {
  Times t;
  if (!times(e, t)) return;
  tally_.add(Count::calls);
  const std::uint32_t on = thread(e);
  const trace::Text name = text(e.name);
  const auto kind = call_kinds_.find(name) != call_kinds_.end() ? call_kinds_.at(name) : call_kinds_[name] = call_kind(e.name);
  rank_.calls.push_back({.start = t.start, .duration = t.duration, .correlation = whole(e.arg("correlation"), -1), .name = name, .thread = on, .kind = kind});
  call_ids_.push_back(external_id(e));
}

void RankBuilder::take_device(const Event& e, trace::DeviceKind kind) {
  Times t;
  if (!times(e, t)) return;
  tally_.add(kind == trace::DeviceKind::kernel ? Count::kernels : kind == trace::DeviceKind::copy ? Count::copies : Count::sets);
  if (t.duration == 0 && kind == trace::DeviceKind::kernel) tally_.add(Count::duration_zero, e.name);
  trace::DeviceOp op{.start = t.start, .duration = t.duration, .correlation = whole(e.arg("correlation"), -1), .kind = kind};
  op.graph_node = whole(e.arg("graph node id"), 0);
  op.name = text(e.name);
  op.stream = stream(e, e.tid);
  op.bytes = number(e.arg("bytes")).value_or(0.0);
  if (const auto grid = e.arg("grid"); !grid.empty()) op.blocks = static_cast<std::uint32_t>(std::clamp(elements_of(grid).value_or(0.0), 0.0, 4e9));
  if (const auto layer = e.arg("layer"); !layer.empty()) op.layer = text(layer);  // sgsim simulate --trace
  const auto index = static_cast<std::uint32_t>(rank_.device_ops.size());
  if (kind == trace::DeviceKind::kernel && !e.arg("Collective name").empty()) kernel_comms_.emplace(index, comm_facts(e));
  if (e.category == "communication") {  // sgsim simulate --trace
    kernel_comms_.emplace(index, CommFacts{.name = std::string(e.name), .dtype = "byte", .group = {}, .description = {}, .ranks = {}, .in_split = {}, .out_split = {}, .in_elements = op.bytes});
  }
  rank_.device_ops.push_back(op);
}

void RankBuilder::take_sync(const Event& e) {
  tally_.add(Count::syncs, e.name);
  syncs_.push_back({whole(e.arg("correlation"), -1), whole(e.arg("stream"), -1), whole(e.arg("device"), 0), whole(e.arg("wait_on_cuda_event_record_corr_id"), -1),
                    whole(e.arg("wait_on_cuda_event_id"), -1), whole(e.arg("wait_on_stream"), -1)});
}

void RankBuilder::shift(Nanoseconds base) {
  Nanoseconds last = 0;
  const auto see = [&](const auto& table) {
    for (const auto& x : table) last = std::max(last, x.start + x.duration);
  };
  see(rank_.ops), see(rank_.calls), see(rank_.device_ops);
  if (base <= 0 || base > kFarthestTime - std::max<Nanoseconds>(0, last)) return;
  const auto add = [&](auto& table) {
    for (auto& x : table) x.start += base;
  };
  add(rank_.ops), add(rank_.calls), add(rank_.device_ops), add(rank_.steps);
  tally_.add(Count::base_time, std::to_string(base));
}

void RankBuilder::read_header(const std::map<std::string, std::string, std::less<>>& header) {
  using Json = nlohmann::json;
  const auto parse = [&](const char* key) {
    const auto found = header.find(key);
    if (found == header.end()) return Json();
    Json value = Json::parse(found->second, nullptr, false);
    if (value.is_discarded()) tally_.add(Count::bad_metadata, std::string(key) + ": " + found->second);
    return value.is_discarded() ? Json() : value;
  };
  const auto number_in = [](const Json& object, const char* key, std::int64_t fallback) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number() ? found->get<std::int64_t>() : fallback;
  };
  if (const Json cut = parse("endsEarly"); cut.is_boolean()) rank_.ends_early = cut.get<bool>();  // of a file that sgsim export wrote of one that was cut
  if (const Json info = parse("distributedInfo"); info.is_object()) {
    constexpr std::int64_t kMostRanks = 1 << 24;  // beyond any machine
    const std::int64_t rank = number_in(info, "rank", -1), world = number_in(info, "world_size", 0);
    if (world < 0 || world > kMostRanks) tally_.add(Count::rank_impossible, rank_.file + ": world size " + std::to_string(world) + ", taken as not told");
    else rank_.world_size = static_cast<std::uint32_t>(world);
    const bool told = info.contains("rank") && info["rank"].is_number();
    if (told && (rank < 0 || rank > kMostRanks)) tally_.add(Count::rank_impossible, rank_.file + ": rank " + std::to_string(rank) + ", taken as not told");
    else rank_.rank = static_cast<std::int32_t>(rank);
    if (rank_.world_size > 0 && rank_.rank >= static_cast<std::int32_t>(rank_.world_size)) {  // the number tells files apart, sizes of the job follow from the other
      tally_.add(Count::rank_impossible, rank_.file + ": rank " + std::to_string(rank) + " of " + std::to_string(world) + "; the number of ranks is taken as not told");
      rank_.world_size = 0;
    }
    if (const auto groups = info.find("pg_config"); groups != info.end() && groups->is_array()) {
      for (const Json& g : *groups) {
        if (!g.is_object()) continue;
        CommFacts facts;
        if (const auto name = g.find("pg_name"); name != g.end() && name->is_string()) facts.group = name->get<std::string>();
        if (const auto words = g.find("pg_desc"); words != g.end() && words->is_string()) facts.description = words->get<std::string>();
        if (const auto ranks = g.find("ranks"); ranks != g.end()) facts.ranks = ranks->dump();
        facts.size = static_cast<std::uint32_t>(std::max<std::int64_t>(0, number_in(g, "pg_size", 0)));
        (void)group_of(run_, facts);
      }
    }
  }
  if (const Json devices = parse(header.count("deviceProperties") != 0 ? "deviceProperties" : "computeProperties"); devices.is_array()) {
    std::uint32_t used = rank_.streams.empty() ? 0 : rank_.streams.front().device;
    for (const Json& d : devices) {
      if (d.is_object() && (rank_.gpu.empty() || number_in(d, "id", -1) == used) && d.contains("name") && d["name"].is_string()) rank_.gpu = d["name"].get<std::string>();
    }
  }
  if (const auto host = header.find("hostname"); host != header.end()) rank_.host = host->second;
  if (const auto base = header.find("baseTimeNanoseconds"); base != header.end()) shift(whole(base->second, 0));
}

trace::RankTrace RankBuilder::finish(const std::map<std::string, std::string, std::less<>>& header) {
  read_header(header);
  for (const auto& [key, name] : thread_names_) {
    if (const auto found = threads_.find(key); found != threads_.end()) rank_.threads[found->second].name = name;
  }
  std::unordered_map<std::int64_t, const Sync*> by_correlation;
  std::unordered_map<std::int64_t, std::uint32_t> recorded_on;
  for (const Sync& s : syncs_) {
    by_correlation.emplace(s.correlation, &s);
    const auto source = streams_.find({static_cast<std::uint32_t>(s.device), s.source_stream});
    if (s.record_correlation > 0 && source != streams_.end()) recorded_on.emplace(s.record_correlation, source->second);
  }
  for (trace::HostCall& call : rank_.calls) {
    if (const auto on = recorded_on.find(call.correlation); on != recorded_on.end()) call.stream = on->second;
    const auto found = call.correlation < 0 ? by_correlation.end() : by_correlation.find(call.correlation);
    if (found == by_correlation.end()) continue;
    const Sync& s = *found->second;
    call.event = s.event;
    call.record_correlation = s.record_correlation;
    const auto stream = streams_.find({static_cast<std::uint32_t>(s.device), s.stream});
    if (stream != streams_.end()) call.stream = stream->second;
  }
  if (rank_.steps.empty()) tally_.add(Count::no_steps, rank_.file);
  link_rank(rank_, run_, {std::move(kernel_comms_), std::move(op_comms_), std::move(call_ids_)}, tally_);
  return std::move(rank_);
}

}  // namespace sgsim::import::kineto

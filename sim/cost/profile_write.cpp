#include <charconv>
#include <cmath>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "sim/core/text_file.h"
#include "sim/cost/profile.h"
#include "sim/cost/profile_names.h"

namespace sgsim::cost {
namespace {

using Json = nlohmann::json;  // keys sorted

/// Nine significant digits: more than any measurement has, few enough that a unit's conversion leaves no trace.
double rounded(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", value);
  double result = 0.0;
  std::from_chars(buffer, buffer + std::char_traits<char>::length(buffer), result);
  return result;
}
Json number(double value) {
  const double r = rounded(value);
  if (std::abs(r) < 1e15 && r == std::floor(r)) return static_cast<std::int64_t>(r);
  return r;
}
Json us(Seconds value) { return number(value.value() * 1e6); }
Json sourced(std::string_view unit, Json value, const std::string& source) { return {{std::string(unit), std::move(value)}, {"source", source}}; }
Json held_out(const HeldOut& h) { return {{"rows", h.rows}, {"median", number(h.median)}, {"p90", number(h.p90)}}; }

Json sources(const Profile& p) {
  Json all = Json::object();
  for (const auto& [key, s] : p.sources) {
    all[key] = {{"kind", name_of(s.kind)}, {"source", s.source}, {"machine", s.machine}, {"date", s.date}, {"software", s.software}, {"note", s.note}};
  }
  return all;
}

Json gpu(const Datasheet& g) {
  Json peak = Json::object();
  for (const auto& [dtype, rate] : g.peak) peak[std::string(graph::to_text(dtype))] = sourced("flops_per_s", number(rate.value.value()), rate.source);
  return {{"name", g.name},
          {"sms", sourced("count", g.sms.value, g.sms.source)},
          {"clock", sourced("hz", number(g.clock_hz.value), g.clock_hz.source)},
          {"memory", sourced("bytes", number(g.memory.value.value()), g.memory.source)},
          {"hbm_bandwidth", sourced("bytes_per_s", number(g.hbm_bandwidth.value.value()), g.hbm_bandwidth.source)},
          {"l2", sourced("bytes", number(g.l2.value.value()), g.l2.source)},
          {"peak", peak},
          {"vector_peak", sourced("flops_per_s", number(g.vector_peak.value.value()), g.vector_peak.source)}};
}

Json matmul_models(const Profile& p) {
  Json all = Json::array();
  for (const MatmulModel& m : p.matmul_models) {
    Json tiles = Json::array();
    for (const Tile& t : m.tiles) tiles.push_back({{"m", t.m}, {"n", t.n}, {"efficiency", number(t.efficiency)}});
    all.push_back({{"dtype", graph::to_text(m.dtype)}, {"tiles", tiles}, {"wave_weight", number(m.wave_weight)},
                   {"partial_wave_weight", number(m.partial_wave_weight)}, {"k_overhead", number(m.k_overhead)},
                   {"math_efficiency", number(m.math_efficiency)}, {"memory_efficiency", number(m.memory_efficiency)},
                   {"sharpness", number(m.sharpness)}, {"fixed_us", us(m.fixed)}, {"nn_factor", number(m.nn_factor)},
                   {"nt_factor", number(m.nt_factor)}, {"unaligned_factor", number(m.unaligned_factor)},
                   {"sigma", number(m.sigma)}, {"source", m.source}});
  }
  return all;
}

Json matmul_tables(const Profile& p) {
  Json all = Json::array();
  for (const MatmulTable& t : p.matmul_tables) {
    all.push_back({{"dtype", graph::to_text(t.dtype)}, {"a_transposed", t.a_transposed}, {"b_transposed", t.b_transposed}, {"batch", t.batch},
                   {"m", t.m}, {"n", t.n}, {"k", t.k}, {"time_ns", t.time_ns}, {"held_out", held_out(t.held_out)}, {"source", t.source}});
  }
  return all;
}

Json attention_models(const Profile& p) {
  Json all = Json::array();
  for (const AttentionModel& m : p.attention_models) {
    all.push_back({{"pass", name_of(m.pass)}, {"dense_mask", m.dense_mask}, {"head_dim", m.head_dim},
                   {"efficiency", number(m.efficiency)}, {"critical_efficiency", number(m.critical_efficiency)}, {"fixed_us", us(m.fixed)},
                   {"sigma", number(m.sigma)}, {"source", m.source}});
    if (!m.waves) continue;
    all.back()["waves"] = {{"efficiency", number(m.waves->efficiency)}, {"start_us", us(m.waves->start)}, {"wave_weight", number(m.waves->wave_weight)},
                           {"tail", number(m.waves->tail)}, {"ragged", number(m.waves->ragged)}};
  }
  return all;
}

Json attention_tables(const Profile& p) {
  Json all = Json::array();
  for (const AttentionTable& t : p.attention_tables) {
    all.push_back({{"dtype", graph::to_text(t.dtype)}, {"pass", name_of(t.pass)}, {"causal", t.causal}, {"dense_mask", t.dense_mask},
                   {"head_dim", t.head_dim}, {"group", t.group}, {"batch_heads", t.batch_heads}, {"length", t.length},
                   {"time_ns", t.time_ns}, {"held_out", held_out(t.held_out)}, {"source", t.source}});
  }
  return all;
}

Json convolutions(const Profile& p) {
  Json all = Json::array();
  for (const ConvolutionPoint& c : p.convolutions) {
    const graph::Convolution& w = c.work;
    all.push_back({{"batch", w.batch}, {"in_channels", w.in_channels}, {"out_channels", w.out_channels}, {"in_height", w.in_height},
                   {"in_width", w.in_width}, {"kernel_height", w.kernel_height}, {"kernel_width", w.kernel_width}, {"stride", w.stride},
                   {"padding", w.padding}, {"groups", w.groups}, {"dtype", graph::to_text(w.dtype)}, {"pass", name_of(w.pass)},
                   {"time_ns", c.time_ns}, {"source", c.source}});
  }
  return all;
}

Json curves(const Profile& p) {
  Json all = Json::array();
  for (const BandwidthCurve& c : p.bandwidth_curves) {
    all.push_back({{"kind", name_of(c.kind)}, {"bytes", c.bytes}, {"time_ns", c.time_ns}, {"sigma", number(c.sigma)}, {"source", c.source}});
    if (c.counts_sum) all.back()["counts_sum"] = true;
  }
  return all;
}

Json protocols(const Profile& p) {
  Json all = Json::array();
  for (const ProtocolCost& c : p.protocols) {
    all.push_back({{"algorithm", name_of(c.algorithm)}, {"protocol", name_of(c.protocol)}, {"link", name_of(c.link)}, {"base_us", us(c.base)}, {"hop_us", us(c.hop)},
                   {"efficiency", number(c.efficiency)}, {"source", c.source}});
  }
  return all;
}

Json sweeps(const Profile& p) {
  Json all = Json::array();
  for (const CollectiveSweep& s : p.sweeps) {
    all.push_back({{"op", name_of(s.op)}, {"ranks", s.ranks}, {"bytes", s.bytes}, {"time_ns", s.time_ns}, {"source", s.source}});
  }
  return all;
}

template <class T, class Convert>
Json constants(const std::map<std::string, Sourced<T>>& values, std::string_view unit, Convert&& convert) {
  Json all = Json::object();
  for (const auto& [key, v] : values) all[key] = sourced(unit, convert(v.value), v.source);
  return all;
}

/// Objects over several lines, arrays of numbers and small flat objects on one: a file that diffs and reads well.
void print(const Json& v, int depth, std::string& out) {
  const bool nested = std::any_of(v.begin(), v.end(), [](const Json& item) { return item.is_structured(); });
  const bool long_text = std::any_of(v.begin(), v.end(), [](const Json& item) { return item.is_string() && item.get_ref<const std::string&>().size() > 60; });
  if (!v.is_structured() || (!nested && !long_text)) {
    out += v.dump();
    return;
  }
  const std::string indent(static_cast<std::size_t>(depth + 1), ' ');
  out += v.is_object() ? "{" : "[";
  bool first = true;
  for (const auto& [key, item] : v.items()) {
    out += (first ? "\n" : ",\n") + indent;
    if (v.is_object()) out += Json(key).dump() + ": ";
    print(item, depth + 1, out);
    first = false;
  }
  out += "\n" + indent.substr(1) + (v.is_object() ? "}" : "]");
}

}  // namespace

std::string to_text(const Profile& p) {
  const Json all = {{"format", "sgsim-profile"}, {"version", 1}, {"name", p.name}, {"sources", sources(p)}, {"environment", p.environment},
                    {"gpu", gpu(p.gpu)}, {"matmul_models", matmul_models(p)}, {"matmul_tables", matmul_tables(p)},
                    {"attention_models", attention_models(p)}, {"attention_tables", attention_tables(p)}, {"convolutions", convolutions(p)},
                    {"bandwidth_curves", curves(p)}, {"protocols", protocols(p)}, {"sweeps", sweeps(p)},
                    {"factors", constants(p.factors, "value", [](double v) { return number(v); })},
                    {"times", constants(p.times, "time_us", [](Seconds v) { return us(v); })},
                    {"rates", constants(p.rates, "bytes_per_s", [](BytesPerSecond v) { return number(v.value()); })}};
  std::string out;
  print(all, 0, out);
  out += "\n";
  return out;
}

void save_profile(const Profile& profile, const std::filesystem::path& path) {
  write_text_file(path.string(), to_text(profile));
}

}  // namespace sgsim::cost

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/core/json_value.h"
#include "sim/core/text_file.h"
#include "sim/cost/profile.h"
#include "sim/cost/profile_names.h"
#include "sim/cost/required.h"
#include "sim/cost/strict_json.h"

namespace sgsim::cost {
namespace {

constexpr int kVersion = 1;

template <class Enum>
Enum word(StrictObject& o, std::string_view key) {
  const std::string text = o.text(key);
  std::string all;
  std::size_t i = 0;
  for (const std::string_view candidate : Names<Enum>::words) {
    if (candidate == text) return static_cast<Enum>(i);
    all += (i++ == 0 ? "" : ", ") + std::string(candidate);
  }
  o.fail(key, "\"" + text + "\"", "a " + std::string(Names<Enum>::what) + ": " + all, "");
}

graph::DType dtype(StrictObject& o, std::string_view key) {
  const std::string text = o.text(key);
  const auto found = graph::dtype_from_text(text);
  if (!found) o.fail(key, "\"" + text + "\"", "an element type as PyTorch prints it, such as bfloat16", "");
  return *found;
}

/// Reads the file into `profile`; member functions are one table or constant each.
class Reader {
 public:
  explicit Reader(Profile& profile) : profile_(profile) {}

  void read(StrictObject& o);

 private:
  std::string source(StrictObject& o);
  template <class T, class Get>
  Sourced<T> sourced(StrictObject& parent, std::string_view key, Get&& get);
  std::vector<std::int64_t> axis(StrictObject& o, std::string_view key);
  std::vector<std::int64_t> times(StrictObject& o, std::size_t expected);
  HeldOut held_out(StrictObject& parent);
  void sources(StrictObject& o);
  void environment(StrictObject& o);
  void gpu(StrictObject o);
  void matmuls(StrictObject& o);
  void attention(StrictObject& o);
  void convolutions(StrictObject& o);
  void curves(StrictObject& o);
  void collectives(StrictObject& o);
  void constants(StrictObject& o);

  Profile& profile_;
};

std::string Reader::source(StrictObject& o) {
  std::string key = o.text("source");
  if (!profile_.sources.contains(key)) o.fail("source", "\"" + key + "\"", "a key of $.sources", "add where this number comes from to $.sources");
  return key;
}

template <class T, class Get>
Sourced<T> Reader::sourced(StrictObject& parent, std::string_view key, Get&& get) {
  StrictObject o = parent.object(key);
  Sourced<T> result{T(get(o)), source(o)};
  o.finish();
  return result;
}

std::vector<std::int64_t> Reader::axis(StrictObject& o, std::string_view key) {
  std::vector<std::int64_t> values = o.integers(key, 1);
  if (values.empty()) o.fail(key, "an empty array", "at least one value", "");
  if (!std::is_sorted(values.begin(), values.end(), std::less_equal<>{})) o.fail(key, "values out of order", "strictly ascending values", "");
  return values;
}

std::vector<std::int64_t> Reader::times(StrictObject& o, std::size_t expected) {
  std::vector<std::int64_t> values = o.integers("time_ns", 0);
  if (values.size() != expected) {
    o.fail("time_ns", std::to_string(values.size()) + " values", std::to_string(expected) + " values, the product of the axes' lengths", "0 stands for a shape that was not measured");
  }
  return values;
}

HeldOut Reader::held_out(StrictObject& parent) {
  StrictObject o = parent.object("held_out");
  HeldOut h{.rows = static_cast<int>(o.integer("rows", 0)), .median = o.number("median", 0), .p90 = o.number("p90", 0)};
  o.finish();
  return h;
}

void Reader::sources(StrictObject& o) {
  o.each_member("sources", [&](const std::string& key, StrictObject& s) {
    profile_.sources[key] = {.kind = word<ProvenanceKind>(s, "kind"), .source = s.text("source"), .machine = s.text("machine"),
                             .date = s.text("date"), .software = s.text("software"), .note = s.text("note")};
  });
}

void Reader::environment(StrictObject& o) {
  StrictObject env = o.object("environment");
  for (const auto& [key, value] : o.at("environment").items()) profile_.environment[key] = env.text(key);
}

void Reader::gpu(StrictObject o) {
  Datasheet& g = profile_.gpu;
  g.name = o.text("name");
  g.sms = sourced<int>(o, "sms", [](StrictObject& v) { return static_cast<int>(v.integer("count", 1)); });
  g.clock_hz = sourced<double>(o, "clock", [](StrictObject& v) { return v.number("hz", 1); });
  g.memory = sourced<Bytes>(o, "memory", [](StrictObject& v) { return v.number("bytes", 1); });
  g.hbm_bandwidth = sourced<BytesPerSecond>(o, "hbm_bandwidth", [](StrictObject& v) { return v.number("bytes_per_s", 1); });
  g.l2 = sourced<Bytes>(o, "l2", [](StrictObject& v) { return v.number("bytes", 1); });
  g.vector_peak = sourced<FlopsPerSecond>(o, "vector_peak", [](StrictObject& v) { return v.number("flops_per_s", 1); });
  o.each_member("peak", [&](const std::string& key, StrictObject& v) {
    const auto type = graph::dtype_from_text(key);
    if (!type) v.fail("", "\"" + key + "\"", "an element type as PyTorch prints it", "");
    g.peak[*type] = {FlopsPerSecond(v.number("flops_per_s", 1)), source(v)};
  });
  o.finish();
}

void Reader::matmuls(StrictObject& o) {
  o.each("matmul_models", [&](StrictObject& m) {
    MatmulModel model{.dtype = dtype(m, "dtype"), .tiles = {}, .wave_weight = m.number("wave_weight", 0),
                      .partial_wave_weight = m.number("partial_wave_weight", 0), .k_overhead = m.number("k_overhead", 0),
                      .math_efficiency = m.number("math_efficiency", 1e-6), .memory_efficiency = m.number("memory_efficiency", 1e-6),
                      .sharpness = m.number("sharpness", 1), .fixed = Seconds(m.number("fixed_us", 0) * 1e-6),
                      .nn_factor = m.number("nn_factor", 0.1), .nt_factor = m.number("nt_factor", 0.1),
                      .unaligned_factor = m.number("unaligned_factor", 0.1), .sigma = m.number("sigma", 0), .source = source(m)};
    m.each("tiles", [&](StrictObject& t) { model.tiles.push_back({t.integer("m", 1), t.integer("n", 1), t.number("efficiency", 1e-6)}); });
    profile_.matmul_models.push_back(std::move(model));
  });
  o.each("matmul_tables", [&](StrictObject& t) {
    MatmulTable table{.dtype = dtype(t, "dtype"), .a_transposed = t.boolean("a_transposed"), .b_transposed = t.boolean("b_transposed"),
                      .batch = axis(t, "batch"), .m = axis(t, "m"), .n = axis(t, "n"), .k = axis(t, "k"),
                      .time_ns = {}, .held_out = held_out(t), .source = source(t)};
    table.time_ns = times(t, table.batch.size() * table.m.size() * table.n.size() * table.k.size());
    profile_.matmul_tables.push_back(std::move(table));
  });
}

void Reader::attention(StrictObject& o) {
  o.each("attention_models", [&](StrictObject& m) {
    AttentionModel model{.pass = word<graph::Pass>(m, "pass"), .dense_mask = m.boolean("dense_mask"),
                         .head_dim = m.integer("head_dim", 1), .efficiency = m.number("efficiency", 1e-6),
                         .critical_efficiency = m.number("critical_efficiency", 1e-6), .fixed = Seconds(m.number("fixed_us", 0) * 1e-6),
                         .sigma = m.number("sigma", 0), .source = source(m)};
    if (m.has("waves")) {
      StrictObject w = m.object("waves");
      model.waves = AttentionWaves{.efficiency = w.number("efficiency", 1e-6), .start = Seconds(w.number("start_us", 0) * 1e-6),
                                   .wave_weight = w.number("wave_weight", 0), .tail = w.number("tail", 0), .ragged = w.number("ragged", 0.1)};
      w.finish();
    }
    profile_.attention_models.push_back(std::move(model));
  });
  o.each("attention_tables", [&](StrictObject& t) {
    AttentionTable table{.dtype = dtype(t, "dtype"), .pass = word<graph::Pass>(t, "pass"), .causal = t.boolean("causal"),
                         .dense_mask = t.boolean("dense_mask"), .head_dim = t.integer("head_dim", 1), .group = axis(t, "group"),
                         .batch_heads = axis(t, "batch_heads"), .length = axis(t, "length"), .time_ns = {},
                         .held_out = held_out(t), .source = source(t)};
    table.time_ns = times(t, table.group.size() * table.batch_heads.size() * table.length.size());
    profile_.attention_tables.push_back(std::move(table));
  });
}

void Reader::convolutions(StrictObject& o) {
  o.each("convolutions", [&](StrictObject& c) {
    ConvolutionPoint point;
    point.work = {.batch = c.integer("batch", 1), .in_channels = c.integer("in_channels", 1), .out_channels = c.integer("out_channels", 1),
                  .in_height = c.integer("in_height", 1), .in_width = c.integer("in_width", 1), .kernel_height = c.integer("kernel_height", 1),
                  .kernel_width = c.integer("kernel_width", 1), .stride = c.integer("stride", 1), .padding = c.integer("padding", 0),
                  .groups = c.integer("groups", 1), .dtype = dtype(c, "dtype"), .pass = word<graph::ConvolutionPass>(c, "pass")};
    point.time_ns = c.integer("time_ns", 1);
    point.source = source(c);
    profile_.convolutions.push_back(std::move(point));
  });
}

void Reader::curves(StrictObject& o) {
  o.each("bandwidth_curves", [&](StrictObject& c) {
    BandwidthCurve curve{.kind = word<graph::MemoryKind>(c, "kind"), .bytes = axis(c, "bytes"), .time_ns = {}, .sigma = c.number("sigma", 0), .source = source(c)};
    curve.time_ns = times(c, curve.bytes.size());
    if (c.has("counts_sum")) curve.counts_sum = c.boolean("counts_sum");
    profile_.bandwidth_curves.push_back(std::move(curve));
  });
}

void Reader::collectives(StrictObject& o) {
  o.each("protocols", [&](StrictObject& p) {
    profile_.protocols.push_back({.algorithm = word<Algorithm>(p, "algorithm"), .protocol = word<Protocol>(p, "protocol"), .link = word<LinkClass>(p, "link"),
                                  .base = Seconds(p.number("base_us", 0) * 1e-6), .hop = Seconds(p.number("hop_us", 0) * 1e-6),
                                  .efficiency = p.number("efficiency", 1e-6), .source = source(p)});
  });
  o.each("sweeps", [&](StrictObject& s) {
    CollectiveSweep sweep{.op = word<graph::CollectiveOp>(s, "op"), .ranks = static_cast<int>(s.integer("ranks", 2)), .bytes = axis(s, "bytes"), .time_ns = {}, .source = source(s)};
    sweep.time_ns = times(s, sweep.bytes.size());
    profile_.sweeps.push_back(std::move(sweep));
  });
}

void Reader::constants(StrictObject& o) {
  o.each_member("factors", [&](const std::string& key, StrictObject& v) { profile_.factors[key] = {v.number("value", 0), source(v)}; });
  o.each_member("times", [&](const std::string& key, StrictObject& v) { profile_.times[key] = {Seconds(v.number("time_us", 0) * 1e-6), source(v)}; });
  o.each_member("rates", [&](const std::string& key, StrictObject& v) { profile_.rates[key] = {BytesPerSecond(v.number("bytes_per_s", 1)), source(v)}; });
  for (const std::string_view name : kRequiredTimes) {
    if (!profile_.times.contains(std::string(name))) o.fail("times", "no \"" + std::string(name) + "\"", "every time that the launch model needs", "docs/formats/profile.md lists them");
  }
  for (const std::string_view name : kRequiredRates) {
    if (!profile_.rates.contains(std::string(name))) o.fail("rates", "no \"" + std::string(name) + "\"", "every rate that the cost model needs", "docs/formats/profile.md lists them");
  }
  for (const std::string_view name : kRequiredFactors) {
    if (!profile_.factors.contains(std::string(name))) o.fail("factors", "no \"" + std::string(name) + "\"", "every factor that the cost model needs", "docs/formats/profile.md lists them");
  }
}

void Reader::read(StrictObject& o) {
  if (const std::string format = o.text("format"); format != "sgsim-profile") o.fail("format", "\"" + format + "\"", "\"sgsim-profile\"", "is this a profile file?");
  if (const std::int64_t version = o.integer("version", 0); version != kVersion) o.fail("version", std::to_string(version), "version 1", "make the profile again with the tools of this version");
  profile_.name = o.text("name");
  sources(o);
  environment(o);
  gpu(o.object("gpu"));
  matmuls(o);
  attention(o);
  convolutions(o);
  curves(o);
  collectives(o);
  constants(o);
  o.finish();
}

}  // namespace

Profile profile_from_text(std::string_view text, const std::string& file) {
  const nlohmann::json value = parse_json(text, file);
  Profile profile;
  StrictObject root(value, file, "$");
  Reader(profile).read(root);
  return profile;
}

Profile load_profile(const std::filesystem::path& path) {
  const std::string text = read_text_file(path.string());
  return profile_from_text(text, path.string());
}

}  // namespace sgsim::cost

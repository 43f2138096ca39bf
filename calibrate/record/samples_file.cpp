#include "calibrate/record/samples_file.h"

#include <nlohmann/json.hpp>

#include "calibrate/record/machine_json.h"
#include "sim/core/error.h"

namespace sgsim::calibrate {
namespace {

using nlohmann::json;

json write_key(const Key& key) { return {{"group", key.group}, {"labels", key.labels}, {"sizes", key.sizes}}; }

Key read_key(const json& j) {
  return {.group = j.at("group"), .labels = j.at("labels"), .sizes = j.at("sizes")};
}

json write_measurement(const Measurement& m) {
  return {{"type", "measured"}, {"key", write_key(m.key)},
          {"time", {{"count", m.time.count}, {"outliers", m.time.outliers}, {"median_s", m.time.median}, {"spread_s", m.time.spread},
                    {"least_s", m.time.least}, {"greatest_s", m.time.greatest}}},
          {"warmups", m.warmups}, {"check_error", m.check_error}, {"check_tolerance", m.check_tolerance}, {"drift", m.drift},
          {"lost_runs", m.lost_runs}, {"sm_clock_mhz", m.sm_clock_mhz}, {"cycles", m.cycles}, {"cycles_spread", m.cycles_spread}, {"kernels", m.kernels}, {"notes", m.notes}};
}

Measurement read_measurement(const json& j) {
  const json& t = j.at("time");
  return {.key = read_key(j.at("key")),
          .time = {.count = t.at("count"), .outliers = t.at("outliers"), .median = t.at("median_s"), .spread = t.at("spread_s"),
                   .least = t.at("least_s"), .greatest = t.at("greatest_s")},
          .warmups = j.at("warmups"), .check_error = j.at("check_error"), .check_tolerance = j.at("check_tolerance"),
          .drift = j.at("drift"), .lost_runs = j.at("lost_runs"), .sm_clock_mhz = j.at("sm_clock_mhz"), .cycles = j.at("cycles"), .cycles_spread = j.at("cycles_spread"), .kernels = j.at("kernels"),
          .notes = j.at("notes")};
}

void read_line(const json& j, Samples& samples) {
  const std::string type = j.at("type");
  if (type == "measured") {
    samples.add(read_measurement(j));
  } else if (type == "waived" || type == "failed") {
    samples.add(NotMeasured{.key = read_key(j.at("key")), .why = type == "waived" ? Missing::waived : Missing::failed, .reason = j.at("reason")});
  } else if (type == "withdrawn") {
    samples.withdraw(read_key(j.at("key")), j.at("reason"));
  } else if (type == "machine") {
    samples.machines.push_back(read_machine(j.at("machine")));
    samples.commands.push_back(j.at("command"));
  } else if (type == "finding") {
    samples.findings.push_back(j.at("finding"));
  } else {
    throw InputError({.file = "", .where = "$.type", .found = "'" + type + "'", .expected = "measured, waived, failed, withdrawn, machine or finding", .hint = ""});
  }
}

}  // namespace

void Samples::add(const Measurement& measurement) {
  missing.erase(measurement.key);
  measured[measurement.key] = measurement;
}

void Samples::add(const NotMeasured& not_measured) {
  if (!measured.contains(not_measured.key)) missing[not_measured.key] = not_measured;
}

void Samples::withdraw(const Key& key, const std::string& reason) {
  measured.erase(key);
  missing[key] = {.key = key, .why = Missing::failed, .reason = reason};
}

Samples load_samples(const std::filesystem::path& path) {
  Samples samples;
  std::ifstream file(path);
  if (!file) {
    if (std::filesystem::exists(path)) throw EnvironmentError("cannot read " + path.string());
    return samples;
  }
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    if (text.empty()) continue;
    const bool cut_short = file.eof();  // no line end: the writer was interrupted within this line
    try {
      read_line(json::parse(text), samples);
    } catch (const json::exception& error) {
      if (cut_short) break;
      throw InputError({.file = path.string(), .where = "line " + std::to_string(number), .found = error.what(),
                        .expected = "one JSON object of the samples format", .hint = "docs/calibrate.md has the format"});
    } catch (const InputError& error) {
      InputProblem problem = error.problem();
      problem.file = path.string();
      problem.where = "line " + std::to_string(number) + ", " + problem.where;
      throw InputError(problem);
    }
  }
  return samples;
}

SamplesWriter::SamplesWriter(const std::filesystem::path& path) : path_(path) {
  // A line that an interruption cut short must not swallow the first new one.
  bool cut_short = false;
  if (std::ifstream old(path, std::ios::binary | std::ios::ate); old && old.tellg() > 0) {
    old.seekg(-1, std::ios::end);
    cut_short = old.get() != '\n';
  }
  if (cut_short) {
    std::ifstream old(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(old)), {});
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text.substr(0, text.rfind('\n') + 1);
  }
  file_.open(path, std::ios::app);
  if (!file_) throw EnvironmentError("cannot write " + path.string());
}

void SamplesWriter::line(const std::string& text) {
  file_ << text << '\n' << std::flush;
  if (!file_) throw EnvironmentError("cannot write " + path_.string() + " (is the disk full?)");
}

void SamplesWriter::write(const Machine& machine, const std::string& command) {
  line(json({{"type", "machine"}, {"machine", write_machine(machine)}, {"command", command}}).dump());
}
void SamplesWriter::write(const Measurement& measurement) { line(write_measurement(measurement).dump()); }
void SamplesWriter::write(const NotMeasured& missing) {
  line(json({{"type", missing.why == Missing::waived ? "waived" : "failed"}, {"key", write_key(missing.key)}, {"reason", missing.reason}}).dump());
}
void SamplesWriter::withdraw(const Key& key, const std::string& reason) { line(json({{"type", "withdrawn"}, {"key", write_key(key)}, {"reason", reason}}).dump()); }
void SamplesWriter::write_finding(const std::string& finding) { line(json({{"type", "finding"}, {"finding", finding}}).dump()); }

}  // namespace sgsim::calibrate

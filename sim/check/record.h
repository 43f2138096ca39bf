#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgsim::check {

/// One training run as its source describes it, in the fields of the validation data set (docs/formats/record.md). What
/// the source does not say stays absent. Keys that are not needed here are left alone: sources add their own.
struct Record {
  std::string file;       // of the records, without folder and ".json[.gz]"
  std::string folder;     // for paths inside the record
  std::string id, source, kind, framework, precision, execution, optimizer, notes, outcome, flops_convention;
  std::string unreadable;    // the first field that is lacking as a whole or holds what cannot be read; such a record is skipped
  std::string graph, trace;  // captured graph and trace of the run, relative to `folder`

  std::string gpu, interconnect;
  std::optional<std::int64_t> gpus, gpus_per_node;

  std::string model, family, positions, activation;
  std::optional<std::int64_t> layers, hidden, heads, kv_heads, ffn, vocab, sequence, experts, experts_per_token;
  std::optional<bool> tied_embeddings;
  std::optional<double> params_b;

  std::optional<std::int64_t> dp, tp, pp, vpp, cp, ep, micro_batch, global_batch, grad_accum;
  std::string sharding, recompute, schedule, overlap, fsdp_mixed_precision;
  std::optional<bool> sequence_parallel;

  std::map<std::string, double> measured, derived;  // every number there, by key
  std::map<std::string, std::string> assumptions;   // scenario path -> JSON value, which the record's author states

  [[nodiscard]] bool is_measured() const { return kind.empty() || kind == "measured"; }
};

/// Reads a file of records: a JSON list, plain or gzip. Throws InputError on a broken file, or a row that is
/// no object or has no id; a fact of the wrong type becomes Record::unreadable.
[[nodiscard]] std::vector<Record> read_records(const std::string& path);
[[nodiscard]] std::vector<Record> records_from_text(std::string_view text, const std::string& path);
/// Name of a file of records in suites and reports: without folder and ".json[.gz]".
[[nodiscard]] std::string file_name_of(const std::string& path);
/// Whether a file holds collectives (rows with "op" and "bytes") instead.
[[nodiscard]] bool holds_collectives(std::string_view text);

}  // namespace sgsim::check

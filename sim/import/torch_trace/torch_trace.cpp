#include "sim/import/torch_trace/torch_trace.h"

#include <array>
#include <map>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/import/fx_text/fx_text.h"
#include "sim/import/fx_text/python_text.h"
#include "sim/import/torch_trace/join_pairs.h"
#include "sim/import/torch_trace/records.h"
#include "sim/import/whole_file.h"

namespace sgsim::import::torch_trace {
namespace {

constexpr std::array<std::string_view, 7> kGraphs = {"aot_forward_graph", "aot_backward_graph", "aot_joint_graph", "aot_inference_graph", "inductor_pre_grad_graph", "inductor_post_grad_graph", "exported_program"};

bool is_graph(std::string_view type) { return std::find(kGraphs.begin(), kGraphs.end(), type) != kGraphs.end(); }

/// Keys of counters have plain letters only.
std::string plain(std::string_view type) {
  std::string text;
  for (const char c : type.substr(0, 60)) text += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ? c : '_';
  return text;
}

/// Dynamo names its placeholders after where they come from: "L_self_modules_lin1_parameters_weight_".
std::vector<fx_text::Placeholder> placeholders_of(const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::vector<fx_text::Placeholder> result;
  for (const auto& [name, annotation] : parameters) {
    if (!fx_text::type_of_annotation(annotation)) continue;  // symbols are no placeholders of the AOT graph's tensors
    const bool parameter = name.find("_parameters_") != std::string::npos, buffer = name.find("_buffers_") != std::string::npos;
    result.push_back({.kind = parameter ? graph::NodeKind::parameter : buffer ? graph::NodeKind::buffer : graph::NodeKind::input, .name = name});
  }
  return result;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file, ImportedGraphs& result) : records_(text), file_(file), result_(result) {}

  void run() {
    Record record;
    while (records_.next(record)) {
      if (!record.json.is_object()) {
        result_.report.add("import.torch_trace.corrupt_record", Severity::error, fmt::format("{} line {}", file_, record.line));
        continue;
      }
      result_.report.add("import.torch_trace.record." + plain(record.type), Severity::info, fmt::format("line {}", record.line));
      if (record.type == "dynamo_output_graph") remember_placeholders(record);
      if (is_graph(record.type)) read_graph(record);
    }
    join();
    if (records_.stray_lines() > 0) result_.report.add("import.torch_trace.stray_line", Severity::error, file_, static_cast<std::uint64_t>(records_.stray_lines()));
  }

 private:
  void remember_placeholders(const Record& record) {
    try {
      placeholders_.insert_or_assign(record.frame, placeholders_of(fx_text::parse_signature(record.payload, file_)));
    } catch (const InputError&) {  // Dynamo's graph is Python, not aten; where it cannot be read all placeholders are inputs
    }
  }

  void read_graph(const Record& record) {
    std::string name = fmt::format("{} {}", record.frame.empty() ? "[-]" : record.frame, record.type);
    if (record.rank) name = fmt::format("rank {} {}", *record.rank, name);
    const auto known = placeholders_.find(record.frame);
    const bool forward = record.type != "aot_backward_graph" && record.type != "aot_joint_graph";
    try {
      graph::OperatorGraph graph = fx_text::parse(record.payload, file_, record.type == "aot_backward_graph" ? graph::Phase::backward : graph::Phase::forward, result_.report,
                                                  known != placeholders_.end() && forward ? &known->second : nullptr);
      graph.name = name;
      result_.graphs.emplace_back(name, std::move(graph));
      result_.report.add("import.torch_trace.graph", Severity::info, name);
      remember_pair(record);
    } catch (const InputError& error) {
      const InputProblem& problem = error.problem();
      result_.report.add("import.torch_trace.unreadable_graph", Severity::error, fmt::format("{} (record in line {}), payload {}: found {}, expected {}", name, record.line, problem.where, problem.found, problem.expected));
    }
  }

  void remember_pair(const Record& record) {
    rank_ = record.rank ? record.rank : rank_;
    if (record.type == "aot_forward_graph") {
      const auto known = placeholders_.find(record.frame);
      forward_.insert_or_assign(record.frame, Pair{.name = record.frame, .forward = fx_text::parse_forward(record.payload, file_), .backward = {},
                                                   .placeholders = known == placeholders_.end() ? std::vector<fx_text::Placeholder>() : known->second});
      order_.push_back(record.frame);
    } else if (record.type == "aot_backward_graph") {
      backward_.insert_or_assign(record.frame, fx_text::parse_forward(record.payload, file_));
    }
  }

  /// The forward and backward graphs of all compilations make one training graph.
  void join() {
    std::vector<Pair> pairs;
    for (const std::string& frame : order_) {
      const auto backward = backward_.find(frame);
      if (backward == backward_.end()) continue;
      pairs.push_back(forward_.at(frame));
      pairs.back().backward = backward->second;
    }
    if (pairs.empty()) return;
    const std::string name = rank_ ? fmt::format("rank {} training step", *rank_) : std::string("training step");
    try {
      graph::OperatorGraph graph = join_pairs(pairs, file_);
      graph.name = name;
      result_.graphs.insert(result_.graphs.begin(), {name, std::move(graph)});
      result_.report.add("import.torch_trace.joined_pair", Severity::info, name, pairs.size());
    } catch (const InputError& error) {
      const InputProblem& problem = error.problem();
      result_.report.add("import.torch_trace.not_joined", Severity::warning, fmt::format("{}: {}: found {}, expected {}; the graphs stand apart", name, problem.where, problem.found, problem.expected));
    }
  }

  Records records_;
  std::map<std::string, Pair> forward_;                   // by compilation
  std::map<std::string, fx_text::Function> backward_;
  std::vector<std::string> order_;
  std::optional<std::int64_t> rank_;
  const std::string& file_;
  ImportedGraphs& result_;
  std::map<std::string, std::vector<fx_text::Placeholder>> placeholders_;
};

void check_found(const ImportedGraphs& result, const std::string& file) {
  if (!result.graphs.empty()) return;
  const auto& entries = result.report.entries();
  const auto unreadable = entries.find("import.torch_trace.unreadable_graph");
  throw InputError({.file = file, .where = "",
                    .found = unreadable == entries.end() ? "a TORCH_TRACE log without AOT, Inductor or export graphs" : fmt::format("{} graphs, none readable: {}", unreadable->second.count, unreadable->second.example),
                    .expected = "at least one graph with sizes in numbers", .hint = "compile with TORCH_TRACE=dir on a cold cache (TORCHINDUCTOR_FORCE_DISABLE_CACHES=1), with dynamic=False"});
}

Imported read(const std::vector<std::string>& paths, const Progress& progress) {
  ImportedGraphs result;
  result.format = "torch_trace";
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string text = read_whole(paths[i], "torch_trace", result.report);
    Reader(text, paths[i], result).run();
    if (progress) progress(i + 1, paths.size());
  }
  check_found(result, paths.front());
  return result;
}

}  // namespace

ImportedGraphs parse(std::string_view text, const std::string& file) {
  ImportedGraphs result;
  result.format = "torch_trace";
  Reader(text, file, result).run();
  check_found(result, file);
  return result;
}

Format format() {
  return {.name = "torch_trace",
          .description = "PyTorch compiler log (TORCH_TRACE) with AOT, Inductor or export graphs",
          .confidence = [](const FileHead& head) {
            std::string_view rest = head.bytes;
            for (int line = 0; line < 20 && !rest.empty(); ++line) {
              const std::size_t end = std::min(rest.find('\n'), rest.size());
              if (!json_of(rest.substr(0, end)).empty()) return 85;
              rest.remove_prefix(std::min(end + 1, rest.size()));
            }
            return 0;
          },
          .read = read};
}

}  // namespace sgsim::import::torch_trace

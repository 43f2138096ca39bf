#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/import/simai/lines.h"
#include "sim/import/simai/simai.h"

namespace sgsim::import::simai {
namespace {

constexpr std::size_t kColumns = 12;
constexpr std::size_t kMostLayers = 10'000'000;

struct Pass {
  std::int64_t compute = 0;
  std::string communication;  // "NONE", "ALLREDUCE", "ALLGATHER_DP_EP"
  std::int64_t bytes = 0;
};
struct Layer {
  std::string name;
  Pass forward, input_gradient, weight_gradient;
  int line = 0;
};
struct Header {
  std::string policy;
  std::map<std::string, std::int64_t, std::less<>> options;  // "model_parallel_NPU_group" -> 8
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file), builder_("simai", file) {}

  trace::ImportedRun run() {
    read_header();
    read_layers();
    guess_groups();
    emit();
    return builder_.finish();
  }

 private:
  [[noreturn]] void fail(std::string found, std::string expected, std::string hint = "") const {
    throw InputError({.file = file_, .where = fmt::format("line {}", line_number_), .found = std::move(found), .expected = std::move(expected), .hint = std::move(hint)});
  }

  bool next(std::string_view& line) {
    ++line_number_;
    return take_line(text_, line);
  }

  void read_header() {
    std::string_view line;
    if (!next(line)) fail("an empty file", "a parallelism policy");
    const auto parts = columns(line);
    if (parts.empty()) fail("an empty line", "a parallelism policy such as HYBRID_TRANSFORMER or DATA");
    header_.policy = std::string(parts[0]);
    for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
      if (!parts[i].ends_with(':')) continue;
      if (const auto value = whole_number(parts[i + 1])) header_.options.emplace(parts[i].substr(0, parts[i].size() - 1), *value);
    }
    if (!next(line) || columns(line).size() != 1) fail("\"" + std::string(line) + "\"", "the number of layers");
    const auto count = whole_number(columns(line)[0]);
    if (!count || *count < 0) fail("\"" + std::string(line) + "\"", "the number of layers");
    declared_ = static_cast<std::size_t>(*count);
    if (declared_ > kMostLayers) fail(fmt::format("{} layers", declared_), fmt::format("at most {}", kMostLayers));
  }

  Pass pass_of(const std::vector<std::string_view>& parts, std::size_t at) const {
    const auto compute = whole_number(parts[at]), bytes = whole_number(parts[at + 2]);
    if (!compute || *compute < 0) fail("\"" + std::string(parts[at]) + "\"", "a compute time in nanoseconds");
    if (!bytes || *bytes < 0) fail("\"" + std::string(parts[at + 2]) + "\"", "a size in bytes");
    return {.compute = *compute, .communication = std::string(parts[at + 1]), .bytes = *bytes};
  }

  void read_layers() {
    std::string_view line;
    while (next(line)) {
      const auto parts = columns(line);
      if (parts.empty()) continue;
      if (parts.size() < kColumns) fail(fmt::format("{} columns", parts.size()), fmt::format("{} columns: name, reserved, then time, communication and bytes of three passes, update time", kColumns));
      if (parts.size() > kColumns) builder_.report().add("import.simai.extra_columns", Severity::error, fmt::format("line {}: {} columns", line_number_, parts.size()));
      layers_.push_back({.name = std::string(parts[0]), .forward = pass_of(parts, 2), .input_gradient = pass_of(parts, 5), .weight_gradient = pass_of(parts, 8), .line = line_number_});
      builder_.report().add("import.simai.layer", Severity::info, layers_.back().name);
    }
    if (layers_.size() != declared_) builder_.report().add("import.simai.layer_count", Severity::warning, fmt::format("the second line says {} layers, the file lists {}", declared_, layers_.size()));
    if (layers_.empty()) fail("no layers", "at least one");
  }

  std::int64_t option(std::string_view key) const {
    const auto found = header_.options.find(key);
    return found == header_.options.end() ? 0 : std::max<std::int64_t>(0, std::min<std::int64_t>(found->second, 1 << 24));
  }

  void guess_groups() {
    tensor_ = static_cast<std::uint32_t>(option("model_parallel_NPU_group"));
    expert_ = static_cast<std::uint32_t>(option("ep"));
    const std::int64_t all = option("all_gpus");
    const std::int64_t pipeline = std::max<std::int64_t>(1, option("pp"));
    if (all > 0 && tensor_ > 0) data_ = static_cast<std::uint32_t>(all / tensor_ / pipeline);
    if (tensor_ == 0) builder_.report().add("import.simai.group_size", Severity::warning, "the first line has no model_parallel_NPU_group: size of tensor groups unknown");
    if (data_ == 0) builder_.report().add("import.simai.group_size", Severity::warning, "the first line has no all_gpus: size of data groups unknown");
    if (option("checkpoints") > 0) builder_.report().add("import.simai.checkpoints", Severity::error, fmt::format("{} recomputed layers are not repeated in the backward pass", option("checkpoints")));
  }

  /// Without suffix the policy decides: forward and input gradients run in the tensor group, weight gradients in the data group.
  std::uint32_t communicate(const Layer& layer, const Pass& pass, const char* what, bool data) {
    std::string_view name = pass.communication;
    std::string group = data || header_.policy == "DATA" || header_.policy == "MICRO" ? "dp" : "tp";
    if (header_.policy == "MODEL" && data) group = "tp";
    if (name.ends_with("_DP_EP")) {
      group = "dp_ep";
      name.remove_suffix(6);
    } else if (name.ends_with("_EP")) {
      group = "ep";
      name.remove_suffix(3);
    }
    const auto kind = collective_kind(name);
    if (!kind) {
      builder_.report().add("import.simai.unknown_communication", Severity::error, fmt::format("line {}: {}", layer.line, pass.communication));
      return trace::kNone;
    }
    builder_.report().add(fmt::format("import.simai.collectives.{}", trace::name_of(*kind)), Severity::info, fmt::format("{} {}: {} bytes", layer.name, what, pass.bytes));
    if (pass.bytes == 0) builder_.report().add("import.simai.zero_size", Severity::warning, fmt::format("line {}: {} of 0 bytes", layer.line, pass.communication));
    const std::uint32_t size = group == "tp" ? tensor_ : group == "dp" ? data_ : group == "ep" ? expert_ : 0;
    return builder_.communication(fmt::format("{} {} {}", layer.name, what, pass.communication), *kind, group, size, static_cast<double>(pass.bytes), 0);
  }

  void emit_pass(const Layer& layer, const Pass& pass, const char* what, bool data) {
    std::uint32_t computed = trace::kNone;
    if (pass.compute > 0) {
      computed = builder_.compute(layer.name + " " + what, pass.compute);
      builder_.report().add("import.simai.compute", Severity::info, layer.name + " " + what);
      if (blocking_ != trace::kNone) builder_.edge(blocking_, computed);
      blocking_ = trace::kNone;
    }
    if (pass.communication == "NONE") return;
    const std::uint32_t transferred = communicate(layer, pass, what, data);
    if (transferred == trace::kNone) return;
    if (computed != trace::kNone) builder_.edge(computed, transferred);
    if (computed == trace::kNone && blocking_ != trace::kNone) builder_.edge(blocking_, transferred);
    if (!data) blocking_ = transferred;
  }

  void emit() {
    for (const Layer& layer : layers_) emit_pass(layer, layer.forward, "forward", false);
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      emit_pass(*layer, layer->input_gradient, "input gradient", false);
      emit_pass(*layer, layer->weight_gradient, "weight gradient", true);
    }
  }

  std::string_view text_;
  const std::string& file_;
  int line_number_ = 0;
  Header header_;
  std::size_t declared_ = 0;
  std::vector<Layer> layers_;
  std::uint32_t tensor_ = 0, data_ = 0, expert_ = 0;
  std::uint32_t blocking_ = trace::kNone;  // the communication that the next computation waits for
  RunBuilder builder_;
};

}  // namespace

trace::ImportedRun parse_workload(std::string_view text, const std::string& file) { return Reader(text, file).run(); }

}  // namespace sgsim::import::simai

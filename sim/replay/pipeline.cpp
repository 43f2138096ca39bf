#include "sim/replay/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"
#include "sim/replay/kernel_factors.h"
#include "sim/replay/stage_builder.h"
#include "sim/replay/waited.h"
#include "sim/trace/no_times.h"

namespace sgsim::replay {
namespace {

using trace::kNone;

Seconds seconds(double ns) { return Seconds(std::max(0.0, ns) * 1e-9); }

struct PassStep {
  bool forward = true;
  int micro_batch = 0;
};

// 1F1B: as many forward passes ahead as there are stages behind, then one backward for each forward (Narayanan et al. 2021, section 2.2).
std::vector<PassStep> one_forward_one_backward(int stages, int micro_batches, int stage) {
  std::vector<PassStep> order;
  const int ahead = std::min(stages - stage - 1, micro_batches);
  for (int m = 0; m < ahead; ++m) order.push_back({.forward = true, .micro_batch = m});
  for (int m = 0; m < micro_batches; ++m) {
    if (m + ahead < micro_batches) order.push_back({.forward = true, .micro_batch = m + ahead});
    order.push_back({.forward = false, .micro_batch = m});
  }
  return order;
}

/// Whose an operation is, by its label: a layer's, another module's (embedding, head), or nobody's.
enum class Label : std::uint8_t { none, layer, end };

/// A captured rank of one stage, cut into passes.
struct Stage {
  std::uint32_t rank = 0;
  StagePasses passes;
  std::vector<Label> labels;   // by device operation
  bool has_labels = false, names_ends = false;
  Overlaps overlaps;
  Timing timing;
  std::vector<OpClass> classes;
  std::vector<double> factors;  // by device operation, on its duration
  Waited waited;
  std::vector<std::uint32_t> next;  // by device operation: what the host issued next, in whatever pass
  bool gathers_each_pass = false;   // parameters are gathered for the backward pass too (FSDP): they are for every micro-batch
};

/// What to take of a pass of another place in the pipeline.
struct Share {
  double layers = 1.0;         // factor on what belongs to layers
  double everything = 1.0;     // factor on all operations, where layers are not labelled
  bool embedding = true, head = true;  // keep what stands before the first, after the last layer
};

class PipelineBuilder {
 public:
  PipelineBuilder(const trace::ImportedRun& run, const trace::Matching& matching, const std::vector<trace::Dependencies>& d, const Rescale& request)
      : run_(run), d_(d), request_(request), scaling_(run, matching, request) {}

  Rescaled build() {
    scaling_.check_sizes();
    by_kind_ = scaling_.kernel_factors(result_.report);
    read_stages();
    find_message();
    for (int s = 0; s < request_.wanted.pp; ++s) build_stage(s);
    bind();
    if (request_.wanted.pp != request_.captured.pp) {
      result_.report.add("import.rescale.stages_share_layers_evenly", Severity::warning, fmt::format("{} stages to {}: layers of a stage x {:.3g}", request_.captured.pp, request_.wanted.pp, ratio()));
    }
    if (request_.wanted.micro_batches != request_.captured.micro_batches) {
      result_.report.add("import.rescale.passes_repeated", Severity::info, fmt::format("{} micro-batches to {}", request_.captured.micro_batches, request_.wanted.micro_batches));
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(std::string found, std::string expected, std::string hint) const {
    throw InputError({.file = run_.ranks.front().file, .where = "", .found = std::move(found), .expected = std::move(expected), .hint = std::move(hint)});
  }
  double ratio() const { return static_cast<double>(request_.captured.pp) / request_.wanted.pp; }

  void read_stages() {
    const Sizes& c = request_.captured;
    for (std::uint32_t r = 0; r < run_.ranks.size(); ++r) {
      const std::int32_t number = run_.ranks[r].rank;
      if (number < 0 && run_.ranks.size() > 1) refuse("a rank without a number: " + run_.ranks[r].file, "ranks that the files name", "profiles of torch.distributed jobs name theirs (distributedInfo); without it, import one file alone");
      const int stage = number < 0 ? 0 : number / (c.dp * c.tp);
      if (stage >= c.pp) refuse(fmt::format("rank {}", number), fmt::format("ranks below {}", c.ranks()), "give the captured sizes");
      if (stages_.count(stage) == 0) stages_.emplace(stage, read_stage(r));
      else result_.report.add("import.rescale.ranks_alike", Severity::warning, fmt::format("every rank of stage {} runs the program of the first captured one", stage));
    }
    if (stages_.size() < static_cast<std::size_t>(c.pp)) {
      result_.report.add("import.rescale.stages_stand_for_others", Severity::warning, fmt::format("{} of {} captured stages imported; the nearest of a kind stands for the others", stages_.size(), c.pp));
    }
  }

  Stage read_stage(std::uint32_t r) {
    const trace::RankTrace& rank = run_.ranks[r];
    if (d_[r].order.empty()) throw trace::no_device_times(run_, rank);
    std::vector<bool> pairs(rank.collectives.size(), false);
    for (std::size_t c = 0; c < pairs.size(); ++c) {
      const auto op = trace::collective_op(rank.collectives[c].kind);
      pairs[c] = op && *op == graph::CollectiveOp::send_receive;
    }
    Stage stage{.rank = r, .passes = find_passes(run_, rank, d_[r], pairs, request_.captured.micro_batches), .labels = {}, .overlaps = separate_overlaps(rank, d_[r]), .timing = {}, .classes = classes_of(rank), .factors = kernel_factors(run_, rank, by_kind_, request_, result_.report), .waited = Waited(rank, d_[r]), .next = {}};
    stage.timing = measure_timing(rank, stage.overlaps.dependencies, stage.classes, {}, stage.overlaps.beside);
    tell_overlaps(stage.overlaps, trace::rank_name(rank), result_.report);
    if (rank.calls.empty()) {  // no host in the file: nothing is held back by it
      for (auto& [c, latency] : stage.timing.latency) latency = 0;
    }
    stage.labels.assign(rank.device_ops.size(), Label::none);
    for (const auto* list : {&stage.passes.forward, &stage.passes.backward}) {
      for (const Pass& pass : *list) label(rank, pass, stage);
    }
    stage.next.assign(rank.device_ops.size(), kNone);
    for (std::size_t k = 1; k < d_[r].order.size(); ++k) stage.next[d_[r].order[k - 1]] = d_[r].order[k];
    for (const Pass& pass : stage.passes.backward) stage.gathers_each_pass = stage.gathers_each_pass || gathers(rank, pass);
    if (!d_[r].waits.empty()) result_.report.add("import.rescale.host_waits_left_out", Severity::warning, rank.file, d_[r].waits.size());
    return stage;
  }

  bool gathers(const trace::RankTrace& rank, const Pass& pass) const {
    return std::any_of(pass.ops.begin(), pass.ops.end(), [&](std::uint32_t i) {
      const std::uint32_t c = rank.device_ops[i].collective;
      return c != kNone && rank.collectives[c].kind == trace::CommKind::all_gather && scaling_.role_of(rank.collectives[c]) == Role::data;
    });
  }

  // A communication belongs where the kernel before it does.
  void label(const trace::RankTrace& rank, const Pass& pass, Stage& stage) const {
    Label before = Label::none;
    for (const std::uint32_t i : pass.ops) {
      const trace::DeviceOp& op = rank.device_ops[i];
      const std::string& text = run_.strings.at(op.layer);
      if (op.collective == kNone) before = text.empty() ? Label::none : names_layer(text) ? Label::layer : Label::end;
      stage.labels[i] = before;
      stage.has_labels = stage.has_labels || before == Label::layer;
      stage.names_ends = stage.names_ends || before == Label::end;
    }
  }

  // The captured stage that stands for a wanted one.
  int source_of(int wanted) const {
    const int last = request_.captured.pp - 1;
    if (request_.wanted.pp == request_.captured.pp && stages_.count(wanted) != 0) return wanted;
    if (wanted == 0 && stages_.count(0) != 0) return 0;
    if (wanted == request_.wanted.pp - 1 && stages_.count(last) != 0) return last;
    for (const auto& [s, stage] : stages_) {
      if (s > 0 && s < last) return s;
    }
    return stages_.begin()->first;
  }

  static Nanoseconds median_busy(const std::vector<Pass>& passes) {
    std::vector<Nanoseconds> busy;
    for (const Pass& p : passes) busy.push_back(p.busy);
    std::nth_element(busy.begin(), busy.begin() + static_cast<std::ptrdiff_t>(busy.size() / 2), busy.end());
    return busy[busy.size() / 2];
  }

  Share share_of(int wanted, int source, bool forward) {
    Share share;
    const int last = request_.captured.pp - 1;
    const bool same = request_.captured.pp == request_.wanted.pp;
    const Place to{wanted, request_.wanted.pp};
    share.embedding = to.first();
    share.head = to.last();
    const bool has_embedding = source == 0, has_head = source == last;
    const Stage& stage = stages_.at(source);
    if (same && (has_embedding == to.first()) && (has_head == to.last())) return share;
    share.layers = ratio();
    if (stage.has_labels) return share;
    const bool inside = !has_embedding && !has_head;
    if (inside) {
      share.everything = ratio();
      return share;
    }
    const auto middle = std::find_if(stages_.begin(), stages_.end(), [&](const auto& s) { return s.first > 0 && s.first < last; });
    if (middle == stages_.end() || has_embedding != to.first() || has_head != to.last()) {
      refuse("kernels without layers, and no captured stage that stands in the same place", "a trace whose operators or annotations name layers, or ranks of the first, of an inner and of the last stage",
             "record with with_modules=True or with annotations around layers");
    }
    const auto& own = forward ? stage.passes.forward : stage.passes.backward;
    const auto& inner = forward ? middle->second.passes.forward : middle->second.passes.backward;
    const auto mine = static_cast<double>(median_busy(own)), layers = static_cast<double>(std::min(median_busy(inner), median_busy(own)));
    share.everything = mine <= 0.0 ? 1.0 : (mine - layers + layers * ratio()) / mine;
    result_.report.add("import.rescale.ends_by_difference", Severity::warning, fmt::format("stage {}: {:.3g} of a pass belongs to its layers", source, mine <= 0.0 ? 0.0 : layers / mine));
    return share;
  }

  // Factor of each operation of a pass; 0: left out.
  std::vector<double> shares(const Stage& stage, const Pass& pass, const Share& share, bool of_layers) const {
    std::vector<double> result(pass.ops.size(), share.everything);
    if (!stage.has_labels || !of_layers) return result;
    std::size_t first = pass.ops.size(), last = 0;
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
      if (stage.labels[pass.ops[i]] != Label::layer) continue;
      first = std::min(first, i);
      last = i;
    }
    for (std::size_t i = 0; i < pass.ops.size(); ++i) {
      const bool before = i < first, after = i > last;
      const bool embedding = pass.forward ? before : after, head = pass.forward ? after : before;
      // What has no label between layers is theirs (residual sums, casts), and everywhere where embedding and head have labels (gradient accumulation).
      const bool of_layers_too = (!before && !after) || (stage.names_ends && stage.labels[pass.ops[i]] == Label::none);
      result[i] = of_layers_too ? share.layers : (embedding && !share.embedding) || (head && !share.head) ? 0.0 : 1.0;
    }
    return result;
  }

  Template make(const Stage& stage, const Pass& pass, const std::vector<double>& shares) {
    const trace::RankTrace& rank = run_.ranks[stage.rank];
    const trace::Dependencies& d = stage.overlaps.dependencies;
    Template made;
    std::vector<bool> inside(rank.device_ops.size(), false);
    for (const std::uint32_t i : pass.ops) inside[i] = true;
    std::vector<std::uint32_t> order = pass.ops;  // by name: in order of starts; a stream's order is the same
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::uint32_t i = order[k];
      if (shares[k] <= 0.0) continue;
      const trace::DeviceOp& op = rank.device_ops[i];
      Template::Entry entry{.op = i};
      double work = static_cast<double>(op.duration) * shares[k];
      if (op.collective != kNone) {
        if (const auto transfer = scaling_.transfer(stage.rank, op.collective, result_.report)) {
          entry.role = scaling_.role_of(rank.collectives[op.collective]);
          entry.transfer = static_cast<Nanoseconds>(static_cast<double>(*transfer) * shares[k]);
          work = static_cast<double>(*entry.transfer);
          const bool alone = (entry.role == Role::tensor ? request_.wanted.tp : request_.wanted.dp) < 2;
          if (alone) entry.transfer.reset(), work = 0.0;
        }
      } else {
        work *= stage.factors[i];
      }
      const std::uint32_t before = d.stream_before[i];
      const bool own = stage.timing.keeps_own[i] && before != kNone && inside[before];  // not what stood between passes
      const double gap = entry.transfer ? 0.0 : static_cast<double>(own ? stage.timing.own_gap[i] : stage.timing.gap.at(stage.classes[i])) * shares[k];
      entry.work = seconds(work);
      entry.device = seconds(work + gap);
      entry.latency = seconds(stage.classes[i] == OpClass::graph_next ? 0.0 : static_cast<double>(stage.timing.latency.at(stage.classes[i])) - gap);
      const std::uint32_t follows = k + 1 < order.size() ? order[k + 1] : stage.next[i];
      const Nanoseconds next = follows == kNone ? d.issue[i] : std::max(d.issue[i], d.issue[follows]);
      const Nanoseconds own_time = next - d.issue[i] - stage.waited.within(d.issue[i], next);
      entry.host = rank.calls.empty() ? Seconds(0.0) : seconds(static_cast<double>(own_time) * shares[k] * request_.host);
      made.entries.push_back(entry);
    }
    return made;
  }

  // The pass of median time among those in the middle of the step.
  static const Pass& usual(const std::vector<Pass>& passes, bool forward) {
    std::vector<const Pass*> middle;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      const bool end = forward ? i == 0 : i + 1 == passes.size();
      if (!end || passes.size() == 1) middle.push_back(&passes[i]);
    }
    std::nth_element(middle.begin(), middle.begin() + static_cast<std::ptrdiff_t>(middle.size() / 2), middle.end(), [](const Pass* a, const Pass* b) { return a->busy < b->busy; });
    return *middle[middle.size() / 2];
  }

  void find_message() {
    for (const auto& [s, stage] : stages_) {
      if (stage.passes.sends.empty() || message_) continue;
      const std::uint32_t c = stage.passes.sends[stage.passes.sends.size() / 2];
      if (run_.ranks[stage.rank].collectives[c].device_op != kNone) message_ = Scaling::Message{.rank = stage.rank, .collective = c, .stage = std::min(s, std::max(0, request_.captured.pp - 2))};
    }
    if (message_ && !trace::waiting_apart(run_) && stages_.size() < 2) {
      result_.report.add("import.rescale.message_with_waiting", Severity::warning, "one stage imported: its sends hold the time that they waited");
    }
  }

  void build_stage(int s) {
    const int source = source_of(s);
    const Stage& stage = stages_.at(source);
    const trace::RankTrace& rank = run_.ranks[stage.rank];
    const Place place{s, request_.wanted.pp};
    StageBuilder builder(run_, rank, stage.overlaps, fmt::format("stage {} as captured stage {}", s, source));
    const Share forward = share_of(s, source, true), backward = share_of(s, source, false);
    const auto pass = [&](const Pass& p, const Share& share) { return make(stage, p, shares(stage, p, share, true)); };
    const auto outside = [&](const Pass& p) {  // parameters go by layers
      Share share;
      share.everything = forward.layers;
      return make(stage, p, shares(stage, p, share, false));
    };
    const StagePasses& captured = stage.passes;
    const Template forward_first = pass(captured.forward.front(), forward), forward_usual = pass(usual(captured.forward, true), forward);
    const Template backward_last = pass(captured.backward.back(), backward), backward_usual = pass(usual(captured.backward, false), backward);
    const bool one = request_.captured.micro_batches == 1;
    if (one && request_.wanted.micro_batches > 1) {
      result_.report.add("import.rescale.data_collectives_once_a_step", Severity::warning, stage.gathers_each_pass ? "one micro-batch was captured: reductions once a step, gathers in every pass" : "one micro-batch was captured");
    }
    const DataCollectives others = !one ? DataCollectives::all : stage.gathers_each_pass ? DataCollectives::gathers : DataCollectives::none;
    Bytes bytes(0.0);
    std::optional<Nanoseconds> in, out;
    if (!place.first()) in = scaling_.message(message_, s - 1, bytes, result_.report);
    if (!place.last()) out = scaling_.message(message_, s, bytes, result_.report);
    const int m = request_.wanted.micro_batches;
    if (!captured.before.ops.empty()) builder.append(outside(captured.before), -1, DataCollectives::all, false, {});
    for (const PassStep& step : one_forward_one_backward(request_.wanted.pp, m, s)) {
      const bool first = step.micro_batch == 0, last = step.micro_batch + 1 == m;
      if (step.forward) {
        builder.append(first ? forward_first : forward_usual, step.micro_batch, first ? DataCollectives::all : others, false, {.receive = in, .send = out, .bytes = bytes, .forward = true});
      } else {
        builder.append(last ? backward_last : backward_usual, step.micro_batch, last ? DataCollectives::all : others, false, {.receive = out, .send = in, .bytes = bytes, .forward = false});
      }
    }
    if (!captured.after.ops.empty()) builder.append(outside(captured.after), -1, DataCollectives::all, true, {});
    slots_.push_back(builder.slots());
    result_.workload.programs.push_back(builder.finish());
    result_.notes.push_back({.rank = stage.rank, .steps = {}, .tasks = builder.notes()});
  }

  void bind() {
    const Sizes& sizes = request_.wanted;
    lower::Workload& w = result_.workload;
    for (int r = 0; r < sizes.ranks(); ++r) {
      const auto stage = static_cast<std::size_t>(r / (sizes.dp * sizes.tp));
      std::size_t used = 0;
      for (const auto& slot : slots_[stage]) used += slot ? 1 : 0;
      w.ranks.push_back({.program = ProgramId{static_cast<std::uint32_t>(stage)}, .gpu = GpuId{static_cast<std::uint32_t>(r)}, .speed = 1.0, .groups = std::vector<GroupId>(used)});
    }
    const int of_stage = sizes.dp * sizes.tp;
    for (int s = 0; s < sizes.pp; ++s) {
      for (const Role role : {Role::tensor, Role::data}) {
        if (!slots_[static_cast<std::size_t>(s)][static_cast<std::size_t>(role == Role::tensor ? Way::tensor : Way::data)]) continue;
        for (int g = 0; g < (role == Role::tensor ? sizes.dp : sizes.tp); ++g) {
          std::vector<std::pair<std::uint32_t, Way>> group;
          for (const GpuId gpu : members(sizes, role, g)) group.emplace_back(gpu.value + static_cast<std::uint32_t>(s * of_stage), role == Role::tensor ? Way::tensor : Way::data);
          add_group(role == Role::tensor ? "tp" : "dp", group);
        }
      }
      for (int i = 0; s + 1 < sizes.pp && i < of_stage; ++i) {
        const auto a = static_cast<std::uint32_t>(s * of_stage + i), b = a + static_cast<std::uint32_t>(of_stage);
        add_group("pp forward", {{a, Way::forward_out}, {b, Way::forward_in}});
        add_group("pp backward", {{a, Way::backward_in}, {b, Way::backward_out}});
      }
    }
  }

  void add_group(const char* kind, const std::vector<std::pair<std::uint32_t, Way>>& ranks) {
    lower::Workload& w = result_.workload;
    lower::Group group{.kind = kind, .members = {}};
    for (const auto& [rank, way] : ranks) {
      group.members.push_back(RankId{rank});
      w.ranks[rank].groups[slots_[w.ranks[rank].program.value][static_cast<std::size_t>(way)].value()] = GroupId{static_cast<std::uint32_t>(w.groups.size())};
    }
    w.groups.push_back(std::move(group));
  }

  const trace::ImportedRun& run_;
  const std::vector<trace::Dependencies>& d_;
  const Rescale& request_;
  Scaling scaling_;
  std::array<double, trace::kKernelKinds> by_kind_{};
  std::map<int, Stage> stages_;
  std::optional<Scaling::Message> message_;
  std::vector<std::array<std::optional<std::uint16_t>, kWays>> slots_;  // by wanted stage
  Rescaled result_;
};

}  // namespace

Rescaled build_pipeline(const trace::ImportedRun& run, const trace::Matching& matching, const std::vector<trace::Dependencies>& dependencies, const Rescale& request) {
  return PipelineBuilder(run, matching, dependencies, request).build();
}

}  // namespace sgsim::replay

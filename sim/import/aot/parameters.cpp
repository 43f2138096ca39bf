#include "sim/import/aot/parameters.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/graph/tensor_type.h"
#include "sim/import/aot/modules.h"

namespace sgsim::import::aot {
namespace {

struct Use {
  const RawNode* node;
  std::size_t position;
};
using Uses = std::map<std::string, std::vector<Use>, std::less<>>;

Uses uses_of(const RawGraph& raw) {
  Uses uses;
  for (const RawNode& node : raw.nodes) {
    if (node.kind != RawKind::call) continue;
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      if (const auto* reference = std::get_if<RawReference>(&node.args[i].value)) uses[reference->name].push_back({&node, i});
    }
  }
  return uses;
}

/// "weight", "bias" or "buffer" by the argument that the primal (or its cast or view) becomes; empty when that does not tell.
std::string_view role_of(const std::string& name, const Uses& uses, int depth = 0) {
  const auto found = uses.find(name);
  if (found == uses.end() || depth > 3) return "";
  for (const auto& [node, position] : found->second) {
    const std::string_view target = node->target;
    if (target.find("layer_norm") != std::string_view::npos) return position == 2 ? "weight" : "bias";
    if (target.find("batch_norm") != std::string_view::npos) return position == 1 ? "weight" : position == 2 ? "bias" : "buffer";
    if (target.starts_with("aten.addmm")) return position == 0 ? "bias" : "weight";
    if (target.starts_with("aten.convolution.")) return position == 1 ? "weight" : "bias";
    const bool same = target.starts_with("aten._to_copy") || target.starts_with("aten.t.") || target.starts_with("aten.view");
    if (same) {
      const std::string_view role = role_of(node->name, uses, depth + 1);
      if (!role.empty()) return role;
    }
  }
  return "";
}

class Identification {
 public:
  Identification(const Document& document, const std::vector<Segment>& segments) : document_(document), segments_(segments) {
    std::vector<std::string> names;
    for (const RawParameter& parameter : document.params) names.push_back(dotted_path(parameter.name));
    wrapper_ = wrapper_of(names);
    for (const std::string& name : names) names_.push_back(without_wrapper(name, wrapper_));
    for (std::size_t i = 0; i < names_.size(); ++i) by_owner_[owner_of(names_[i])].push_back(i);
  }

  std::vector<std::vector<Primal>> run() {
    std::vector<std::vector<Primal>> all;
    for (std::size_t s = 0; s < segments_.size(); ++s) all.push_back(identify(s));
    return all;
  }

 private:
  bool fits(std::size_t parameter, const RawNode& primal) const {
    const graph::TensorType &a = document_.params[parameter].type, &b = primal.outs[0];
    return a.shape == b.shape && a.dtype == b.dtype;
  }

  bool has_gradient(const Segment& segment, std::size_t primal) const {
    return segment.backward != nullptr && std::holds_alternative<RawReference>(segment.gradients[primal]->value);
  }

  /// Free parameters of this primal's shape in a module that reads it.
  std::optional<std::size_t> by_module(const RawNode& primal, const Uses& uses, const std::set<std::size_t>& taken) const {
    const auto found = uses.find(primal.name);
    const std::string_view role = role_of(primal.name, uses);
    if (found == uses.end() || role == "buffer") return std::nullopt;
    for (const auto& [node, position] : found->second) {
      if (!node->has_module) continue;
      const auto owned = by_owner_.find(without_wrapper(dotted_path(node->module), wrapper_));
      if (owned == by_owner_.end()) continue;
      std::vector<std::size_t> candidates;
      for (const std::size_t parameter : owned->second) {
        if (fits(parameter, primal) && !taken.contains(parameter)) candidates.push_back(parameter);
      }
      if (candidates.empty()) continue;
      for (const std::size_t parameter : candidates) {
        if (candidates.size() > 1 && !role.empty() && names_[parameter].ends_with(role)) return parameter;
      }
      return candidates.front();
    }
    return std::nullopt;
  }

  /// The first parameter of this shape that no region reads yet; else the only one that an earlier region reads too (tied
  /// weights are listed under one of their names).
  std::optional<std::size_t> by_shape(const RawNode& primal, const std::set<std::size_t>& taken) const {
    std::vector<std::size_t> shared;
    for (std::size_t parameter = 0; parameter < names_.size(); ++parameter) {
      if (taken.contains(parameter) || !fits(parameter, primal)) continue;
      if (!seen_.contains(parameter)) return parameter;
      shared.push_back(parameter);
    }
    return shared.size() == 1 ? std::optional(shared.front()) : std::nullopt;
  }

  std::optional<Primal> result_of_earlier(std::size_t s, const RawNode& primal, std::set<std::pair<std::size_t, std::size_t>>& used) const {
    for (std::size_t from = s; from-- > 0;) {
      for (std::size_t output = 0; output < segments_[from].user_outputs.size(); ++output) {
        const auto* reference = std::get_if<RawReference>(&segments_[from].user_outputs[output]->value);
        if (reference == nullptr || used.contains({from, output})) continue;
        const auto node = std::find_if(segments_[from].forward->nodes.begin(), segments_[from].forward->nodes.end(),
                                       [&](const RawNode& candidate) { return candidate.name == reference->name; });
        if (node->outs.size() != 1 || node->outs[0] != primal.outs[0] || !graph::is_floating(primal.outs[0].dtype)) continue;
        used.insert({from, output});
        Primal found;
        found.kind = Primal::Kind::result;
        found.segment = from;
        found.output = output;
        return found;
      }
    }
    return std::nullopt;
  }

  Primal as_parameter(std::size_t parameter, bool gradient, std::set<std::size_t>& taken) {
    taken.insert(parameter);
    seen_.insert(parameter);
    Primal primal;
    primal.kind = gradient ? Primal::Kind::parameter : Primal::Kind::buffer;
    primal.parameter = parameter;
    primal.has_parameter = true;
    primal.source = names_[parameter];
    return primal;
  }

  /// A buffer is a scalar counter or a floating vector (rotary frequencies, running statistics); the rest is the batch.
  static Primal unnamed(const RawNode& primal) {
    const graph::TensorType& type = primal.outs[0];
    Primal result;
    const bool buffer = type.shape.empty() || (graph::is_floating(type.dtype) && type.shape.size() == 1);
    result.kind = buffer ? Primal::Kind::buffer : Primal::Kind::input;
    return result;
  }

  /// Where the capture says what each placeholder is.
  std::optional<Primal> by_source(const Segment& segment, std::size_t i, std::set<std::size_t>& taken) {
    const auto found = segment.forward->primals.find(segment.primals[i]->name);
    if (found == segment.forward->primals.end()) return std::nullopt;
    const std::string source = without_wrapper(dotted_path(found->second), wrapper_);
    const auto named = std::find(names_.begin(), names_.end(), source);
    if (named != names_.end()) {
      const auto parameter = static_cast<std::size_t>(named - names_.begin());
      if (!fits(parameter, *segment.primals[i])) fail(*segment.primals[i], "another shape or type than the parameter " + source);
      return as_parameter(parameter, has_gradient(segment, i), taken);
    }
    if (has_gradient(segment, i)) return std::nullopt;  // a result of an earlier region
    Primal primal = unnamed(*segment.primals[i]);
    if (found->second.starts_with("L['self']")) primal.kind = Primal::Kind::buffer;
    primal.source = source;
    return primal;
  }

  [[noreturn]] void fail(const RawNode& primal, const std::string& found) const {
    throw InputError({.file = document_.file, .where = primal.path, .found = found,
                      .expected = "a parameter of \"params\" or a result of an earlier graph for the placeholder " + primal.name + " (" +
                                  graph::to_text(primal.outs[0]) + ")",
                      .hint = "capture with traces/capture/capture_graph.py"});
  }

  std::vector<Primal> identify(std::size_t s) {
    const Segment& segment = segments_[s];
    const Uses uses = uses_of(*segment.forward);
    std::vector<std::optional<Primal>> found(segment.primals.size());
    std::set<std::size_t> taken;
    std::set<std::pair<std::size_t, std::size_t>> used;
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = by_source(segment, i, taken);
    for (const bool trained : {true, false}) {  // what has a gradient first; a frozen parameter may be left for the others
      for (std::size_t i = 0; i < found.size(); ++i) {
        if (found[i] || has_gradient(segment, i) != trained) continue;
        if (const auto parameter = by_module(*segment.primals[i], uses, taken)) found[i] = as_parameter(*parameter, trained, taken);
      }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) found[i] = result_of_earlier(s, *segment.primals[i], used);
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i]) continue;
      if (!has_gradient(segment, i)) {
        found[i] = unnamed(*segment.primals[i]);
        continue;
      }
      const auto parameter = by_shape(*segment.primals[i], taken);
      if (!parameter) fail(*segment.primals[i], "a gradient for a placeholder that is none of the parameters");
      found[i] = as_parameter(*parameter, true, taken);
    }
    std::vector<Primal> primals;
    for (auto& primal : found) primals.push_back(std::move(*primal));
    return primals;
  }

  const Document& document_;
  const std::vector<Segment>& segments_;
  std::string wrapper_;
  std::vector<std::string> names_;                        // of document_.params, dotted and without wrapper
  std::map<std::string, std::vector<std::size_t>> by_owner_;
  std::set<std::size_t> seen_;                            // parameters that some segment reads
};

}  // namespace

std::vector<std::vector<Primal>> identify_primals(const Document& document, const std::vector<Segment>& segments) {
  return Identification(document, segments).run();
}

}  // namespace sgsim::import::aot

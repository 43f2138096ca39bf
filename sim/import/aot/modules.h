#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sgsim::import::aot {

/// "L['self'].m.model.layers.0.self_attn" -> "m.model.layers.0.self_attn"; also "L['self']._modules['layers'].0",
/// "L['self'].layers[0]" and names of parameters. Attributes that modules, compilers and wrappers add (_modules,
/// _parameters, _buffers, _orig_mod, _fsdp_wrapped_module) are dropped.
[[nodiscard]] std::string dotted_path(std::string_view path);

/// The attribute of a wrapping module ("m." or "module.") that all parameter names start with; empty when they do not.
[[nodiscard]] std::string wrapper_of(const std::vector<std::string>& names);

/// The path without the wrapper.
[[nodiscard]] std::string without_wrapper(std::string path, const std::string& wrapper);

/// "model.norm.weight" -> "model.norm"; "" for a name without a dot.
[[nodiscard]] std::string owner_of(const std::string& parameter);

}  // namespace sgsim::import::aot

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sgsim::scenario {

/// Whether the first bytes of a file are those of a store of sweep results (sweep/store.h).
[[nodiscard]] bool is_result_store(std::string_view head);

/// What a store of sweep results holds, for people: points, results by status, the fastest. Throws InputError when it cannot be read, also while a sweep writes it.
[[nodiscard]] std::string results_text(const std::string& path);

}  // namespace sgsim::scenario

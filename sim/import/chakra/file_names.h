#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sgsim::import::chakra {

/// "dir/x.12.et" -> 12: the number before the endings; -1 where there is none.
[[nodiscard]] std::int32_t rank_of_name(std::string_view path);

/// Files of a folder by run. A run's are "PREFIX.RANK.et" with one prefix; as long as no rank is there twice all are one run, whatever their prefixes.
[[nodiscard]] std::vector<std::vector<std::string>> runs_by_prefix(const std::vector<std::string>& paths);

}  // namespace sgsim::import::chakra

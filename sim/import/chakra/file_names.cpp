#include "sim/import/chakra/file_names.h"

#include <map>
#include <set>

namespace sgsim::import::chakra {
namespace {

/// Without endings and the number before them.
std::string_view stem_of(std::string_view path) {
  for (const std::string_view ending : {".gz", ".et", ".json"}) {
    if (path.ends_with(ending)) path.remove_suffix(ending.size());
  }
  return path;
}

std::string_view prefix_of(std::string_view path) {
  const std::string_view stem = stem_of(path);
  return stem.substr(0, stem.find_last_not_of("0123456789") == std::string_view::npos ? 0 : stem.find_last_not_of("0123456789") + 1);
}

}  // namespace

std::int32_t rank_of_name(std::string_view path) {
  const std::string_view name = stem_of(path.substr(path.find_last_of('/') == std::string_view::npos ? 0 : path.find_last_of('/') + 1));
  std::size_t begin = name.size();
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  if (begin == name.size() || name.size() - begin > 7) return -1;
  return static_cast<std::int32_t>(std::stol(std::string(name.substr(begin))));
}

std::vector<std::vector<std::string>> runs_by_prefix(const std::vector<std::string>& paths) {
  std::map<std::string, std::vector<std::string>, std::less<>> by_prefix;
  std::set<std::int32_t> ranks;
  bool twice = false;
  for (const std::string& path : paths) {
    const std::int32_t rank = rank_of_name(path);
    twice = twice || (rank >= 0 && !ranks.insert(rank).second);
    by_prefix[std::string(prefix_of(path))].push_back(path);
  }
  if (!twice) return {paths};
  std::vector<std::vector<std::string>> runs;
  for (auto& [prefix, files] : by_prefix) runs.push_back(std::move(files));
  return runs;
}

}  // namespace sgsim::import::chakra

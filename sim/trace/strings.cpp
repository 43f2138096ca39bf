#include "sim/trace/strings.h"

namespace sgsim::trace {

StringTable& StringTable::operator=(const StringTable& other) {
  if (this == &other) return *this;
  texts_ = other.texts_;
  index_.clear();
  for (Text i = 0; i < texts_.size(); ++i) index_.emplace(texts_[i], i);
  return *this;
}

Text StringTable::intern(std::string_view text) {
  if (const auto found = index_.find(text); found != index_.end()) return found->second;
  const auto id = static_cast<Text>(texts_.size());
  texts_.emplace_back(text);
  index_.emplace(texts_.back(), id);
  return id;
}

}  // namespace sgsim::trace

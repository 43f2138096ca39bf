#include "sim/trace/strings.h"

#include <cstring>

namespace sgsim::trace {
namespace {

constexpr std::size_t kFewest = 256;  // slots

// Eight bytes at a time, multiplied and folded; only for this table, never written to a file.
std::uint32_t hash_of(std::string_view text) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  std::uint64_t hash = text.size() * kOdd;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 32;
  };
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t word = 0;
  for (; left >= 8; left -= 8, at += 8) {
    std::memcpy(&word, at, 8);
    mix(word);
  }
  if (left > 0) {
    word = 0;
    std::memcpy(&word, at, left);
    mix(word);
  }
  return static_cast<std::uint32_t>(hash ^ (hash >> 29));
}

}  // namespace

Text StringTable::intern(std::string_view text) {
  if (text.empty()) {
    if (texts_.empty()) texts_.emplace_back();
    return 0;
  }
  if (2 * texts_.size() >= slots_.size()) grow();
  const std::uint32_t hash = hash_of(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash & mask;
  for (; slots_[i].text != 0; i = (i + 1) & mask) {
    if (slots_[i].hash == hash && texts_[slots_[i].text] == text) return slots_[i].text;
  }
  const auto id = static_cast<Text>(texts_.size());
  slots_[i] = {hash, id};
  texts_.emplace_back(text);
  return id;
}

void StringTable::grow() {
  std::vector<Slot> larger(slots_.empty() ? kFewest : 2 * slots_.size());
  const std::size_t mask = larger.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.text == 0) continue;
    std::size_t i = slot.hash & mask;
    while (larger[i].text != 0) i = (i + 1) & mask;
    larger[i] = slot;
  }
  slots_.swap(larger);
}

}  // namespace sgsim::trace

#include "sim/scenario/content_hash.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

namespace sgsim::scenario {
namespace {

constexpr std::uint64_t kOffset = 14695981039346656037ULL, kPrime = 1099511628211ULL;

std::uint64_t mixed(std::uint64_t x) {  // the finaliser of SplitMix64 (Steele, Lea, Flood 2014)
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

std::string content_hash(std::string_view content) {
  std::uint64_t hash = kOffset ^ mixed(content.size());
  while (!content.empty()) {
    std::uint64_t word = 0;
    const std::size_t take = content.size() < sizeof word ? content.size() : sizeof word;
    std::memcpy(&word, content.data(), take);
    hash = (hash ^ mixed(word)) * kPrime;
    content.remove_prefix(take);
  }
  return fmt::format("{:016x}", mixed(hash));
}

}  // namespace sgsim::scenario

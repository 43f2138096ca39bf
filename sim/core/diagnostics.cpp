#include "sim/core/diagnostics.h"

namespace sgsim {

void Diagnostics::add(std::string_view key, Severity severity, std::string_view example, std::uint64_t count) {
  auto it = entries_.find(key);
  if (it == entries_.end()) {
    entries_.emplace(std::string(key), Diagnostic{severity, count, std::string(example)});
    return;
  }
  it->second.count += count;
}

void Diagnostics::merge(const Diagnostics& other) {
  for (const auto& [key, diagnostic] : other.entries_) add(key, diagnostic.severity, diagnostic.example, diagnostic.count);
}

}  // namespace sgsim

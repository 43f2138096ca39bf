#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/export/export.h"

namespace sgsim::exporting {

/// Text that grows line by line, with what cannot be said as comments at its head.
class Lines {
 public:
  explicit Lines(std::string comment) : comment_(std::move(comment)) {}

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) { text_ += fmt::format(format, std::forward<Args>(args)...) + "\n"; }
  void gap(std::string text) { gaps_.push_back(std::move(text)); }
  [[nodiscard]] Exported finish(std::string file_name) {
    std::string head;
    for (const std::string& g : gaps_) head += comment_ + " not expressed: " + g + "\n";
    return {.file_name = std::move(file_name), .text = head + text_, .gaps = std::move(gaps_)};
  }

 private:
  std::string comment_, text_;
  std::vector<std::string> gaps_;
};

/// The file of a program that cannot train a model without layers of attention and feed-forward.
[[nodiscard]] inline Exported no_transformer(const std::string& who_trains, std::string file_name) {
  Lines out("#");
  out.gap("the model, which is no transformer: " + who_trains + " transformers only; nothing is written");
  return out.finish(std::move(file_name));
}

/// Whether all chunks of a pipeline have the same number of layers.
[[nodiscard]] inline bool equal_chunks(const std::vector<int>& layers) {
  return std::adjacent_find(layers.begin(), layers.end(), std::not_equal_to<>()) == layers.end();
}

[[nodiscard]] inline std::string_view recompute_word(plan::Recompute r) {
  return r == plan::Recompute::none ? "none" : r == plan::Recompute::selective ? "selective" : "full";
}

}  // namespace sgsim::exporting

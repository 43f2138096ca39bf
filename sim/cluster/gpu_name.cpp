#include "sim/cluster/gpu_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace sgsim::cluster {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

/// "NVIDIA H100 80GB HBM3" -> NVIDIA, H100, 80GB, HBM3.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (is_digit(c) || is_letter(c)) {
      words.back() += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

struct Parts {
  std::string model, board, memory;
};

/// Boards by how their words begin: SXM4 and SXM5 differ with the model only.
constexpr std::array<std::string_view, 3> kBoards{"SXM", "PCI", "NVL"};

Parts parts_of(std::string_view name) {
  Parts parts;
  for (const std::string& word : words_of(name)) {
    const std::size_t letters = static_cast<std::size_t>(std::find_if(word.begin(), word.end(), is_digit) - word.begin());
    const auto board = std::find_if(kBoards.begin(), kBoards.end(), [&](std::string_view b) { return word.starts_with(b); });
    if (board != kBoards.end()) {
      parts.board = *board;
    } else if (letters == 0 && word.ends_with("GB")) {
      parts.memory = word;
    } else if (letters > 0 && letters <= 4 && word.size() >= letters + 2 && !word.starts_with("HBM") && parts.model.empty()) {
      parts.model = word;
    }
  }
  if (parts.board.empty() && parts.model.starts_with("GH")) parts.board = "GH";
  // Drivers call the SXM boards of these "H100 80GB HBM3" and "H200", and name the board of the others.
  if (parts.board.empty() && (parts.model == "H200" || (parts.model == "H100" && name.find("HBM3") != std::string_view::npos))) parts.board = "SXM";
  return parts;
}

bool agree(const std::string& a, const std::string& b) { return a.empty() || b.empty() || a == b; }

}  // namespace

bool may_be_one_gpu(std::string_view a, std::string_view b) {
  const Parts x = parts_of(a), y = parts_of(b);
  return !x.model.empty() && x.model == y.model && agree(x.board, y.board) && agree(x.memory, y.memory);
}

}  // namespace sgsim::cluster

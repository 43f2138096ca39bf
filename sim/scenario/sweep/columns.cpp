#include "sim/scenario/sweep/columns.h"

#include <iterator>
#include <nlohmann/json.hpp>

namespace sgsim::scenario {

std::vector<std::optional<double>> figures_of(const std::string& report) {
  std::vector<std::optional<double>> figures(std::size(kFigureColumns));
  if (report.empty()) return figures;
  const nlohmann::json tree = nlohmann::json::parse(report);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const auto figure = tree.find(kFigureColumns[i]);
    if (figure != tree.end() && figure->is_number()) figures[i] = figure->get<double>();
  }
  return figures;
}

}  // namespace sgsim::scenario

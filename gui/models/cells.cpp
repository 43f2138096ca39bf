#include "gui/models/cells.h"

#include "sim/scenario/text_table.h"

namespace sgsim::gui {

Cell countCell(std::int64_t count) { return {qstr(scenario::grouped(count)), static_cast<double>(count)}; }

QString changeText(double share) { return (share > 0 ? QStringLiteral("+") : QString()) + percentText(share); }

Cell cellOr(const std::optional<double>& value, QString (*words)(double)) { return value ? Cell(words(*value), *value) : Cell(QStringLiteral("-"), 1e300); }

Cell longCell(const QString& words) {
  Cell cell(words);
  cell.tip = words;
  return cell;
}

}  // namespace sgsim::gui

#include "gui/models/table_model.h"

#include <algorithm>

#include "sim/scenario/text_table.h"

namespace sgsim::gui {

Table tableOf(const QString& title, const QStringList& columns, const QString& numeric) {
  Q_ASSERT(columns.size() == numeric.size());
  return {.title = title, .columns = columns, .numeric = numeric, .rows = {}, .hint = {}};
}

Table withoutEmptyColumns(const Table& table, int first) {
  Table kept = tableOf(table.title);
  kept.hint = table.hint;
  kept.rows.resize(table.rows.size());
  for (qsizetype c = 0; c < table.columns.size(); ++c) {
    const auto at = static_cast<std::size_t>(c);
    const auto said = [at](const std::vector<Cell>& row) { return at < row.size() && !row[at].text.isEmpty() && row[at].text != QLatin1String("-"); };
    if (c >= first && !table.rows.empty() && !std::any_of(table.rows.begin(), table.rows.end(), said)) continue;
    kept.columns << table.columns[c];
    kept.numeric += table.numeric[c];
    for (std::size_t r = 0; r < table.rows.size(); ++r) kept.rows[r].push_back(at < table.rows[r].size() ? table.rows[r][at] : Cell());
  }
  return kept;
}

void TableModel::setTable(Table table) {
  beginResetModel();
  table_ = std::move(table);
  endResetModel();
}

int TableModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(table_.rows.size()); }
int TableModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(table_.columns.size()); }

QVariant TableModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const auto& row = table_.rows[static_cast<std::size_t>(index.row())];
  const auto column = static_cast<std::size_t>(index.column());
  if (column >= row.size()) return {};
  const Cell& cell = row[column];
  switch (role) {
    case Qt::DisplayRole: return cell.text;
    case Qt::ToolTipRole: return !cell.tip.isEmpty() ? QVariant(cell.tip) : cell.text.size() > 16 ? QVariant(cell.text) : QVariant();
    case kSortRole: return cell.sort.isValid() ? cell.sort : QVariant(cell.text);
    case Qt::TextAlignmentRole: return static_cast<int>(Qt::AlignVCenter | (index.column() < table_.numeric.size() && table_.numeric[index.column()] == QLatin1Char('r') ? Qt::AlignRight : Qt::AlignLeft));
    default: return {};
  }
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= table_.columns.size()) return {};
  if (role == Qt::DisplayRole) return table_.columns[section];
  if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignVCenter | (section < table_.numeric.size() && table_.numeric[section] == QLatin1Char('r') ? Qt::AlignRight : Qt::AlignLeft));
  return {};
}

QString csvLine(const QStringList& cells) {
  QStringList quoted;
  for (QString cell : cells) {
    if (cell.contains(QLatin1Char(',')) || cell.contains(QLatin1Char('"')) || cell.contains(QLatin1Char('\n'))) {
      cell.replace(QLatin1Char('"'), QLatin1String("\"\""));
      cell = QLatin1Char('"') + cell + QLatin1Char('"');
    }
    quoted << cell;
  }
  return quoted.join(QLatin1Char(',')) + QLatin1String("\r\n");
}

QString csvOf(const Table& table) {
  QString out = csvLine(table.columns);
  for (const auto& row : table.rows) {
    QStringList cells;
    // Numbers in base units: what is shown is rounded.
    for (const Cell& cell : row) cells << (cell.sort.typeId() == QMetaType::Double ? QString::number(cell.sort.toDouble(), 'g', 12) : cell.text);
    out += csvLine(cells);
  }
  return out;
}

QString textOf(const QAbstractItemModel& model) {
  std::string aligns;
  for (int c = 0; c < model.columnCount(); ++c) {
    const int a = model.headerData(c, Qt::Horizontal, Qt::TextAlignmentRole).toInt();
    aligns += (a & Qt::AlignRight) != 0 ? 'r' : 'l';
  }
  if (aligns.empty()) return {};
  scenario::TextTable table(aligns, 0);
  std::vector<std::string> cells;
  for (int c = 0; c < model.columnCount(); ++c) cells.push_back(model.headerData(c, Qt::Horizontal, Qt::DisplayRole).toString().toStdString());
  table.row(cells);
  for (int r = 0; r < model.rowCount(); ++r) {
    cells.clear();
    for (int c = 0; c < model.columnCount(); ++c) cells.push_back(model.index(r, c).data().toString().toStdString());
    table.row(cells);
  }
  return QString::fromStdString(table.text());
}

QString htmlOf(const Table& table) {
  QString out = QStringLiteral("<table%1><thead><tr>").arg(table.columns.size() > 7 ? QStringLiteral(" class=\"wide\"") : QString());
  const auto align = [&](int c) { return c < table.numeric.size() && table.numeric[c] == QLatin1Char('r') ? QStringLiteral(" class=\"n\"") : QString(); };
  for (int c = 0; c < table.columns.size(); ++c) out += QStringLiteral("<th%1>%2</th>").arg(align(c), table.columns[c].toHtmlEscaped());
  out += QStringLiteral("</tr></thead><tbody>");
  for (const auto& row : table.rows) {
    out += QStringLiteral("<tr>");
    for (std::size_t c = 0; c < row.size(); ++c) out += QStringLiteral("<td%1>%2</td>").arg(align(static_cast<int>(c)), row[c].text.toHtmlEscaped());
    out += QStringLiteral("</tr>\n");
  }
  return out + QStringLiteral("</tbody></table>\n");
}

}  // namespace sgsim::gui

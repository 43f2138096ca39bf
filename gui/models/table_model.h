#pragma once

#include <QAbstractTableModel>
#include <QString>
#include <QStringList>
#include <QVariant>
#include <vector>

namespace sgsim::gui {

/// A cell: what is shown, and what it is sorted by where that differs.
struct Cell {
  QString text;
  QVariant sort;      // invalid: the text
  QString tip;
  Cell() = default;
  Cell(QString t) : text(std::move(t)) {}  // NOLINT: cells are written as texts
  Cell(QString t, double s, QString hint = {}) : text(std::move(t)), sort(s), tip(std::move(hint)) {}
  bool operator==(const Cell&) const = default;
};

struct Table {
  QString title;
  QStringList columns;
  QString numeric;    // one letter a column: 'l' text, 'r' number (right-aligned)
  std::vector<std::vector<Cell>> rows;
  QString hint = {};  // what can be done with it on a screen; exports leave it out
};

/// A table without rows yet; without columns it is a message.
[[nodiscard]] Table tableOf(const QString& title, const QStringList& columns = {}, const QString& numeric = {});

/// Without the columns, from `first` on, in which nothing stands in any row.
[[nodiscard]] Table withoutEmptyColumns(const Table& table, int first = 0);

/// Values as a table; no widgets.
class TableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  static constexpr int kSortRole = Qt::UserRole;
  explicit TableModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void setTable(Table table);
  [[nodiscard]] const Table& table() const { return table_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  Table table_;
};

/// One line of RFC 4180, with its line end.
[[nodiscard]] QString csvLine(const QStringList& cells);
[[nodiscard]] QString csvOf(const Table& table);
/// Aligned columns, as the CLI prints them; for tests and the clipboard.
[[nodiscard]] QString textOf(const QAbstractItemModel& model);
[[nodiscard]] QString htmlOf(const Table& table);

}  // namespace sgsim::gui

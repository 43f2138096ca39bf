#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QWidget>

#include "gui/models/table_model.h"

namespace sgsim::gui {

/// A table with its title, sorting by values, an optional filter, and copying as text (Ctrl+C: the selected rows, or all).
class TableView : public QWidget {
  Q_OBJECT
 public:
  explicit TableView(const QString& accessible_name, bool filter = false, QWidget* parent = nullptr);
  void setTable(Table table);
  [[nodiscard]] const Table& table() const { return model_->table(); }
  [[nodiscard]] QTableView* view() const { return view_; }
  [[nodiscard]] QLineEdit* filter() const { return filter_; }
  [[nodiscard]] const QSortFilterProxyModel* sorted() const { return proxy_; }
  /// Row of the table (not of the sorted view) that is current; -1 without.
  [[nodiscard]] int currentRow() const;
  void selectRow(int row);
  [[nodiscard]] QString selectionText() const;
  /// As tall as its rows, up to `most` of them.
  void fitRows(int most);

 Q_SIGNALS:
  void rowSelected(int row);
  void rowOpened(int row);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void arrange();
  int arrangeFor(int room);
  TableModel* model_;
  QSortFilterProxyModel* proxy_;
  QTableView* view_;
  QLabel* title_;
  QLineEdit* filter_ = nullptr;
  std::vector<int> widths_;   // that the columns ask for
  int most_rows_ = 0;         // as tall as its rows, up to so many; 0: as tall as its place
};

}  // namespace sgsim::gui

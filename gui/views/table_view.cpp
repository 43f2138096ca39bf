#include "gui/views/table_view.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QVBoxLayout>
#include <tuple>

namespace sgsim::gui {

TableView::TableView(const QString& accessible_name, bool filter, QWidget* parent)
    : QWidget(parent), model_(new TableModel(this)), proxy_(new QSortFilterProxyModel(this)), view_(new QTableView(this)), title_(new QLabel(this)) {
  proxy_->setSourceModel(model_);
  proxy_->setSortRole(TableModel::kSortRole);
  proxy_->setFilterKeyColumn(-1);
  proxy_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  view_->setModel(proxy_);
  view_->setSortingEnabled(true);
  view_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  view_->horizontalHeader()->setSortIndicatorClearable(true);
  view_->horizontalHeader()->setHighlightSections(false);
  view_->setSelectionBehavior(QAbstractItemView::SelectRows);
  view_->setAlternatingRowColors(true);
  view_->setShowGrid(false);
  view_->setWordWrap(false);
  view_->verticalHeader()->hide();
  view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  view_->setTabKeyNavigation(false);
  view_->setCornerButtonEnabled(false);
  view_->setFrameShape(QFrame::NoFrame);
  view_->setAccessibleName(accessible_name);
  QFont bold = font();
  bold.setBold(true);
  title_->setFont(bold);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 6, 8, 6);
  layout->setSpacing(4);
  layout->addWidget(title_);
  if (filter) {
    filter_ = new QLineEdit(this);
    filter_->setPlaceholderText(tr("Filter rows"));
    filter_->setAccessibleName(tr("Filter of %1").arg(accessible_name));
    filter_->setClearButtonEnabled(true);
    layout->addWidget(filter_);
    connect(filter_, &QLineEdit::textChanged, proxy_, &QSortFilterProxyModel::setFilterFixedString);
  }
  layout->addWidget(view_, 1);
  auto* copy = new QAction(tr("Copy as text"), this);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  addAction(copy);
  view_->addAction(copy);
  view_->setContextMenuPolicy(Qt::ActionsContextMenu);
  connect(copy, &QAction::triggered, this, [this] { QApplication::clipboard()->setText(selectionText()); });
  for (const auto& [words, key, order] : {std::tuple(tr("Sort by this column, smallest first"), Qt::Key_Up, Qt::AscendingOrder), std::tuple(tr("Sort by this column, largest first"), Qt::Key_Down, Qt::DescendingOrder)}) {
    auto* sort = new QAction(words, this);
    sort->setShortcut(QKeySequence(Qt::ALT | key));
    sort->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    view_->addAction(sort);
    connect(sort, &QAction::triggered, this, [this, order = order] { view_->sortByColumn(std::max(0, view_->currentIndex().column()), order); });
  }
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] { Q_EMIT rowSelected(currentRow()); });
  connect(view_, &QTableView::activated, this, [this] { Q_EMIT rowOpened(currentRow()); });
}

void TableView::setTable(Table table) {
  view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  title_->setText(table.hint.isEmpty() ? table.title : table.title + QStringLiteral(": ") + table.hint);
  title_->setVisible(!table.title.isEmpty());
  model_->setTable(std::move(table));
  view_->resizeColumnsToContents();
  const int columns = model_->columnCount();
  for (int c = 0; c < columns; ++c) {
    const int most = fontMetrics().averageCharWidth() * (columns > 4 ? 46 : 64);
    if (view_->columnWidth(c) > most) view_->setColumnWidth(c, most);
    view_->setColumnWidth(c, view_->columnWidth(c) + 8);
  }
  const bool text_last = columns > 0 && model_->table().numeric.endsWith(QLatin1Char('l'));
  view_->horizontalHeader()->setStretchLastSection(text_last);
  if (columns > 0) view_->horizontalHeader()->setSectionResizeMode(0, text_last ? QHeaderView::Interactive : QHeaderView::Stretch);
}

int TableView::currentRow() const {
  const QModelIndex index = view_->currentIndex();
  return index.isValid() ? proxy_->mapToSource(index).row() : -1;
}

void TableView::selectRow(int row) {
  const QModelIndex index = proxy_->mapFromSource(model_->index(row, 0));
  if (!index.isValid()) return;
  view_->setCurrentIndex(index);
  view_->selectRow(index.row());
}

QString TableView::selectionText() const {
  const auto rows = view_->selectionModel()->selectedRows();
  if (rows.size() < 2) return textOf(*proxy_);
  Table part{.title = {}, .columns = model_->table().columns, .numeric = model_->table().numeric, .rows = {}};
  for (const QModelIndex& row : rows) part.rows.push_back(model_->table().rows[static_cast<std::size_t>(proxy_->mapToSource(row).row())]);
  TableModel model;
  model.setTable(std::move(part));
  return textOf(model);
}

void TableView::fitRows(int most) {
  const int rows = std::min(most, std::max(1, model_->rowCount()));
  const int height = view_->horizontalHeader()->sizeHint().height() + rows * view_->verticalHeader()->defaultSectionSize() + 2 * view_->frameWidth();
  view_->setFixedHeight(height);
  view_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  view_->setVerticalScrollBarPolicy(model_->rowCount() <= most ? Qt::ScrollBarAlwaysOff : Qt::ScrollBarAsNeeded);
}

}  // namespace sgsim::gui

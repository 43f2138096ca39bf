#include "gui/views/table_view.h"

#include <QEvent>
#include <QStyledItemDelegate>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QVBoxLayout>
#include <tuple>

namespace sgsim::gui {
namespace {

/// Long names of kernels and runs go on in a next line after an underscore or a slash.
QString breakable(QString text) {
  if (text.contains(QLatin1Char(' '))) return text;  // has places of its own; "TFLOP/s" is none
  constexpr QChar kBreak(0x200B);
  text.replace(QLatin1Char('_'), QStringLiteral("_") + kBreak);
  return text.replace(QLatin1Char('/'), QStringLiteral("/") + kBreak);
}

class Words : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  [[nodiscard]] QString displayText(const QVariant& value, const QLocale&) const override { return breakable(value.toString()); }
};

}  // namespace


TableView::TableView(const QString& accessible_name, bool filter, QWidget* parent)
    : QWidget(parent), model_(new TableModel(this)), proxy_(new QSortFilterProxyModel(this)), view_(new QTableView(this)), title_(new QLabel(this)) {
  proxy_->setSourceModel(model_);
  proxy_->setSortRole(TableModel::kSortRole);
  proxy_->setFilterKeyColumn(-1);
  proxy_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  view_->setModel(proxy_);
  view_->setItemDelegate(new Words(view_));
  view_->installEventFilter(this);
  view_->setSortingEnabled(true);
  view_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  view_->horizontalHeader()->setSortIndicatorClearable(true);
  view_->horizontalHeader()->setHighlightSections(false);
  view_->setSelectionBehavior(QAbstractItemView::SelectRows);
  view_->setAlternatingRowColors(true);
  view_->setShowGrid(false);
  view_->setWordWrap(true);
  view_->verticalHeader()->hide();
  view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  view_->setTabKeyNavigation(false);
  view_->setCornerButtonEnabled(false);
  view_->setFrameShape(QFrame::NoFrame);
  view_->setAccessibleName(accessible_name);
  QFont bold = font();
  bold.setBold(true);
  title_->setFont(bold);
  title_->setWordWrap(true);
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
  // Sorting and filtering bring other rows to a place.
  connect(proxy_, &QAbstractItemModel::layoutChanged, this, &TableView::arrange);
  connect(proxy_, &QAbstractItemModel::rowsInserted, this, &TableView::arrange);
  connect(proxy_, &QAbstractItemModel::rowsRemoved, this, &TableView::arrange);
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] { Q_EMIT rowSelected(currentRow()); });
  connect(view_, &QTableView::activated, this, [this] { Q_EMIT rowOpened(currentRow()); });
}

void TableView::setTable(Table table) {
  view_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
  title_->setText(table.hint.isEmpty() ? table.title : table.title + QStringLiteral(": ") + table.hint);
  title_->setVisible(!table.title.isEmpty());
  model_->setTable(std::move(table));
  view_->setWordWrap(false);  // columns ask for whole texts
  view_->resizeColumnsToContents();
  view_->setWordWrap(true);
  const int columns = model_->columnCount();
  widths_.assign(static_cast<std::size_t>(columns), 0);
  for (int c = 0; c < columns; ++c) widths_[static_cast<std::size_t>(c)] = view_->columnWidth(c) + 8;
  arrange();
}

bool TableView::eventFilter(QObject* watched, QEvent* event) {
  if (watched == view_ && (event->type() == QEvent::Resize || event->type() == QEvent::FontChange)) arrange();
  return QWidget::eventFilter(watched, event);
}

/// Columns share the width that there is: numbers have what they need, texts what is left; a text that needs more goes on in a
/// next line. Only where that leaves too little for a text, the table scrolls.
void TableView::arrange() {
  const int columns = model_->columnCount();
  if (columns == 0 || widths_.size() != static_cast<std::size_t>(columns)) return;
  // First as if all rows had room; where they do not, beside the scroll bar.
  const QSize whole = view_->maximumViewportSize();
  if (arrangeFor(whole.width()) > whole.height() && most_rows_ == 0) arrangeFor(whole.width() - view_->style()->pixelMetric(QStyle::PM_ScrollBarExtent, nullptr, view_));
  if (most_rows_ == 0) return;
  const int line = view_->verticalHeader()->defaultSectionSize(), rows = std::min(most_rows_, proxy_->rowCount());
  if (proxy_->rowCount() > rows) arrangeFor(whole.width() - view_->style()->pixelMetric(QStyle::PM_ScrollBarExtent, nullptr, view_));
  int height = view_->horizontalHeader()->sizeHint().height() + 2 * view_->frameWidth() + (rows == 0 ? line : 0);
  for (int r = 0; r < rows; ++r) height += view_->rowHeight(r);
  view_->setFixedHeight(height);
}

/// Gives columns and rows their sizes for a viewport of that width; the height that all rows take.
int TableView::arrangeFor(int room) {
  const int columns = model_->columnCount();
  const QString& align = model_->table().numeric;
  const int letter = fontMetrics().averageCharWidth();
  const auto text = [&](int c) { return c < align.size() && align[c] == QLatin1Char('l'); };
  // Texts shrink together, the widest first, no further than this.
  const int least = letter * 16;
  std::vector<int> widths = widths_;
  int sum = 0;
  for (const int w : widths) sum += w;
  while (sum > room) {
    int widest = -1, second = least;
    for (int c = 0; c < columns; ++c) {
      const int w = widths[static_cast<std::size_t>(c)];
      if (text(c) && w > least && (widest < 0 || w > widths[static_cast<std::size_t>(widest)])) widest = c;
    }
    if (widest < 0) break;
    for (int c = 0; c < columns; ++c) {
      if (c != widest && text(c)) second = std::max(second, std::min(widths[static_cast<std::size_t>(c)], widths[static_cast<std::size_t>(widest)] - 1));
    }
    const int cut = std::min(sum - room, widths[static_cast<std::size_t>(widest)] - second);
    widths[static_cast<std::size_t>(widest)] -= cut;
    sum -= cut;
  }
  // What is left over goes to the last text, or to the first column.
  if (sum < room) widths[static_cast<std::size_t>(text(columns - 1) ? columns - 1 : 0)] += room - sum;
  for (int c = 0; c < columns; ++c) view_->setColumnWidth(c, widths[static_cast<std::size_t>(c)]);
  const int line = view_->verticalHeader()->defaultSectionSize();
  constexpr int kMostWrapped = 3000;  // rows; more of them keep one line
  int all = 0;
  for (int r = 0; r < proxy_->rowCount(); ++r) {
    int height = line;
    for (int c = 0; c < columns && proxy_->rowCount() <= kMostWrapped; ++c) {
      if (!text(c)) continue;
      const int inside = widths[static_cast<std::size_t>(c)] - 7;  // Qt's margins and the grid
      const QString words = breakable(proxy_->index(r, c).data().toString());
      if (fontMetrics().horizontalAdvance(words) <= inside) continue;
      height = std::max(height, std::min(4 * line, fontMetrics().boundingRect(QRect(0, 0, std::max(20, inside), 10000), Qt::TextWordWrap, words).height() + 8));
    }
    if (view_->rowHeight(r) != height) view_->setRowHeight(r, height);
    all += height;
  }
  return all;
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
  most_rows_ = most;
  view_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  view_->setVerticalScrollBarPolicy(model_->rowCount() <= most ? Qt::ScrollBarAlwaysOff : Qt::ScrollBarAsNeeded);
  arrange();
}

}  // namespace sgsim::gui

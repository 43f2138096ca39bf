#include "gui/views/page_layout.h"

#include <QVBoxLayout>

#include "gui/views/flow_layout.h"

namespace sgsim::gui {
namespace {

constexpr int kSpace = 6;  // pixels between controls; a page's own layout has none

}  // namespace

QLayout* bars(std::initializer_list<QLayout*> rows) {
  auto* column = new QVBoxLayout;
  column->setSpacing(0);
  for (QLayout* row : rows) column->addLayout(row);
  return column;
}

QLayout* controlBar(std::initializer_list<QWidget*> controls) {
  auto* bar = new FlowLayout;
  bar->setContentsMargins(8, 6, 8, 4);
  bar->setSpacing(kSpace);
  for (QWidget* control : controls) {
    if (control == nullptr) {
      bar->addItem(new QSpacerItem(10, 0));
    } else {
      bar->addWidget(control);
    }
  }
  return bar;
}

QLabel* caption(const QString& text, QWidget* control) {
  auto* label = new QLabel(text, control->parentWidget());
  label->setBuddy(control);
  return label;
}

QSplitter* splitter(Qt::Orientation orientation, std::initializer_list<Share> shares) {
  auto* parts = new QSplitter(orientation);
  parts->setChildrenCollapsible(false);
  QList<int> sizes;
  for (const Share& share : shares) {
    parts->addWidget(share.widget);
    parts->setStretchFactor(parts->count() - 1, share.part);
    sizes << share.part * 1000;  // in proportion, whatever the widgets ask for
  }
  parts->setSizes(sizes);
  return parts;
}

void fillPage(QWidget* page, QLayout* bar, QWidget* views) {
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  if (bar != nullptr) column->addLayout(bar);
  column->addWidget(views, 1);
}

}  // namespace sgsim::gui

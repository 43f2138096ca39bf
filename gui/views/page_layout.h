#pragma once

#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>

/// How every page is put together: a bar of controls, and below it views that share the rest.
namespace sgsim::gui {

/// Controls from left to right, in as many lines as they need; a null widget is a gap.
[[nodiscard]] QLayout* controlBar(std::initializer_list<QWidget*> controls);
/// Bars below each other.
[[nodiscard]] QLayout* bars(std::initializer_list<QLayout*> rows);
/// A label that belongs to the control after it (its access key goes there).
[[nodiscard]] QLabel* caption(const QString& text, QWidget* control);

struct Share {
  QWidget* widget = nullptr;
  int part = 1;      // of the room
};
[[nodiscard]] QSplitter* splitter(Qt::Orientation orientation, std::initializer_list<Share> shares);

/// Lays the page out; `bar` may be nothing.
void fillPage(QWidget* page, QLayout* bar, QWidget* views);

}  // namespace sgsim::gui

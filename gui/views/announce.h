#pragma once

#include <QString>

class QWidget;

namespace sgsim::gui {

/// Tells screen readers what is selected in a view that draws itself.
void announce(QWidget* view, const QString& what);

}  // namespace sgsim::gui

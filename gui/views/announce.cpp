#include "gui/views/announce.h"

#include <QAccessible>
#include <QWidget>

namespace sgsim::gui {

void announce(QWidget* view, const QString& what) {
  QString line = what;
  view->setAccessibleDescription(line.replace(QLatin1Char('\n'), QLatin1String(", ")));
  QAccessibleEvent event(view, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&event);
}

}  // namespace sgsim::gui

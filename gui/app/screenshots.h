#pragma once

#include <QString>

namespace sgsim::gui {

class MainWindow;

/// Simulates what the window holds, fills every view and writes a picture of each into `folder`: light, the overview and the
/// timeline dark too, the empty and the error states. 0 on success.
int takeScreenshots(MainWindow& window, const QString& folder);

}  // namespace sgsim::gui

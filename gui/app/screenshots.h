#pragma once

#include <QString>

namespace sgsim::gui {

class MainWindow;

/// Makes the folder; why nothing can be written into it, empty where something can.
[[nodiscard]] QString whyNotInto(const QString& folder);

/// Simulates what the window holds, fills every view and writes a picture of each into `folder`, also of empty and of error states:
/// NAME.png in the window's theme and NAME-dark.png (or -light) of the very same state in the other. 0 on success.
int takeScreenshots(MainWindow& window, const QString& folder);

}  // namespace sgsim::gui

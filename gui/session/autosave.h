#pragma once

#include <QDateTime>
#include <QString>
#include <optional>
#include <string>

namespace sgsim::gui {

/// Unsaved work of one scenario file (or of the one without a file), kept beside the settings until it is saved or thrown away.
struct Unsaved {
  std::string text;
  QString path;      // of the file; empty: never saved
  QString folder, name;
  QDateTime when;
};

/// Folder of the autosaves; tests set SGSIM_PLANNER_STATE to one of their own.
[[nodiscard]] QString stateFolder();
/// Written whole or not at all; failing to write is told by false (the window shows it), never thrown.
[[nodiscard]] bool keepUnsaved(const Unsaved& work);
void dropUnsaved(const QString& path);
[[nodiscard]] std::optional<Unsaved> unsavedOf(const QString& path);
/// The newest of all: what was open when the program ended.
[[nodiscard]] std::optional<Unsaved> newestUnsaved();

/// Files opened lately, newest first; gone ones are left out.
[[nodiscard]] QStringList recentFiles();
void noteRecent(const QString& path);

}  // namespace sgsim::gui

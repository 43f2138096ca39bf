#pragma once

#include <QDateTime>
#include <QString>
#include <QVariant>
#include <optional>
#include <string>
#include <vector>

namespace sgsim::gui {

/// Unsaved work on one scenario, kept beside the settings until it is saved or thrown away.
struct Unsaved {
  std::string text;
  QString path;      // of the file; empty: a draft, which never had one
  QString draft;     // tells drafts apart
  QString folder, name;
  QDateTime when = {};
  [[nodiscard]] QString key() const { return path.isEmpty() ? draft : path; }
};

/// Folder of the autosaves; tests set SGSIM_PLANNER_STATE to one of their own.
[[nodiscard]] QString stateFolder();
/// Written whole or not at all; failing to write is told by false (the window shows it), never thrown.
[[nodiscard]] bool keepUnsaved(const Unsaved& work);
void dropUnsaved(const QString& key);
[[nodiscard]] std::optional<Unsaved> unsavedOf(const QString& key);
/// All of it, newest first: the first one was open when the program ended.
[[nodiscard]] std::vector<Unsaved> allUnsaved();

/// Files opened lately, newest first; gone ones are left out.
[[nodiscard]] QStringList recentFiles();
void noteRecent(const QString& path);

/// A choice that the program remembers: "theme", "font", "geometry".
[[nodiscard]] QVariant remembered(const QString& name);
void remember(const QString& name, const QVariant& value);

}  // namespace sgsim::gui

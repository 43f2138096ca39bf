#include "gui/session/autosave.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <QSettings>
#include <QStandardPaths>
#include <algorithm>

namespace sgsim::gui {
namespace {

constexpr int kMostRecent = 12;

QString fileOf(const QString& path) {
  const QByteArray hash = QCryptographicHash::hash(path.toUtf8(), QCryptographicHash::Sha1).toHex().left(16);
  return stateFolder() + QStringLiteral("/unsaved-%1.json").arg(QString::fromLatin1(hash));
}

std::optional<Unsaved> read(const QString& file) {
  QFile in(file);
  if (!in.open(QIODevice::ReadOnly)) return std::nullopt;
  const QJsonObject o = QJsonDocument::fromJson(in.readAll()).object();
  if (!o.contains(QStringLiteral("text"))) return std::nullopt;
  return Unsaved{.text = o.value(QStringLiteral("text")).toString().toStdString(), .path = o.value(QStringLiteral("path")).toString(), .folder = o.value(QStringLiteral("folder")).toString(), .name = o.value(QStringLiteral("name")).toString(), .when = QFileInfo(file).lastModified()};
}

QString settingsFile() { return stateFolder() + QStringLiteral("/planner.ini"); }

}  // namespace

QString stateFolder() {
  const QString own = qEnvironmentVariable("SGSIM_PLANNER_STATE");
  const QString folder = own.isEmpty() ? QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) + QStringLiteral("/sgsim-planner") : own;
  QDir().mkpath(folder);
  return folder;
}

bool keepUnsaved(const Unsaved& work) {
  QSaveFile out(fileOf(work.path));
  const QJsonObject o{{"text", QString::fromStdString(work.text)}, {"path", work.path}, {"folder", work.folder}, {"name", work.name}};
  return out.open(QIODevice::WriteOnly) && out.write(QJsonDocument(o).toJson()) >= 0 && out.commit();
}

void dropUnsaved(const QString& path) { QFile::remove(fileOf(path)); }

std::optional<Unsaved> unsavedOf(const QString& path) { return read(fileOf(path)); }

std::optional<Unsaved> newestUnsaved() {
  const auto files = QDir(stateFolder()).entryInfoList({QStringLiteral("unsaved-*.json")}, QDir::Files, QDir::Time);
  return files.isEmpty() ? std::nullopt : read(files.first().absoluteFilePath());
}

QStringList recentFiles() {
  QStringList files;
  const QStringList stored = QSettings(settingsFile(), QSettings::IniFormat).value(QStringLiteral("recent")).toStringList();
  std::copy_if(stored.begin(), stored.end(), std::back_inserter(files), [](const QString& f) { return QFileInfo::exists(f); });
  return files;
}

void noteRecent(const QString& path) {
  QStringList files = recentFiles();
  files.removeAll(path);
  files.prepend(path);
  QSettings s(settingsFile(), QSettings::IniFormat);
  s.setValue(QStringLiteral("recent"), files.mid(0, kMostRecent));
}

}  // namespace sgsim::gui

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

QString fileOf(const QString& key) {
  const QByteArray hash = QCryptographicHash::hash(key.toUtf8(), QCryptographicHash::Sha1).toHex().left(16);
  return stateFolder() + QStringLiteral("/unsaved-%1.json").arg(QString::fromLatin1(hash));
}

std::optional<Unsaved> read(const QString& file) {
  QFile in(file);
  if (!in.open(QIODevice::ReadOnly)) return std::nullopt;
  const QJsonObject o = QJsonDocument::fromJson(in.readAll()).object();
  if (!o.contains(QStringLiteral("text"))) return std::nullopt;
  const auto at = [&o](const char* key) { return o.value(QLatin1String(key)).toString(); };
  return Unsaved{.text = at("text").toStdString(), .path = at("path"), .draft = at("draft"), .folder = at("folder"), .name = at("name"), .when = QFileInfo(file).lastModified()};
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
  QSaveFile out(fileOf(work.key()));
  const QJsonObject o{{"text", QString::fromStdString(work.text)}, {"path", work.path}, {"draft", work.draft}, {"folder", work.folder}, {"name", work.name}};
  return out.open(QIODevice::WriteOnly) && out.write(QJsonDocument(o).toJson()) >= 0 && out.commit();
}

void dropUnsaved(const QString& key) { QFile::remove(fileOf(key)); }

std::optional<Unsaved> unsavedOf(const QString& key) { return read(fileOf(key)); }

std::vector<Unsaved> allUnsaved() {
  std::vector<Unsaved> all;
  for (const QFileInfo& file : QDir(stateFolder()).entryInfoList({QStringLiteral("unsaved-*.json")}, QDir::Files, QDir::Time)) {
    if (auto work = read(file.absoluteFilePath())) all.push_back(std::move(*work));
  }
  return all;
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

QVariant remembered(const QString& name) { return QSettings(settingsFile(), QSettings::IniFormat).value(name); }

void remember(const QString& name, const QVariant& value) { QSettings(settingsFile(), QSettings::IniFormat).setValue(name, value); }

}  // namespace sgsim::gui

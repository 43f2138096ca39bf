// sgsim-planner [FILE] [--screenshot DIR]
#include <QApplication>
#include <QCommandLineParser>
#include <QPainter>
#include <QTemporaryDir>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "gui/app/main_window.h"
#include "gui/app/screenshots.h"
#include "gui/models/theme.h"
#include "gui/views/planner_style.h"

namespace {

/// The icon, as data/sgsim-planner.svg has it.
QIcon icon() {
  QPixmap pixmap(128, 128);
  pixmap.fill(Qt::transparent);
  QPainter p(&pixmap);
  p.setRenderHint(QPainter::Antialiasing);
  p.setPen(Qt::NoPen);
  p.setBrush(QColor(0x14, 0x32, 0x4a));
  p.drawRoundedRect(QRectF(4, 4, 120, 120), 22, 22);
  const struct {
    QRectF rect;
    QColor color;
  } bars[] = {{{20, 28, 40, 16}, QColor(0x56, 0xb4, 0xe9)}, {{64, 28, 44, 16}, QColor(0x00, 0x72, 0xb2)}, {{34, 52, 34, 16}, QColor(0xe6, 0x9f, 0x00)}, {{72, 52, 24, 16}, QColor(0xd5, 0x5e, 0x00)}, {{48, 76, 44, 16}, QColor(0x00, 0x9e, 0x73)}};
  for (const auto& bar : bars) {
    p.setBrush(bar.color);
    p.drawRoundedRect(bar.rect, 4, 4);
  }
  p.setPen(QPen(Qt::white, 4, Qt::SolidLine, Qt::RoundCap));
  p.drawLine(20, 108, 108, 108);
  return QIcon(pixmap);
}

bool wantsPictures(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (QByteArray(argv[i]).startsWith("--screenshot") || QByteArray(argv[i]) == "--help" || QByteArray(argv[i]) == "--version") return true;
  }
  return false;
}

/// What of the command line cannot be done; empty where all can.
QString mistakeIn(const QCommandLineParser& parser, const QCommandLineOption& theme, const QCommandLineOption& screenshot) {
  const QStringList files = parser.positionalArguments();
  if (files.size() > 1) return QStringLiteral("one FILE is expected, found %1: %2").arg(files.size()).arg(files.join(QStringLiteral(", ")));
  if (const QString name = parser.value(theme); parser.isSet(theme) && name != QLatin1String("light") && name != QLatin1String("dark")) return QStringLiteral("--theme: expected light or dark, found %1").arg(name.isEmpty() ? QStringLiteral("nothing") : name);
  if (!parser.isSet(screenshot)) return {};
  const QString folder = parser.value(screenshot);
  if (folder.isEmpty()) return QStringLiteral("--screenshot: expected a folder, found nothing");
  const QString why = sgsim::gui::whyNotInto(folder);
  return why.isEmpty() ? QString() : QStringLiteral("--screenshot: cannot write into %1: %2").arg(folder, why);
}

}  // namespace

int main(int argc, char** argv) {
  if (wantsPictures(argc, argv) && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  QApplication::setApplicationName(QStringLiteral("sgsim-planner"));
  QApplication::setApplicationDisplayName(QStringLiteral("SGSim Planner"));
  QApplication::setApplicationVersion(QStringLiteral(SGSIM_VERSION));
  QApplication::setDesktopFileName(QStringLiteral("sgsim-planner"));
  QApplication::setWindowIcon(icon());
  QApplication::setStyle(new sgsim::gui::PlannerStyle);
  QCommandLineParser parser;
  parser.setApplicationDescription(QStringLiteral("Predict step time, memory and timeline of training on GPU clusters."));
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument(QStringLiteral("FILE"), QStringLiteral("Scenario, or what can be dropped on the window"), QStringLiteral("[FILE]"));
  const QCommandLineOption screenshot(QStringLiteral("screenshot"), QStringLiteral("Write a picture of every view into DIR and end"), QStringLiteral("DIR"));
  const QCommandLineOption theme(QStringLiteral("theme"), QStringLiteral("light or dark (default: the desktop's)"), QStringLiteral("NAME"));
  parser.addOptions({screenshot, theme});
  parser.process(app);
  if (const QString wrong = mistakeIn(parser, theme, screenshot); !wrong.isEmpty()) {
    std::fprintf(stderr, "sgsim-planner: %s\n", qPrintable(wrong));
    return 2;
  }
  const bool pictures = parser.isSet(screenshot);
  // Pictures show what the file says and leave no trace: no recent files, no unsaved work, no remembered window.
  std::optional<QTemporaryDir> state;
  if (pictures) {
    state.emplace();
    qputenv("SGSIM_PLANNER_STATE", state->path().toUtf8());
  }
  const auto kept = [pictures](const char* name) { return pictures ? QVariant() : sgsim::gui::remembered(QLatin1String(name)); };
  const QString chosen = parser.isSet(theme) ? parser.value(theme) : kept("theme").toString();
  const bool dark = chosen.isEmpty() ? !pictures && app.palette().color(QPalette::Window).lightness() < 128 : chosen == QLatin1String("dark");
  if (const double points = kept("font").toDouble(); points > 0.0) {
    QFont font = QApplication::font();
    font.setPointSizeF(points);
    QApplication::setFont(font);
  }
  QApplication::setPalette(sgsim::gui::paletteOf(dark ? sgsim::gui::darkTheme() : sgsim::gui::lightTheme()));
  int code = 0;
  {
    sgsim::gui::MainWindow window;
    window.restoreGeometry(kept("geometry").toByteArray());
    const QStringList files = parser.positionalArguments();
    bool opened = true;
    if (files.isEmpty()) {
      pictures ? window.openSample() : window.openFirst();
    } else {
      opened = window.openStart(files.first());
    }
    if (opened || !pictures) window.show();
    if (pictures) {
      if (!opened) std::fprintf(stderr, "%s\n", qPrintable(window.failurePlainText()));
      code = opened ? sgsim::gui::takeScreenshots(window, parser.value(screenshot)) : 2;
    } else {
      code = QApplication::exec();
    }
  }
  state.reset();
  std::fflush(nullptr);
  // Work that was let go may still run; the process does not wait for it.
  if (sgsim::gui::Job::threads() > 0) std::_Exit(code);
  return code;
}

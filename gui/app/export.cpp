// What leaves the program: pictures, figures, the timeline and the report.
#include <QApplication>
#include <QBuffer>
#include <QClipboard>
#include <QFileDialog>
#include <QLocale>
#include <QPainter>
#include <QSaveFile>

#include "gui/app/main_window.h"
#include "gui/app/report_html.h"
#include "gui/models/table_model.h"
#include "gui/views/svg_device.h"
#include "sim/core/error.h"
#include "sim/scenario/trace_export.h"

namespace sgsim::gui {
namespace {

void writeFile(const QString& path, const QByteArray& bytes) {
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit()) throw EnvironmentError("cannot write " + path.toStdString() + ": " + file.errorString().toStdString());
}

}  // namespace

void MainWindow::exportDialog(const QString& filter) {
  const QString ending = filter.section(QLatin1Char('*'), 1, 1).section(QLatin1Char(')'), 0, 0).trimmed();
  QString path = QFileDialog::getSaveFileName(this, tr("Export"), QFileInfo(document_.name()).completeBaseName() + ending, filter);
  if (path.isEmpty()) return;
  if (QFileInfo(path).suffix().isEmpty()) path += ending;
  try {
    exportTo(path);
    status_->setText(tr("wrote <a href=\"%1\">%2</a>").arg(QUrl::fromLocalFile(QFileInfo(path).absoluteFilePath()).toString(QUrl::FullyEncoded), path.toHtmlEscaped()));
  } catch (...) {
    fail(tr("%1 was not written").arg(path), failureOf(std::current_exception()));
  }
}

void MainWindow::copyTable() {
  QString text;
  for (const TableView* table : page()->tables()) {
    if (table->table().rows.empty()) continue;
    text += (table->table().title.isEmpty() ? QString() : table->table().title + QLatin1Char('\n')) + textOf(*table->sorted()) + QLatin1Char('\n');
  }
  QApplication::clipboard()->setText(text);
  status_->setText(text.isEmpty() ? tr("no table on this page") : tr("copied"));
}

void MainWindow::exportTo(const QString& path) {
  Panel* current = page();
  if (path.endsWith(QLatin1String(".png"))) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    // Twice the screen's resolution: sharp on paper.
    QImage image(current->size() * 2, QImage::Format_RGB32);
    image.setDevicePixelRatio(2.0);
    current->render(&image);
    image.save(&buffer, "PNG");
    return writeFile(path, bytes);
  }
  if (path.endsWith(QLatin1String(".svg"))) {
    SvgDevice device(current->size(), QStringLiteral("%1: %2").arg(document_.name(), pages_->tabText(pages_->currentIndex())));
    QPainter painter(&device);
    const QSize size = current->size();
    if (current == timeline_) {
      timeline_->view()->paintInto(painter, size);
    } else if (current == topology_) {
      topology_->view()->paintInto(painter, size);
    } else {
      const auto charts = current->charts();
      int y = 0;
      for (ChartView* chart : charts) {
        const int height = size.height() / std::max(1, static_cast<int>(charts.size()));
        painter.fillRect(QRect(0, y, size.width(), height), themeOf(palette()).background);
        paintChart(painter, QRectF(0, y, size.width(), height), chart->chart(), themeOf(palette()), font());
        y += height;
      }
    }
    painter.end();
    return writeFile(path, device.svg().toUtf8());
  }
  if (path.endsWith(QLatin1String(".csv"))) {
    QString text;
    for (const TableView* table : current->tables()) {
      if (table->table().rows.empty()) continue;
      text += csvLine({table->table().title}) + csvOf(table->table()) + QStringLiteral("\r\n");
    }
    for (const ChartView* chart : current->charts()) {
      if (!chart->chart().series.empty()) text += csvLine({chart->chart().title}) + csvOf(chart->chart()) + QStringLiteral("\r\n");
    }
    return writeFile(path, text.toUtf8());
  }
  if (!simulated_ || !simulated_->run) throw EnvironmentError("nothing is simulated yet: there is no timeline and nothing to report");
  const ScenarioState of{.text = simulated_->text, .folder = simulated_->folder, .name = simulated_->name};
  const bool changed = !sameBut(of, document_.state());
  if (changed && (of.name != document_.name() || of.folder != document_.folder())) {
    throw EnvironmentError("what was simulated last is " + of.name.toStdString() + ", not " + document_.name().toStdString() + ", which is open: simulate it first (F5)");
  }
  if (path.endsWith(QLatin1String(".html"))) {
    QStringList remarks;
    if (changed) remarks << tr("The scenario has been changed since this was simulated. The report is of the scenario at its end, not of the one that was open when it was written.");
    std::vector<Table> extra;
    std::vector<Chart> charts;
    for (WorkPanel* panel : std::initializer_list<WorkPanel*>{compare_, sweep_, search_, fidelity_}) {
      const bool holds = panel->holdsFor(of);
      if (!holds) remarks << (panel == sweep_ ? tr("Left out: a sweep of %1 as it was at another time.") : panel == search_ ? tr("Left out: plans searched for %1 as it was at another time.") : tr("Left out: changes tried on %1 as it was at another time.")).arg(panel->originName());
      if (!holds && panel != compare_) continue;
      for (const ChartView* c : panel->charts()) {
        if (!c->chart().series.empty() && (panel != compare_ || compare_->variants() > 0)) charts.push_back(c->chart());
      }
      for (const TableView* t : panel->tables()) {
        if (!holds && t == compare_->changesTable()) continue;
        if (!t->table().rows.empty() && (panel != compare_ || compare_->variants() > 0)) extra.push_back(t->table());
      }
    }
    const MemoryPanel& memory = *memory_;
    constexpr std::size_t kItems = 15;
    if (Table items = memory.itemsTable()->table(); !items.rows.empty()) {
      if (items.rows.size() > kItems) {
        items.title += tr(" (first %1)").arg(kItems);
        items.rows.resize(kItems);
      }
      extra.insert(extra.begin(), std::move(items));
    }
    charts.insert(charts.begin(), memory.charts().front()->chart());
    return writeFile(path, htmlReport(*simulated_, timeline_->view(), charts, extra, remarks).toUtf8());
  }
  // Perfetto: written by the same code as `sgsim simulate --trace`.
  (void)scenario::write_trace(path.toStdString(), simulated_->scenario, *simulated_->run);
}

}  // namespace sgsim::gui

#include "gui/app/report_html.h"

#include <QDateTime>
#include <QPainter>

#include "gui/models/result_views.h"
#include "gui/models/theme.h"
#include "gui/views/chart_view.h"
#include "gui/views/svg_device.h"
#include "gui/views/timeline_view.h"
#include "sim/scenario/interval.h"
#include "sim/scenario/report.h"

namespace sgsim::gui {
namespace {

constexpr QSize kChart(900, 380);

QString figure(const Chart& chart, const QSize& size) {
  SvgDevice device(size, chart.title);
  QPainter painter(&device);
  QFont font(QStringLiteral("DejaVu Sans"));
  font.setPixelSize(12);
  painter.setFont(font);
  paintChart(painter, QRectF(QPointF(0, 0), size), chart, lightTheme(), font);
  painter.end();
  return QStringLiteral("<figure>%1</figure>\n").arg(device.svg());
}

QString timelineFigure(TimelineView* view) {
  if (view == nullptr || view->data() == nullptr) return {};
  const QSize size(900, 460);
  const QPalette kept = view->palette();
  view->setPalette(paletteOf(lightTheme()));
  SvgDevice device(size, QObject::tr("Timeline"));
  QPainter painter(&device);
  view->paintInto(painter, size);
  painter.end();
  view->setPalette(kept);
  return QStringLiteral("<figure>%1<figcaption>%2</figcaption></figure>\n").arg(device.svg(), QObject::tr("The part of the timeline that the window showed. Light blue forward, dark blue backward, green optimizer, orange communication inside a node, vermilion between nodes, light grey waiting for ranks. The strip above a rank's streams says what all of them together do: dark slate computation, yellow and hatched exposed communication, grey and hatched a bubble, violet and hatched waiting for the host."));
}

}  // namespace

QString htmlReport(const Simulated& s, TimelineView* timeline, const std::vector<Chart>& charts, const std::vector<Table>& tables, const QStringList& remarks) {
  const QString& name = s.name;
  const scenario::Result& r = s.run->result;
  const double step = r.step_time.value();
  QString out = QStringLiteral(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>%1</title>\n<style>\n"
      "body{font:15px/1.45 'DejaVu Sans',Helvetica,Arial,sans-serif;color:#1b1f24;max-width:960px;margin:24px auto;padding:0 16px}\n"
      "h1{font-size:1.6em;margin:0 0 .2em}h2{font-size:1.15em;margin:1.6em 0 .4em;border-bottom:1px solid #dde1e6}\n"
      "table{border-collapse:collapse;width:100%;font-size:.87em}th,td{padding:3px 8px;text-align:left;border-bottom:1px solid #e6e9ed;vertical-align:top;overflow-wrap:break-word}\n"
      ".n{text-align:right;white-space:nowrap}figure{margin:.6em 0}figcaption,.about{color:#57606a;font-size:.87em}svg{max-width:100%;height:auto}\n"
      "table.wide{font-size:.72em}table.wide th,table.wide td{padding:2px 4px}\n"
      "pre{background:#f3f4f6;padding:10px;font-size:.8em;overflow-wrap:anywhere;white-space:pre-wrap}\n"
      "@page{size:A4;margin:15mm}@media print{body{margin:0;max-width:none;font-size:10pt}tr,figure{break-inside:avoid}h2{break-after:avoid}}\n"
      "</style></head><body>\n").arg(name.toHtmlEscaped());
  out += QStringLiteral("<h1>%1 a step (%2), MFU %3: %4</h1>\n").arg(timeText(step), intervalText(r), percentText(r.mfu), r.fits ? QObject::tr("fits in memory") : QObject::tr("does NOT fit in memory"));
  out += QStringLiteral("<p>%1 on %2 &times; %3; %4.<br><span class=\"about\">%5 &middot; predicted by SGSim %6 on %7</span></p>\n")
             .arg(QString::fromStdString(s.inputs.model).toHtmlEscaped()).arg(r.gpus)
             .arg(QString::fromStdString(s.scenario.cluster.node.gpu.name).toHtmlEscaped(), QString::fromStdString(scenario::plan_text(s.scenario.plan)).toHtmlEscaped(), name.toHtmlEscaped(), QStringLiteral(SGSIM_VERSION), QDateTime::currentDateTime().toString(Qt::ISODate));
  for (const QString& remark : remarks) out += QStringLiteral("<p><strong>%1</strong></p>\n").arg(remark.toHtmlEscaped());
  if (!s.scenario.description.empty()) out += QStringLiteral("<p>%1</p>\n").arg(QString::fromStdString(s.scenario.description).toHtmlEscaped());
  const auto section = [&out](const Table& t) {
    if (!t.rows.empty()) out += QStringLiteral("<h2>%1</h2>\n%2").arg(t.title.toHtmlEscaped(), htmlOf(withoutEmptyColumns(t)));
  };
  section(figuresTable(r));
  out += QStringLiteral("<p class=\"about\">%1</p>\n").arg(QString::fromUtf8(scenario::interval_assumptions()).toHtmlEscaped());
  section(stepTable(r));
  out += figure(breakdownChart({{QObject::tr("this scenario"), &r}}), QSize(900, 150));
  if (const QString t = timelineFigure(timeline); !t.isEmpty()) out += QStringLiteral("<h2>%1</h2>\n%2").arg(QObject::tr("Timeline"), t);
  for (const Chart& chart : charts) {
    if (!chart.series.empty()) out += figure(chart, kChart);
  }
  section(classesTable(r));
  Table path = pathTable(s.path_times, step);
  if (path.rows.size() > 12) path.rows.resize(12);
  section(path);
  for (Table t : {timesTable(QObject::tr("Kernels"), r.kernels, step), timesTable(QObject::tr("Communication"), r.communication, step)}) {
    if (t.rows.size() > 15) t.rows.resize(15);
    section(t);
  }
  for (Table t : tables) {
    if (t.rows.size() > 40) {
      t.title += QObject::tr(" (first 40 of %1)").arg(t.rows.size());
      t.rows.resize(40);
    }
    section(t);
  }
  section(notesTable(r));
  out += QStringLiteral("<h2>%1</h2>\n<pre>%2</pre>\n</body></html>\n").arg(QObject::tr("The scenario (save it as a file and run `sgsim simulate` on it)"), QString::fromStdString(s.text).toHtmlEscaped());
  return out;
}

}  // namespace sgsim::gui

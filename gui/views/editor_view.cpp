#include "gui/views/editor_view.h"

#include <QComboBox>
#include <QCompleter>
#include <QEvent>
#include <QFileDialog>
#include <QFormLayout>
#include <QGridLayout>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QAbstractItemView>
#include <QAction>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QToolButton>
#include <QVBoxLayout>
#include <nlohmann/json.hpp>

#include "gui/models/theme.h"
#include "sim/scenario/read.h"

namespace sgsim::gui {
namespace {

/// Text of a member of the effective scenario.
QString effective(const nlohmann::json& root, const QString& path) {
  const nlohmann::json* at = &root;
  for (const QString& key : path.split(QLatin1Char('.'))) {
    const auto member = at->is_object() ? at->find(key.toStdString()) : at->end();
    if (!at->is_object() || member == at->end()) return {};
    at = &*member;
  }
  return QString::fromStdString(at->is_string() ? at->get<std::string>() : at->is_null() ? std::string() : at->dump());
}

QString defaultText(const QString& value) { return value.isEmpty() ? QObject::tr("not set") : QObject::tr("default: %1").arg(value); }

/// Fields that a rule of plan legality is about.
QString fieldOfRule(const QString& rule) {
  for (const char* size : {"tp", "pp", "cp", "ep", "dp"}) {
    if (rule.startsWith(QLatin1String(size) + QLatin1Char('_'))) return QStringLiteral("plan.") + QLatin1String(size);
  }
  if (rule.contains(QLatin1String("micro_batch"))) return QStringLiteral("plan.micro_batch");
  if (rule.contains(QLatin1String("batch"))) return QStringLiteral("plan.global_batch");
  if (rule.contains(QLatin1String("world"))) return QStringLiteral("plan.dp");
  if (rule.contains(QLatin1String("sequence_parallel"))) return QStringLiteral("plan.sequence_parallel");
  if (rule.contains(QLatin1String("schedule")) || rule.contains(QLatin1String("interleaved"))) return QStringLiteral("plan.schedule");
  if (rule.contains(QLatin1String("virtual"))) return QStringLiteral("plan.virtual_stages");
  if (rule.contains(QLatin1String("shard"))) return QStringLiteral("plan.sharding");
  if (rule.contains(QLatin1String("stage"))) return QStringLiteral("plan.stage_layers");
  return {};
}

}  // namespace

EditorView::EditorView(ScenarioDocument& document, QWidget* parent) : QWidget(parent), document_(document), banner_(new QLabel(this)), text_(new QPlainTextEdit(this)), text_error_(new QLabel(this)) {
  setObjectName(QStringLiteral("editor"));
  banner_->setWordWrap(true);
  banner_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  banner_->setAccessibleName(tr("What is wrong with the scenario"));
  banner_->hide();
  auto* fields = new QWidget(this);
  auto* column = new QVBoxLayout(fields);
  column->setContentsMargins(8, 4, 8, 8);
  column->setSpacing(2);
  const std::vector<Section> sections = scenarioSections();
  for (const Section& section : sections) {
    auto* head = new QToolButton(fields);
    head->setText(section.title);
    head->setCheckable(true);
    head->setChecked(section.open);
    head->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    head->setArrowType(section.open ? Qt::DownArrow : Qt::RightArrow);
    head->setAutoRaise(true);
    QFont bold = font();
    bold.setBold(true);
    head->setFont(bold);
    head->setAccessibleName(tr("Section %1").arg(section.title));
    auto* body = new QWidget(fields);
    auto* form = new QGridLayout(body);
    form->setContentsMargins(6, 0, 0, 6);
    form->setHorizontalSpacing(8);
    form->setVerticalSpacing(3);
    form->setColumnStretch(1, 1);
    int line = 0;
    for (const Field& field : section.fields) {
      auto* label = new QLabel(field.label, body);
      labels_.push_back(label);
      QWidget* widget = makeWidget(field);
      label->setBuddy(widget);
      widget->setToolTip(QStringLiteral("<b>%1</b><br>%2").arg(field.path.toHtmlEscaped(), field.tip.toHtmlEscaped()));
      widget->setAccessibleName(QStringLiteral("%1, %2").arg(section.title, field.label));
      widget->setAccessibleDescription(field.tip);
      widget->setObjectName(field.path);
      widget->installEventFilter(this);
      if (field.kind == FieldKind::integer) {
        label->setObjectName(QStringLiteral("label of ") + field.path);
        label->setCursor(Qt::SizeHorCursor);
        label->setToolTip(tr("Drag to the right to double it, to the left to halve it"));
        label->installEventFilter(this);
      }
      auto* error = new QLabel(body);
      error->setWordWrap(true);
      error->hide();
      form->addWidget(label, line, 0);
      form->addWidget(widget, line, 1, 1, field.kind == FieldKind::file ? 1 : 2);
      if (field.kind == FieldKind::file) {
        auto* button = new QToolButton(body);
        button->setText(QStringLiteral("\u2026"));
        button->setAccessibleName(tr("Choose a file for %1").arg(field.label));
        connect(button, &QToolButton::clicked, this, [this, field] { browse(field); });
        form->addWidget(button, line, 2);
      }
      form->addWidget(error, line + 1, 0, 1, 3);
      line += 2;
      by_path_[field.path] = rows_.size();
      rows_.push_back({field, widget, error});
    }
    body->setVisible(section.open);
    connect(head, &QToolButton::toggled, body, [head, body](bool on) {
      head->setArrowType(on ? Qt::DownArrow : Qt::RightArrow);
      body->setVisible(on);
    });
    column->addWidget(head);
    column->addWidget(body);
  }
  column->addStretch(1);
  fields_ = fields;
  auto* scroll = new QScrollArea(this);
  scroll_ = scroll;
  scroll->setWidget(fields);
  scroll->setWidgetResizable(true);
  scroll->setAccessibleName(tr("Fields of the scenario"));
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);

  auto* page = new QWidget(this);
  auto* page_layout = new QVBoxLayout(page);
  page_layout->setContentsMargins(4, 4, 4, 4);
  text_->setAcceptDrops(false);
  text_->setAccessibleName(tr("Scenario file as text"));
  text_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  text_->setLineWrapMode(QPlainTextEdit::NoWrap);
  text_error_->setWordWrap(true);
  text_error_->hide();
  auto* apply = new QPushButton(tr("Apply text (Ctrl+Return)"), page);
  apply->setObjectName(QStringLiteral("applyText"));
  connect(apply, &QPushButton::clicked, this, &EditorView::applyText);
  text_->installEventFilter(this);
  page_layout->addWidget(text_, 1);
  page_layout->addWidget(text_error_);
  page_layout->addWidget(apply);
  auto* tabs = new QTabWidget(this);
  tabs->setDocumentMode(true);
  tabs->setAccessibleName(tr("Scenario, as fields or as text"));
  tabs->addTab(scroll, tr("F&ields"));
  tabs->addTab(page, tr("Te&xt"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(banner_);
  layout->addWidget(tabs, 1);
  fitColumns();
  connect(&document_, &ScenarioDocument::changed, this, &EditorView::refresh);
  refresh();
}

/// Everything that there is to choose, whatever the field holds.
void EditorView::offerChoices(QLineEdit& edit) {
  edit.completer()->setCompletionPrefix(QString());
  edit.completer()->complete();
}

QWidget* EditorView::makeWidget(const Field& field) {
  if (field.kind == FieldKind::choice || field.kind == FieldKind::flag) {
    auto* box = new QComboBox(this);
    box->addItem(tr("default"), QString());
    if (field.kind == FieldKind::flag) {
      box->addItem(tr("yes"), QStringLiteral("true"));
      box->addItem(tr("no"), QStringLiteral("false"));
    }
    for (const QString& choice : field.choices) box->addItem(choice, choice);
    box->setFocusPolicy(Qt::StrongFocus);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(10);
    connect(box, &QComboBox::activated, this, [this, field, box](int index) { edited(field, box->itemData(index).toString()); });
    return box;
  }
  auto* edit = new QLineEdit(this);
  edit->setAcceptDrops(false);  // a dropped file is the window's to open
  if (!field.choices.isEmpty()) {
    auto* completer = new QCompleter(field.choices, edit);
    completer->setCaseSensitivity(Qt::CaseInsensitive);
    completer->setFilterMode(Qt::MatchContains);
    edit->setCompleter(completer);
    QPixmap arrow(12, 12);
    arrow.fill(Qt::transparent);
    QPainter painter(&arrow);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(0x80, 0x88, 0x92));
    painter.drawPolygon(QPolygonF({QPointF(2, 4), QPointF(10, 4), QPointF(6, 9)}));
    painter.end();
    QAction* show = edit->addAction(QIcon(arrow), QLineEdit::TrailingPosition);
    show->setText(tr("Choices for %1").arg(field.label));
    show->setToolTip(show->text());
    connect(show, &QAction::triggered, this, [this, edit] {
      edit->setFocus();
      offerChoices(*edit);
    });
    connect(completer, qOverload<const QString&>(&QCompleter::activated), this, [this, field](const QString& text) { edited(field, text); });
  }
  connect(edit, &QLineEdit::textEdited, this, [this, field](const QString& text) { edited(field, text); });
  return edit;
}

void EditorView::edited(const Field& field, const QString& text) {
  if (refreshing_) return;
  // A model is one thing or the other, and so is a cluster's start: choosing one takes the other away.
  if (!text.trimmed().isEmpty()) {
    const QString quoted = QString::fromStdString(nlohmann::json(text.trimmed().toStdString()).dump());
    const std::string json = quoted.toStdString();
    if (field.path == QLatin1String("model.graph") && document_.has(QStringLiteral("model.config"))) {
      return document_.setAll({{"model.graph", json}, {"model.config", std::nullopt}, {"model.sequence", std::nullopt}, {"model.attention", std::nullopt}, {"model.dense_mask", std::nullopt}}, tr("captured graph"));
    }
    if (field.path == QLatin1String("model.config") && document_.has(QStringLiteral("model.graph"))) {
      return document_.setAll({{"model.config", json}, {"model.graph", std::nullopt}}, tr("config.json"));
    }
    if (field.path == QLatin1String("cluster.builtin") && document_.has(QStringLiteral("cluster.file"))) return document_.setAll({{"cluster.builtin", json}, {"cluster.file", std::nullopt}}, field.label);
    if (field.path == QLatin1String("cluster.file") && document_.has(QStringLiteral("cluster.builtin"))) return document_.setAll({{"cluster.file", json}, {"cluster.builtin", std::nullopt}}, field.label);
  }
  document_.type(field.path, text, tr("change %1").arg(field.label));
}

void EditorView::browse(const Field& field) {
  const QString file = QFileDialog::getOpenFileName(this, tr("Choose %1").arg(field.label), document_.folder(), tr("JSON (*.json *.json.gz);;All files (*)"));
  if (!file.isEmpty()) edited(field, QDir(document_.folder()).relativeFilePath(file));
}

void EditorView::step(const Row& row, int by) {
  auto* edit = qobject_cast<QLineEdit*>(row.widget);
  if (edit == nullptr) return;
  const QString now = edit->text().isEmpty() ? edit->placeholderText().section(QLatin1String(": "), 1) : edit->text();
  bool whole = false;
  const qlonglong value = now.toLongLong(&whole);
  if (!whole || value < 1) return;
  edited(row.field, QString::number(by > 0 ? value * 2 : std::max<qlonglong>(1, value / 2)));
}

bool EditorView::dragLabel(QLabel* label, QMouseEvent* event) {
  constexpr double kStep = 30.0;  // pixels
  const auto found = by_path_.constFind(label->objectName().mid(9));
  if (found == by_path_.constEnd()) return false;
  switch (event->type()) {
    case QEvent::MouseButtonPress:
      if (event->button() != Qt::LeftButton) return false;
      drag_from_ = event->position().x();
      return true;
    case QEvent::MouseMove:
      while (drag_from_ && std::abs(event->position().x() - *drag_from_) >= kStep) {
        const int by = event->position().x() > *drag_from_ ? 1 : -1;
        *drag_from_ += by * kStep;
        step(rows_[*found], by);
      }
      return drag_from_.has_value();
    case QEvent::MouseButtonRelease: return std::exchange(drag_from_, std::nullopt).has_value();
    default: return false;
  }
}

bool EditorView::eventFilter(QObject* watched, QEvent* event) {
  if (auto* label = qobject_cast<QLabel*>(watched); label != nullptr && (event->type() == QEvent::MouseButtonPress || event->type() == QEvent::MouseMove || event->type() == QEvent::MouseButtonRelease)) {
    if (dragLabel(label, static_cast<QMouseEvent*>(event))) return true;
  }
  if (event->type() == QEvent::KeyPress) {
    auto* key = static_cast<QKeyEvent*>(event);
    if (watched == text_ && key->key() == Qt::Key_Return && (key->modifiers() & Qt::ControlModifier)) {
      applyText();
      return true;
    }
    const auto found = by_path_.constFind(watched->objectName());
    if (found != by_path_.constEnd() && rows_[*found].field.kind == FieldKind::integer && (key->key() == Qt::Key_Up || key->key() == Qt::Key_Down)) {
      step(rows_[*found], key->key() == Qt::Key_Up ? 1 : -1);
      return true;
    }
    if (auto* edit = qobject_cast<QLineEdit*>(watched); edit != nullptr && found != by_path_.constEnd() && key->key() == Qt::Key_Down && edit->completer() != nullptr && !edit->completer()->popup()->isVisible()) {
      offerChoices(*edit);
      return true;
    }
  }
  // The wheel scrolls the form; it must not change a field that it happens to pass.
  if (event->type() == QEvent::Wheel && qobject_cast<QComboBox*>(watched) != nullptr && !static_cast<QWidget*>(watched)->hasFocus()) {
    event->ignore();
    return true;
  }
  return QWidget::eventFilter(watched, event);
}

/// One column of fields through all sections, as wide as the font wants it.
void EditorView::fitColumns() {
  int widest = 0;
  for (const QLabel* label : labels_) widest = std::max(widest, label->fontMetrics().horizontalAdvance(label->text()));
  for (QLabel* label : labels_) label->setMinimumWidth(widest);
  scroll_->setMinimumWidth(fields_->sizeHint().width() + style()->pixelMetric(QStyle::PM_ScrollBarExtent) + 8);
}

void EditorView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange && scroll_ != nullptr) fitColumns();
}

QWidget* EditorView::fieldWidget(const QString& path) const {
  const auto found = by_path_.constFind(path);
  return found == by_path_.constEnd() ? nullptr : rows_[*found].widget;
}

QString EditorView::fieldError(const QString& path) const {
  const auto found = by_path_.constFind(path);
  return found == by_path_.constEnd() || rows_[*found].error->isHidden() ? QString() : rows_[*found].error->text();
}

void EditorView::mark(const QString& path, const QString& why) {
  QString key = path;
  if (key.startsWith(QLatin1String("$."))) key = key.mid(2);
  const auto found = by_path_.constFind(key);
  const QString color = themeOf(palette()).error.name();
  if (found == by_path_.constEnd()) {
    const QString before = banner_->isHidden() ? QString() : banner_->text() + QLatin1Char('\n');
    banner_->setText(before + QStringLiteral("\u26A0 %1%2").arg(path.isEmpty() ? QString() : path + QLatin1String(": "), why));
    banner_->setStyleSheet(QStringLiteral("QLabel { color: %1; padding: 6px; border: 1px solid %1; }").arg(color));
    banner_->show();
    return;
  }
  const Row& row = rows_[*found];
  const QString before = row.error->isHidden() ? QString() : row.error->text() + QLatin1Char('\n');
  row.error->setText(before + QStringLiteral("\u26A0 ") + why);
  row.error->setStyleSheet(QStringLiteral("color: %1").arg(color));
  row.error->show();
  row.widget->setStyleSheet(QStringLiteral("%1 { border: 2px solid %2; }").arg(QLatin1String(row.widget->metaObject()->className()), color));
  row.widget->setAccessibleDescription(row.error->text());
}

void EditorView::showViolations(std::vector<plan::Violation> violations) {
  if (violations == violations_) return;
  violations_ = std::move(violations);
  refresh();
}

void EditorView::refresh() {
  refreshing_ = true;
  const Checked checked = document_.checkAll();
  // While nothing of it is a scenario, fields keep the defaults that they had.
  if (checked.rest) effective_ = scenario::effective_text(*checked.rest);
  const nlohmann::json defaults = nlohmann::json::parse(effective_, nullptr, false);
  banner_->hide();
  const bool captured = document_.has(QStringLiteral("model.graph"));
  for (const Row& row : rows_) {
    const auto value = document_.value(row.field.path);
    const QString fallback = effective(defaults, row.field.path);
    if (!row.error->isHidden()) {
      row.error->hide();
      row.widget->setStyleSheet(QString());
      row.widget->setAccessibleDescription(row.field.tip);
    }
    const bool generated_only = row.field.path == QLatin1String("model.sequence") || row.field.path == QLatin1String("model.attention") || row.field.path == QLatin1String("model.dense_mask");
    row.widget->setEnabled(!(captured && generated_only));
    if (auto* box = qobject_cast<QComboBox*>(row.widget)) {
      const QString shown = row.field.kind == FieldKind::flag && !fallback.isEmpty() ? (fallback == QLatin1String("true") ? tr("yes") : tr("no")) : fallback;
      box->setItemText(0, defaultText(shown));
      int index = value ? box->findData(*value) : 0;
      if (index < 0) {
        box->addItem(*value, *value);
        index = box->count() - 1;
      }
      box->setCurrentIndex(index);
    } else if (auto* edit = qobject_cast<QLineEdit*>(row.widget)) {
      edit->setPlaceholderText(defaultText(fallback));
      const QString text = value.value_or(QString());
      if (edit->text().trimmed() == text) continue;
      const bool typing = edit->hasFocus() && edit->isModified();
      edit->setText(text);
      if (!typing) edit->setCursorPosition(0);  // a long path shows its beginning
    }
  }
  for (const InputProblem& problem : checked.problems) {
    QString why = tr("found %1").arg(problem.found.empty() ? tr("nothing") : QString::fromStdString(problem.found));
    if (!problem.expected.empty()) why += tr("; expected %1").arg(QString::fromStdString(problem.expected));
    if (!problem.hint.empty()) why += QStringLiteral(". ") + QString::fromStdString(problem.hint);
    mark(QString::fromStdString(problem.where), why);
  }
  for (const plan::Violation& v : violations_) mark(fieldOfRule(QString::fromStdString(v.rule)), QString::fromStdString(v.message));
  if (!text_->hasFocus() || !text_->document()->isModified()) {
    text_->setPlainText(QString::fromStdString(document_.text()));
    text_->document()->setModified(false);
    text_error_->hide();
  }
  refreshing_ = false;
}

void EditorView::applyText() {
  try {
    document_.replaceText(text_->toPlainText().toStdString(), tr("edit as text"));
    text_->document()->setModified(false);
    text_error_->hide();
  } catch (const InputError& error) {
    text_error_->setText(QStringLiteral("\u26A0 ") + QString::fromUtf8(error.what()));
    text_error_->setStyleSheet(QStringLiteral("color: %1").arg(themeOf(palette()).error.name()));
    text_error_->show();
  }
}

}  // namespace sgsim::gui

#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QMap>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QTabWidget>
#include <QTimer>
#include <QWidget>
#include <vector>

#include "gui/models/fields.h"
#include "gui/session/document.h"

namespace sgsim::gui {

/// The fields of a scenario. What the file leaves out shows its default in grey; a wrong value is marked where it stands.
class EditorView : public QWidget {
  Q_OBJECT
 public:
  explicit EditorView(ScenarioDocument& document, QWidget* parent = nullptr);
  /// The widget that edits a field, by its path; nothing for an unknown one.
  [[nodiscard]] QWidget* fieldWidget(const QString& path) const;
  /// What is said under a field; empty: it is sound.
  [[nodiscard]] QString fieldError(const QString& path) const;
  [[nodiscard]] QString banner() const { return banner_->isHidden() ? QString() : banner_->text(); }
  /// Rules of plan legality that are broken; they stay marked, beside wrong values, until the next call.
  void showViolations(std::vector<plan::Violation> violations);
  void refresh();
  [[nodiscard]] QPlainTextEdit* textEditor() const { return text_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Row {
    Field field;
    QWidget* widget = nullptr;
    QLabel* error = nullptr;
  };
  QWidget* makeWidget(const Field& field);
  void mark(const QString& path, const QString& why);
  void edited(const Field& field, const QString& text);
  void browse(const Field& field);
  void step(const Row& row, int by);
  /// Dragging a number's label doubles it each so many pixels to the right and halves it to the left.
  bool dragLabel(QLabel* label, QMouseEvent* event);
  void applyText();
  void fitColumns();
  static void offerChoices(QLineEdit& edit);

  ScenarioDocument& document_;
  std::vector<Row> rows_;
  QMap<QString, std::size_t> by_path_;
  std::vector<QLabel*> labels_;
  QWidget* fields_ = nullptr;
  QScrollArea* scroll_ = nullptr;
  QLabel* banner_;
  QPlainTextEdit* text_;
  QLabel* text_error_;
  std::vector<plan::Violation> violations_;
  std::string effective_;   // the last sound scenario with every default
  bool refreshing_ = false;
  std::optional<double> drag_from_;  // x of a label's drag, at its last step
};

}  // namespace sgsim::gui

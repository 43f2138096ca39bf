#pragma once

#include <QObject>
#include <QString>
#include <QUndoStack>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "sim/core/error.h"
#include "sim/scenario/scenario.h"

namespace sgsim::gui {

/// What is wrong with a scenario, value by value.
struct Checked {
  std::vector<InputProblem> problems;
  std::optional<scenario::Scenario> rest;  // wrong values left out; nothing where that leaves no scenario
};

/// A scenario as it was when something was worked out of it.
struct ScenarioState {
  std::string text;
  QString folder, name;
};
/// Whether both mean the same, whatever stands at `paths` (as in scenario::Setting) and in the description. Names do not count.
[[nodiscard]] bool sameBut(const ScenarioState& a, const ScenarioState& b, const std::set<std::string>& paths = {});

/// A scenario file being edited: the same file that the CLI takes, changed field by field through an undo stack. What the
/// file leaves out stays left out. Half-typed values are kept as they are; `check` says what is wrong with them.
class ScenarioDocument : public QObject {
  Q_OBJECT
 public:
  explicit ScenarioDocument(QObject* parent = nullptr);
  ~ScenarioDocument() override;

  /// Throws InputError for a file that is no JSON (a scenario with wrong values opens: the editor marks them).
  void load(const QString& path);
  /// A scenario without a file; relative paths inside it are relative to `folder`.
  void setText(const std::string& text, const QString& folder, const QString& name, const QString& draft = {});
  /// Replaces the whole text as one undoable step. Throws InputError when it is no JSON object.
  void replaceText(const std::string& text, const QString& what);
  /// Paths inside the scenario stay what they point to when the folder changes. Throws EnvironmentError.
  void save(const QString& path);
  /// Whether the file holds something else than when it was opened or saved. A file that is gone loses nothing.
  [[nodiscard]] bool changedOnDisk() const;
  /// Takes what the file holds now as one undoable step. Throws InputError.
  void reload();

  [[nodiscard]] QString path() const { return path_; }      // empty: never saved
  [[nodiscard]] QString name() const;                       // for titles
  [[nodiscard]] QString folder() const { return folder_; }
  /// Tells scenarios apart that have no file; goes on where the draft came back from autosave.
  [[nodiscard]] QString draft() const { return draft_; }
  [[nodiscard]] bool dirty() const { return !undo_.isClean(); }
  [[nodiscard]] QUndoStack& undoStack() { return undo_; }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] ScenarioState state() const { return {text(), folder_, name()}; }

  /// A field's value as text (texts without quotes), by path as --set takes it ("plan.tp", "cluster.faults[0].factor").
  [[nodiscard]] std::optional<QString> value(const QString& path) const;
  [[nodiscard]] bool has(const QString& path) const { return value(path).has_value(); }
  [[nodiscard]] int listSize(const QString& path) const;
  /// Sets a field from JSON; nothing: takes it away. One undoable step, merged with the step before when that set the
  /// same field a moment ago (typing is one step). `what` names it in the menu.
  void set(const QString& path, const std::optional<std::string>& json, const QString& what);
  /// The same from what a person typed: numbers and true/false as such, everything else as text; empty takes it away.
  void type(const QString& path, const QString& typed, const QString& what);
  /// Several fields as one step.
  void setAll(const std::vector<std::pair<QString, std::optional<std::string>>>& fields, const QString& what);

  /// The scenario as it stands, or what is wrong with it.
  [[nodiscard]] std::variant<scenario::Scenario, InputProblem> check() const;
  /// Everything that is wrong with it, and what it would be without the wrong values.
  [[nodiscard]] Checked checkAll() const;

 Q_SIGNALS:
  void changed();
  void nameChanged();

 private:
  class Edit;
  friend class Edit;
  void apply(const std::string& text);
  void touch();

  std::unique_ptr<nlohmann::ordered_json> tree_;
  QUndoStack undo_;
  QString path_, folder_, name_, draft_;
  QByteArray disk_;   // what the file held when it was opened or saved
};

}  // namespace sgsim::gui

#include "gui/session/document.h"

#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSaveFile>
#include <QUndoCommand>
#include <QUuid>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "sim/scenario/json_reader.h"
#include "sim/scenario/read.h"

namespace sgsim::gui {
namespace {

using Tree = nlohmann::ordered_json;

/// "a.b[2].c" as steps; a number is an index.
std::vector<std::variant<std::string, std::size_t>> steps_of(const QString& path) {
  std::vector<std::variant<std::string, std::size_t>> steps;
  for (const QString& part : path.split(QLatin1Char('.'), Qt::SkipEmptyParts)) {
    const qsizetype bracket = part.indexOf(QLatin1Char('['));
    steps.emplace_back(part.left(bracket < 0 ? part.size() : bracket).toStdString());
    if (bracket >= 0) steps.emplace_back(static_cast<std::size_t>(part.mid(bracket + 1, part.size() - bracket - 2).toULongLong()));
  }
  return steps;
}

const Tree* find(const Tree& root, const QString& path) {
  const Tree* at = &root;
  for (const auto& step : steps_of(path)) {
    if (const auto* key = std::get_if<std::string>(&step)) {
      if (!at->is_object()) return nullptr;
      const auto member = at->find(*key);
      if (member == at->end()) return nullptr;
      at = &*member;
    } else {
      const std::size_t index = std::get<std::size_t>(step);
      if (!at->is_array() || index >= at->size()) return nullptr;
      at = &(*at)[index];
    }
  }
  return at->is_null() ? nullptr : at;
}

void put(Tree& at, const std::vector<std::variant<std::string, std::size_t>>& steps, std::size_t i, const std::optional<Tree>& value) {
  if (const auto* key = std::get_if<std::string>(&steps[i])) {
    if (!at.is_object()) {
      if (!value) return;
      at = Tree::object();
    }
    if (i + 1 < steps.size()) {
      if (!at.contains(*key) && !value) return;
      put(at[*key], steps, i + 1, value);
      // A section that lost its last field goes with it.
      if (!value && (at[*key].is_object() || at[*key].is_array()) && at[*key].empty()) at.erase(*key);
    } else if (value) {
      at[*key] = *value;
    } else {
      at.erase(*key);
    }
    return;
  }
  const std::size_t index = std::get<std::size_t>(steps[i]);
  if (!at.is_array()) at = Tree::array();
  if (i + 1 < steps.size()) {
    while (at.size() <= index) at.push_back(Tree::object());
    put(at[index], steps, i + 1, value);
  } else if (value) {
    while (at.size() < index) at.push_back(nullptr);
    if (at.size() == index) {
      at.push_back(*value);
    } else {
      at[index] = *value;
    }
  } else if (index < at.size()) {
    at.erase(index);
  }
}

Tree parse_tree(const std::string& text, const std::string& file) {
  const nlohmann::json strict = scenario::parse_document(text, file);
  if (!strict.is_object()) throw InputError({.file = file, .where = "$", .found = scenario::describe(strict), .expected = "a scenario: an object with model, plan and cluster", .hint = ""});
  return Tree::parse(text);
}

std::string textOf(const Tree& tree) { return tree.dump(2, ' ', false, Tree::error_handler_t::replace) + "\n"; }

constexpr const char* kPaths[] = {"model.config", "model.graph", "cluster.file", "profile", "stack"};

QByteArray bytesOf(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

bool is_path(const QString& field, const QString& value) {
  // A stack may be a name of one that ships; a path has a folder or an ending.
  return field != QLatin1String("stack") || value.contains(QLatin1Char('/')) || value.endsWith(QLatin1String(".json"));
}

/// Writes the relative paths of a scenario's files anew: `renamed` gives each, taken from `folder`, as it is to stand there.
void rewritePaths(Tree& tree, const QString& folder, const std::function<QString(const QString& absolute)>& renamed) {
  for (const char* field : kPaths) {
    const Tree* node = find(tree, QLatin1String(field));
    if (node == nullptr || !node->is_string()) continue;
    const QString old = QString::fromStdString(node->get<std::string>());
    if (!is_path(QLatin1String(field), old) || QDir::isAbsolutePath(old)) continue;
    put(tree, steps_of(QLatin1String(field)), 0, Tree(renamed(QDir::cleanPath(QDir(folder).absoluteFilePath(old))).toStdString()));
  }
}

}  // namespace

bool sameBut(const ScenarioState& a, const ScenarioState& b, const std::set<std::string>& paths) {
  const auto rest = [&paths](const ScenarioState& state) {
    Tree tree = Tree::parse(state.text);
    rewritePaths(tree, state.folder, [](const QString& absolute) { return absolute; });
    put(tree, steps_of(QStringLiteral("description")), 0, std::nullopt);
    for (auto path = paths.rbegin(); path != paths.rend(); ++path) put(tree, steps_of(QString::fromStdString(*path)), 0, std::nullopt);
    return nlohmann::json(tree);  // members in any order
  };
  return rest(a) == rest(b);
}

/// Edits of one field merge while they follow each other within this.
constexpr std::chrono::milliseconds kTyping(1500);

/// A state before and after; typing into one field merges.
class ScenarioDocument::Edit : public QUndoCommand {
 public:
  Edit(ScenarioDocument& document, std::string before, std::string after, const QString& field, const QString& what)
      : QUndoCommand(what), document_(document), before_(std::move(before)), after_(std::move(after)), field_(field) {}
  void undo() override { document_.apply(before_); }
  void redo() override { document_.apply(after_); }
  [[nodiscard]] int id() const override { return field_.isEmpty() ? -1 : 1; }
  bool mergeWith(const QUndoCommand* other) override {
    const auto* edit = static_cast<const Edit*>(other);
    if (edit->field_ != field_ || edit->when_ - when_ > kTyping) return false;
    after_ = edit->after_;
    when_ = edit->when_;
    setObsolete(after_ == before_);
    return true;
  }

 private:
  ScenarioDocument& document_;
  std::string before_, after_;
  QString field_;
  std::chrono::steady_clock::time_point when_ = std::chrono::steady_clock::now();
};

ScenarioDocument::ScenarioDocument(QObject* parent) : QObject(parent), tree_(std::make_unique<Tree>(Tree::object())) {
  undo_.setUndoLimit(1000);
  connect(&undo_, &QUndoStack::cleanChanged, this, &ScenarioDocument::nameChanged);
}

ScenarioDocument::~ScenarioDocument() = default;

void ScenarioDocument::load(const QString& path) {
  const std::string file = path.toStdString();
  QByteArray bytes = bytesOf(path);
  *tree_ = parse_tree(scenario::read_document_text(file), file);
  disk_ = std::move(bytes);
  path_ = QFileInfo(path).absoluteFilePath();
  folder_ = QFileInfo(path).absolutePath();
  name_ = QFileInfo(path).fileName();
  undo_.clear();
  Q_EMIT nameChanged();
  Q_EMIT changed();
}

void ScenarioDocument::setText(const std::string& text, const QString& folder, const QString& name, const QString& draft) {
  *tree_ = parse_tree(text, name.toStdString());
  path_.clear();
  disk_.clear();
  draft_ = draft.isEmpty() ? QUuid::createUuid().toString(QUuid::WithoutBraces) : draft;
  folder_ = folder;
  name_ = name;
  undo_.clear();
  Q_EMIT nameChanged();
  Q_EMIT changed();
}

QString ScenarioDocument::name() const { return name_.isEmpty() ? tr("untitled") : name_; }

std::string ScenarioDocument::text() const { return textOf(*tree_); }

void ScenarioDocument::apply(const std::string& text) {
  *tree_ = Tree::parse(text);
  Q_EMIT changed();
}

void ScenarioDocument::replaceText(const std::string& text, const QString& what) {
  const Tree tree = parse_tree(text, name().toStdString());
  if (tree == *tree_) return;
  undo_.push(new Edit(*this, this->text(), tree.dump(2), {}, what));
}

bool ScenarioDocument::changedOnDisk() const { return !path_.isEmpty() && QFileInfo::exists(path_) && bytesOf(path_) != disk_; }

void ScenarioDocument::reload() {
  QByteArray bytes = bytesOf(path_);
  replaceText(scenario::read_document_text(path_.toStdString()), tr("reload"));
  disk_ = std::move(bytes);
  undo_.setClean();
}

void ScenarioDocument::save(const QString& path) {
  const QString new_folder = QFileInfo(path).absolutePath();
  Tree saved = *tree_;
  if (new_folder != folder_) rewritePaths(saved, folder_, [folder = QDir(new_folder)](const QString& absolute) { return folder.relativeFilePath(absolute); });
  QSaveFile file(path);
  const std::string bytes = textOf(saved);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes.data(), static_cast<qint64>(bytes.size())) < 0 || !file.commit()) {
    throw EnvironmentError("cannot write " + path.toStdString() + ": " + file.errorString().toStdString());
  }
  *tree_ = std::move(saved);
  disk_ = QByteArray::fromStdString(bytes);
  path_ = QFileInfo(path).absoluteFilePath();
  const bool moved = new_folder != folder_;
  folder_ = new_folder;
  name_ = QFileInfo(path).fileName();
  if (moved) undo_.clear();  // older states have paths relative to the old folder
  undo_.setClean();
  Q_EMIT nameChanged();
  if (moved) Q_EMIT changed();
}

std::optional<QString> ScenarioDocument::value(const QString& path) const {
  const Tree* node = find(*tree_, path);
  if (node == nullptr) return std::nullopt;
  return QString::fromStdString(node->is_string() ? node->get<std::string>() : node->dump());
}

int ScenarioDocument::listSize(const QString& path) const {
  const Tree* node = find(*tree_, path);
  return node != nullptr && node->is_array() ? static_cast<int>(node->size()) : 0;
}

void ScenarioDocument::set(const QString& path, const std::optional<std::string>& json, const QString& what) {
  Tree after = *tree_;
  put(after, steps_of(path), 0, json ? std::optional<Tree>(Tree::parse(*json)) : std::nullopt);
  if (after == *tree_) return;
  undo_.push(new Edit(*this, text(), after.dump(2), path, what));
}

void ScenarioDocument::type(const QString& path, const QString& typed, const QString& what) {
  static const QRegularExpression number(QStringLiteral("^-?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?$"));
  const QString text = typed.trimmed();
  if (text.isEmpty()) return set(path, std::nullopt, what);
  const bool literal = number.match(text).hasMatch() || text == QLatin1String("true") || text == QLatin1String("false") || text.startsWith(QLatin1Char('['));
  if (literal && Tree::accept(text.toStdString())) return set(path, text.toStdString(), what);
  set(path, Tree(text.toStdString()).dump(), what);
}

void ScenarioDocument::setAll(const std::vector<std::pair<QString, std::optional<std::string>>>& fields, const QString& what) {
  Tree after = *tree_;
  for (const auto& [path, json] : fields) put(after, steps_of(path), 0, json ? std::optional<Tree>(Tree::parse(*json)) : std::nullopt);
  if (after == *tree_) return;
  undo_.push(new Edit(*this, text(), after.dump(2), {}, what));
}

std::variant<scenario::Scenario, InputProblem> ScenarioDocument::check() const {
  try {
    return scenario::scenario_from_text(text(), name().toStdString(), folder_.toStdString());
  } catch (const InputError& error) {
    return error.problem();
  } catch (const std::exception& error) {
    return InputProblem{.file = name().toStdString(), .where = "$", .found = error.what(), .expected = "", .hint = ""};
  }
}

Checked ScenarioDocument::checkAll() const {
  Checked checked;
  constexpr int kMost = 64;
  Tree tree = *tree_;
  for (int i = 0; i < kMost; ++i) {
    try {
      checked.rest = scenario::scenario_from_text(textOf(tree), name().toStdString(), folder_.toStdString());
      return checked;
    } catch (const InputError& error) {
      QString path = QString::fromStdString(error.problem().where);
      if (path.startsWith(QLatin1String("$."))) path.remove(0, 2);
      const bool there = path != QLatin1String("$") && find(tree, path) != nullptr;
      // What is missing only because a wrong value was left out is no mistake of the scenario.
      if (there || checked.problems.empty()) checked.problems.push_back(error.problem());
      if (!there) return checked;
      put(tree, steps_of(path), 0, std::nullopt);
    } catch (const std::exception& error) {
      checked.problems.push_back({.file = name().toStdString(), .where = "$", .found = error.what(), .expected = "", .hint = ""});
      return checked;
    }
  }
  return checked;
}

}  // namespace sgsim::gui

#pragma once

#include <QString>
#include <QStringList>
#include <vector>

namespace sgsim::gui {

enum class FieldKind : unsigned char { integer, number, quantity, choice, flag, file, text };

/// One field of a scenario as the editor shows it; docs/formats/scenario.md has what it means.
struct Field {
  QString path;         // as --set takes it
  QString label;
  FieldKind kind = FieldKind::text;
  QStringList choices;  // choice; file and text: suggestions
  QString tip;
};
struct Section {
  QString title;
  std::vector<Field> fields;
  bool open = true;     // unfolded at first
};

/// Where the scenarios, models and clusters that ship lie; empty where they are missing.
[[nodiscard]] QString dataFolder();

/// All sections; choices come from the scenario reader's own words and from the data that ships.
[[nodiscard]] std::vector<Section> scenarioSections();

}  // namespace sgsim::gui

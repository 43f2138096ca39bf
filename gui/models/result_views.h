#pragma once

#include <vector>

#include "gui/models/chart.h"
#include "gui/models/table_model.h"
#include "sim/scenario/critical_path.h"
#include "sim/scenario/explain.h"
#include "sim/scenario/live.h"
#include "sim/scenario/result.h"

/// Results as tables and charts: the same figures as `sgsim simulate` prints, no others.
namespace sgsim::gui {

/// A result with the name that it has beside others.
struct NamedResult {
  QString name;
  const scenario::Result* result = nullptr;
};

/// "90 %: 1.607 s to 2.483 s": both ends, which are not equally far away.
[[nodiscard]] QString intervalText(const scenario::Result& result);
[[nodiscard]] Table figuresTable(const scenario::Result& result);
[[nodiscard]] Table stepTable(const scenario::Result& result);      // where the step goes, and what it rests on
[[nodiscard]] Table classesTable(const scenario::Result& result);
[[nodiscard]] Table timesTable(const QString& title, const std::vector<scenario::NamedTime>& times, double step);
[[nodiscard]] Table pathTable(const std::vector<scenario::PathTime>& path, double step);
[[nodiscard]] Table notesTable(const scenario::Result& result);     // notes, diagnostics
/// What is live at a time, by kind and item by item.
[[nodiscard]] Table kindsTable(const scenario::MemoryAt& at, bool peak);
[[nodiscard]] Table itemsTable(const std::vector<lower::LiveItem>& items, double seconds);
[[nodiscard]] Table changesTable(const scenario::Explanation& explanation);
/// The first result and how the others differ from it.
[[nodiscard]] Table compareTable(const std::vector<NamedResult>& results);
/// Device time by kernel and communication, the first result against another; largest difference first.
[[nodiscard]] Table differenceTable(const NamedResult& base, const NamedResult& other);

[[nodiscard]] Chart breakdownChart(const std::vector<NamedResult>& results);
[[nodiscard]] Chart memoryBars(const std::vector<NamedResult>& results);
/// Allocated bytes by kind over the step of one rank class, with its peak.
[[nodiscard]] Chart memoryChart(const QString& title, const std::vector<scenario::MemoryAt>& curve, double step, double capacity);

}  // namespace sgsim::gui

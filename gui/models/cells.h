#pragma once

#include <optional>
#include <string>

#include "gui/models/chart.h"
#include "gui/models/table_model.h"
#include "sim/core/quantity.h"

/// The cells that tables are made of: what is shown, and the number in base units that sorts and is exported.
namespace sgsim::gui {

[[nodiscard]] inline QString qstr(const std::string& s) { return QString::fromStdString(s); }
[[nodiscard]] inline Cell timeCell(double seconds) { return {timeText(seconds), seconds}; }
[[nodiscard]] inline Cell timeCell(Seconds s) { return timeCell(s.value()); }
[[nodiscard]] inline Cell bytesCell(double bytes) { return {bytesText(bytes), bytes}; }
[[nodiscard]] inline Cell bytesCell(Bytes b) { return bytesCell(b.value()); }
[[nodiscard]] inline Cell shareCell(double share) { return {percentText(share), share}; }
[[nodiscard]] inline Cell numberCell(double value) { return {numberText(value), value}; }
/// Digits in groups of three.
[[nodiscard]] Cell countCell(std::int64_t count);
/// A change: with its sign.
[[nodiscard]] QString changeText(double share);
[[nodiscard]] inline Cell changeCell(double share) { return {changeText(share), share}; }
/// A value that may be missing; missing ones sort last.
[[nodiscard]] Cell cellOr(const std::optional<double>& value, QString (*words)(double));
/// A long text: cut where there is no room, whole when hovered.
[[nodiscard]] Cell longCell(const QString& words);

}  // namespace sgsim::gui

#pragma once

#include <QColor>
#include <QPalette>

#include "gui/models/timeline_data.h"

namespace sgsim::gui {

/// Strokes over a colour: what the summary strip shows is told apart without colour too.
enum class Hatch : unsigned char { none, rising, falling, dots };
[[nodiscard]] Hatch hatchOf(Category category);
/// Whether a pixel of the pattern is inked.
[[nodiscard]] bool inked(Hatch hatch, int x, int y);

/// Colours of everything that is drawn. Series and categories use the palette of Okabe and Ito (2008, "Color Universal
/// Design"), which people with any common colour blindness can tell apart; no meaning is carried by colour alone.
struct Theme {
  QColor background, surface, text, muted, grid, accent, error, warning, good;
  bool dark = false;

  [[nodiscard]] QColor series(int index) const;
  /// The index under which `series` has a category's colour: charts of what the timeline shows look like it.
  static constexpr int kOfCategory = 1000;
  [[nodiscard]] QColor category(Category category) const;
  /// Of the strokes over a category's colour.
  [[nodiscard]] QColor hatchInk(Category category) const;
  /// From cold (0, idle) to hot (1, always busy); also readable in grey.
  [[nodiscard]] QColor heat(double share) const;
};

[[nodiscard]] Theme lightTheme();
[[nodiscard]] Theme darkTheme();
/// The theme that goes with a widget's palette.
[[nodiscard]] Theme themeOf(const QPalette& palette);
/// The palette of the whole application in light or dark.
[[nodiscard]] QPalette paletteOf(const Theme& theme);
/// Black or white, whichever reads better on `background` (relative luminance as in WCAG 2.1).
[[nodiscard]] QColor readableOn(const QColor& background);
/// Contrast ratio of two colours, 1 to 21 (WCAG 2.1).
[[nodiscard]] double contrast(const QColor& a, const QColor& b);

}  // namespace sgsim::gui

#include "gui/models/theme.h"

#include <algorithm>
#include <cmath>

namespace sgsim::gui {
namespace {

double linear(double channel) { return channel <= 0.03928 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4); }

double luminance(const QColor& c) { return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF()); }

QColor blend(const QColor& a, const QColor& b, double t) {
  return QColor::fromRgbF(static_cast<float>(a.redF() + (b.redF() - a.redF()) * t), static_cast<float>(a.greenF() + (b.greenF() - a.greenF()) * t),
                          static_cast<float>(a.blueF() + (b.blueF() - a.blueF()) * t));
}

}  // namespace

QColor Theme::series(int index) const {
  if (index >= kOfCategory) return category(static_cast<Category>(index - kOfCategory));
  static const QColor kLight[] = {QColor(0x00, 0x72, 0xb2), QColor(0xe6, 0x9f, 0x00), QColor(0x00, 0x9e, 0x73), QColor(0xcc, 0x79, 0xa7),
                                  QColor(0x56, 0xb4, 0xe9), QColor(0xd5, 0x5e, 0x00), QColor(0x80, 0x80, 0x80), QColor(0xbf, 0xb0, 0x20)};
  constexpr int kCount = 8;
  const QColor c = kLight[((index % kCount) + kCount) % kCount];
  return dark && index % kCount == 0 ? QColor(0x2a, 0x7c, 0xc4) : c;  // the palette's blue is too dark there
}

QColor Theme::category(Category category) const {
  switch (category) {
    case Category::forward: return QColor(0x56, 0xb4, 0xe9);
    case Category::backward: return QColor(0x00, 0x72, 0xb2);
    case Category::optimizer: return QColor(0x00, 0x9e, 0x73);
    case Category::nvlink: return QColor(0xe6, 0x9f, 0x00);
    case Category::network: return QColor(0xd5, 0x5e, 0x00);
    case Category::wait: return dark ? QColor(0x54, 0x54, 0x5c) : QColor(0xc4, 0xc4, 0xcc);
    case Category::copy: return QColor(0xcc, 0x79, 0xa7);
    case Category::host: return QColor(0x5c, 0x2f, 0x7d);
    case Category::computing: return dark ? QColor(0xa8, 0xc8, 0xd8) : QColor(0x2f, 0x48, 0x58);
    case Category::exposed: return QColor(0xf0, 0xe4, 0x42);
    case Category::bubble: return dark ? QColor(0xd0, 0xd0, 0xd6) : QColor(0x5c, 0x5c, 0x64);
    case Category::starved: return dark ? QColor(0x9a, 0x7f, 0xc0) : QColor(0xc9, 0xb3, 0xe6);
  }
  return text;
}

QColor Theme::hatchInk(Category of) const { return contrast(category(of), Qt::black) >= contrast(category(of), Qt::white) ? QColor(0x1b, 0x1f, 0x24) : QColor(0xff, 0xff, 0xff); }

Hatch hatchOf(Category category) {
  switch (category) {
    case Category::exposed: return Hatch::rising;
    case Category::bubble: return Hatch::falling;
    case Category::starved: return Hatch::dots;
    default: return Hatch::none;
  }
}

bool inked(Hatch hatch, int x, int y) {
  switch (hatch) {
    case Hatch::rising: return ((x + y) % 7 + 7) % 7 < 2;
    case Hatch::falling: return ((x - y) % 7 + 7) % 7 < 2;
    case Hatch::dots: return (x % 5 + 5) % 5 < 2 && (y % 5 + 5) % 5 < 2;
    case Hatch::none: break;
  }
  return false;
}

QColor Theme::heat(double share) const {
  const double t = std::clamp(share, 0.0, 1.0);
  const QColor low = dark ? QColor(0x2b, 0x33, 0x40) : QColor(0xe8, 0xee, 0xf4);
  const QColor middle(0xe6, 0x9f, 0x00), high(0x9c, 0x2a, 0x00);
  return t < 0.5 ? blend(low, middle, t * 2.0) : blend(middle, high, t * 2.0 - 1.0);
}

Theme lightTheme() {
  return {.background = QColor(0xff, 0xff, 0xff), .surface = QColor(0xf3, 0xf4, 0xf6), .text = QColor(0x1b, 0x1f, 0x24), .muted = QColor(0x57, 0x60, 0x6a),
          .grid = QColor(0xdd, 0xe1, 0xe6), .accent = QColor(0x00, 0x5f, 0x99), .error = QColor(0xb3, 0x26, 0x1e), .warning = QColor(0x8a, 0x5a, 0x00),
          .good = QColor(0x00, 0x6e, 0x50), .dark = false};
}

Theme darkTheme() {
  return {.background = QColor(0x1a, 0x1d, 0x21), .surface = QColor(0x24, 0x28, 0x2e), .text = QColor(0xe8, 0xea, 0xed), .muted = QColor(0xa4, 0xab, 0xb4),
          .grid = QColor(0x3a, 0x40, 0x48), .accent = QColor(0x6c, 0xb8, 0xf0), .error = QColor(0xff, 0x8a, 0x80), .warning = QColor(0xf0, 0xb4, 0x4c),
          .good = QColor(0x4c, 0xc9, 0x9f), .dark = true};
}

Theme themeOf(const QPalette& palette) { return palette.color(QPalette::Window).lightness() < 128 ? darkTheme() : lightTheme(); }

QPalette paletteOf(const Theme& t) {
  QPalette p;
  p.setColor(QPalette::Window, t.surface);
  p.setColor(QPalette::WindowText, t.text);
  p.setColor(QPalette::Base, t.background);
  p.setColor(QPalette::AlternateBase, t.surface);
  p.setColor(QPalette::ToolTipBase, t.background);
  p.setColor(QPalette::ToolTipText, t.text);
  p.setColor(QPalette::PlaceholderText, t.muted);
  p.setColor(QPalette::Text, t.text);
  p.setColor(QPalette::Button, t.dark ? QColor(0x30, 0x36, 0x3e) : QColor(0xe9, 0xeb, 0xee));
  p.setColor(QPalette::ButtonText, t.text);
  p.setColor(QPalette::BrightText, t.error);
  p.setColor(QPalette::Link, t.accent);
  p.setColor(QPalette::Highlight, t.dark ? QColor(0x1f, 0x6f, 0xab) : QColor(0x00, 0x5f, 0x99));
  p.setColor(QPalette::HighlightedText, Qt::white);
  p.setColor(QPalette::Light, t.dark ? t.grid : Qt::white);
  p.setColor(QPalette::Mid, t.grid);
  p.setColor(QPalette::Dark, t.dark ? QColor(0x10, 0x12, 0x15) : QColor(0xa0, 0xa6, 0xad));
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) p.setColor(QPalette::Disabled, role, t.muted);
  return p;
}

double contrast(const QColor& a, const QColor& b) {
  const double la = luminance(a), lb = luminance(b);
  return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

QColor readableOn(const QColor& background) {
  return contrast(background, Qt::black) >= contrast(background, Qt::white) ? QColor(Qt::black) : QColor(Qt::white);
}

}  // namespace sgsim::gui

#pragma once

#include <QLineEdit>
#include <QString>
#include <memory>

#include "gui/app/main_window.h"

/// A scenario that ships.
QString shipped(const QString& name);

/// Types over what stands in a field, key by key.
void retype(QLineEdit* edit, const QString& text);

/// Takes away what earlier tests left unsaved, which a window would offer.
void forgetUnsaved();

/// A window of the usual size, shown; it may not be exposed yet.
std::unique_ptr<sgsim::gui::MainWindow> shownWindow();

#pragma once

#include <QLineEdit>
#include <QString>
#include <memory>

#include "gui/app/main_window.h"

/// A scenario that ships.
QString shipped(const QString& name);

/// Types over what stands in a field, key by key.
void retype(QLineEdit* edit, const QString& text);

/// Presses at one place, moves in steps, lets go at another.
void dragMouse(QWidget* widget, const QPoint& from, const QPoint& to, Qt::KeyboardModifiers keys = Qt::NoModifier, bool let_go = true);
void turnWheel(QWidget* widget, const QPointF& at, int notches, Qt::KeyboardModifiers keys = Qt::NoModifier);

/// Of the column with this title.
int columnOf(const sgsim::gui::Table& table, const QString& title);

/// Takes away what earlier tests left unsaved, which a window would offer.
void forgetUnsaved();

/// A window of the usual size, shown; it may not be exposed yet.
std::unique_ptr<sgsim::gui::MainWindow> shownWindow();

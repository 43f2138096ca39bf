#pragma once

#include <QString>
#include <vector>

#include "gui/models/chart.h"
#include "gui/models/table_model.h"
#include "gui/session/simulate_job.h"

namespace sgsim::gui {

class TimelineView;

/// A page that needs nothing else: figures, charts as SVG, the scenario itself. Prints on A4 without cut tables.
/// `remarks`: what a reader must know of it, one a paragraph.
[[nodiscard]] QString htmlReport(const Simulated& simulated, TimelineView* timeline, const std::vector<Chart>& charts, const std::vector<Table>& tables, const QStringList& remarks);

}  // namespace sgsim::gui

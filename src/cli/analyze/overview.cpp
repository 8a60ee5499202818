#include "cli/analyze/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/plain_text.h"
#include "report/summary_text.h"

namespace accel::cli {
namespace {

constexpr std::size_t kNameColumns = 40;
constexpr std::size_t kNarrowestFinding = 20;

using Cells = std::array<std::string, 6>;

Cells cells_of(const OverviewRow& row) {
  return {report::shortened(report::visible_text(row.name), kNameColumns),
          row.rank,
          row.undisturbed,
          row.measured,
          row.limited_by,
          report::visible_text(row.finding)};
}

}  // namespace

OverviewRow overview_row(const std::string& name, const report::Document& document, report::Language language) {
  OverviewRow row;
  row.name = name;
  row.rank = document.inputs.front().rank ? std::to_string(*document.inputs.front().rank) : "-";
  row.undisturbed = document.step_time.undisturbed_ms ? report::duration_text(*document.step_time.undisturbed_ms) : "-";
  row.measured = document.step_time.mean_ms ? report::duration_text(*document.step_time.mean_ms) : "-";
  row.limited_by = report::label_named("bound_" + document.verdict.bound_by.text, language);
  row.finding = document.findings.empty() ? "-" : document.findings.front().title;
  return row;
}

std::string overview_text(const std::vector<OverviewRow>& rows, const std::string& folder, std::size_t columns) {
  std::vector<Cells> table = {{"trace", "rank", "step", "as recorded", "limited by", "first finding"}};
  for (const OverviewRow& row : rows) table.push_back(cells_of(row));
  std::array<std::size_t, 5> widths{};
  for (const Cells& cells : table) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], report::display_width(cells[i]));
  }
  std::string text;
  for (const Cells& cells : table) {
    std::size_t used = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string padding(widths[i] - report::display_width(cells[i]), ' ');
      const bool figure = i == 1 || i == 2 || i == 3;
      text += figure ? padding + cells[i] : cells[i] + padding;
      text += "  ";
      used += widths[i] + 2;
    }
    text += report::shortened(cells.back(), std::max(kNarrowestFinding, columns > used ? columns - used : 0));
    text += '\n';
  }
  text += fmt::format(
      "\nEach of the {} traces was analysed on its own: their clocks are not aligned, and waiting for another rank "
      "shows as\n"
      "communication. \"step\" is the step without the profiler. Reports: {}/NAME/\n",
      rows.size(), report::visible_text(folder));
  return text;
}

}  // namespace accel::cli

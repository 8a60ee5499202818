#include "cli/analyze/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/plain_text.h"
#include "report/summary_text.h"

namespace accel::cli {
namespace {

constexpr std::size_t kNameColumns = 40;
constexpr std::size_t kNarrowestFindings = 20;

using Cells = std::array<std::string, 6>;

Cells cells_of(const OverviewRow& row) {
  return {report::shortened(report::visible_text(row.name), kNameColumns),
          row.rank,
          row.undisturbed,
          row.measured,
          row.limited_by,
          report::visible_text(row.findings)};
}

}  // namespace

OverviewRow overview_row(const std::string& name, const report::Document& document, report::Language language) {
  OverviewRow row;
  row.name = name;
  row.rank = document.inputs.front().rank ? std::to_string(*document.inputs.front().rank) : "-";
  row.undisturbed = document.step_time.undisturbed_ms ? report::duration_text(*document.step_time.undisturbed_ms) : "-";
  row.measured = document.step_time.mean_ms ? report::duration_text(*document.step_time.mean_ms) : "-";
  row.limited_by = report::label_named("bound_" + document.verdict.bound_by.text, language);
  row.findings = document.findings.empty() ? "-" : "";
  for (const report::Finding& finding : document.findings) {
    if (!row.findings.empty()) row.findings += ", ";
    row.findings += finding.rule.text;
    if (finding.cost_ms_per_step) row.findings += " " + report::duration_text(*finding.cost_ms_per_step);
  }
  return row;
}

std::string overview_text(const std::vector<OverviewRow>& rows, const std::string& folder, std::size_t columns,
                          std::size_t fused) {
  std::vector<Cells> table = {{"trace", "rank", "step", "as recorded", "limited by", "findings, with their cost"}};
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
    const std::size_t room = std::max(kNarrowestFindings, columns > used ? columns - used : 0);
    const bool fits = report::display_width(cells.back()) <= room;
    text += fits ? cells.back() : cells.back().substr(0, cells.back().rfind(", ", room)) + ", ...";
    text += '\n';
  }
  if (fused > 0) {
    text += fmt::format(
        "\nEach trace by itself; \"step\" is the step without the profiler. Reports: {}/NAME/\nThe {} ranks "
        "together:\n\n",
        report::visible_text(folder), fused);
    return text;
  }
  text += fmt::format(
      "\nEach of the {} traces was analysed on its own: their clocks are not aligned, and waiting for\n"
      "another rank shows as communication. \"step\" is the step without the profiler.\nReports: {}/NAME/\n",
      rows.size(), report::visible_text(folder));
  return text;
}

}  // namespace accel::cli

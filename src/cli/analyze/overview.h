// The table that stands for the terminal report when several traces were analysed. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "report/document.h"
#include "report/labels.h"

namespace accel::cli {

struct OverviewRow {
  std::string name;
  std::string rank;
  std::string undisturbed;
  std::string measured;
  std::string limited_by;
  std::string findings;  // rules and what they cost
};

OverviewRow overview_row(const std::string& name, const report::Document& document, report::Language language);
// `fused`: how many of them the report of a job below compares; 0: none.
std::string overview_text(const std::vector<OverviewRow>& rows, const std::string& folder, std::size_t columns,
                          std::size_t fused = 0);

}  // namespace accel::cli

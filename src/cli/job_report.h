// Fuses the digests of a job and writes its report. One thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "fusion/digest/digest.h"
#include "fusion/job.h"
#include "report/document.h"
#include "report/labels.h"
#include "report/writer.h"

namespace accel::cli {

struct JobReportOptions {
  std::filesystem::path folder;
  std::vector<const report::WriterDescriptor*> writers;
  report::Language language = report::Language::english;
  bool full = false;
  bool quiet = false;
  bool no_colour = false;
  std::vector<report::RankReport> rank_reports = {};
  std::vector<report::RankTree> rank_trees = {};
};

// More than one rank of one job, with something in common.
bool worth_a_report(const fusion::Job& job);

// Writes the files and, unless quiet, prints what the terminal writer says. Returns the report.
Result<report::Document> report_job(const fusion::Job& job, const JobReportOptions& options);

}  // namespace accel::cli

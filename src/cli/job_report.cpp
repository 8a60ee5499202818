#include "cli/job_report.h"

#include <cstdio>
#include <utility>

#include "base/atomic_file.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "diagnosis/job_diagnosis.h"
#include "report/build_job.h"
#include "report/html/rank_trees.h"

namespace accel::cli {

bool worth_a_report(const fusion::Job& job) {
  return fusion::is_job(job.set) && (job.set.world_size > 1 || !job.matching.collectives.empty());
}

Result<report::Document> report_job(const fusion::Job& job, const JobReportOptions& options) {
  report::BuildOptions build;
  build.full = options.full;
  report::Document document = report::build_job_document(job, diagnose_job(job), build);
  report::WriterOptions writer_options;
  writer_options.language = options.language;
  writer_options.rank_reports = options.rank_reports;
  writer_options.rank_trees = report::choose_rank_trees(document, options.rank_trees);
  std::vector<std::string> contents;
  for (const report::WriterDescriptor* writer : options.writers) {
    if (writer->file_name.empty() || writer->of_one_trace) continue;
    contents.push_back(writer->write(document, writer_options));
    writer_options.files.push_back((options.folder / writer->file_name).string());
  }
  std::vector<OutputFile> files;
  files.reserve(contents.size());
  for (std::size_t i = 0; i < contents.size(); ++i) files.push_back({writer_options.files[i], contents[i]});
  if (auto written = write_files(files, interrupted); !written) return written.error();
  if (options.quiet) return document;
  writer_options.colour = colour_wanted(options.no_colour);
  writer_options.columns = terminal_columns();
  for (const report::WriterDescriptor* writer : options.writers) {
    if (!writer->file_name.empty()) continue;
    const std::string text = writer->write(document, writer_options);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return document;
}

}  // namespace accel::cli

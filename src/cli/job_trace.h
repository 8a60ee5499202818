// The ranks of a job as one Perfetto file: each trace is read again, one after the other, and stands on the common time
// axis. One thread.
#pragma once

#include <map>
#include <string>

#include "analysis/analysis.h"
#include "base/result.h"
#include "fusion/job.h"
#include "ingest/importer.h"
#include "report/anonymize/pseudonyms.h"

namespace accel::cli {

struct JobTraceOptions {
  std::string output;
  ImportOptions import;
  AnalysisOptions analysis;
  bool quiet = false;
  report::Pseudonyms* pseudonyms = nullptr;  // as for the digests
};

// Whether the name of an output asks for such a file.
bool is_perfetto_name(const std::string& output);

// `path_of`: the file behind each digest's source.
Result<void> write_job_trace(const fusion::Job& job, const std::map<std::string, std::string>& path_of,
                             const JobTraceOptions& options);

}  // namespace accel::cli

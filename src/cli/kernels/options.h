// What the parts of `accel-profiler kernels` share. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analysis.h"
#include "history/database.h"
#include "ingest/importer.h"

namespace accel::cli {

struct KernelsOptions {
  std::string database = "accel-kernels.db";
  std::vector<std::string> paths;  // traces, or databases to merge
  std::string label;
  std::vector<std::string> counters;  // files of ncu --csv
  std::int64_t keep = history::kUsualRuns;
  std::optional<std::int64_t> kernel;
  std::optional<std::int64_t> run;
  std::optional<std::int64_t> against;
  std::string contains;
  std::size_t limit = 20;
  bool all = false;
  bool json = false;
  bool quiet = false;
  bool fail = false;
  bool ncu = false;
  std::string output;
  ImportOptions import;
  AnalysisOptions analysis;
};

int record_kernels(const KernelsOptions& options);
int merge_kernels(const KernelsOptions& options);
int show_kernels(const KernelsOptions& options);
int list_kernel_runs(const KernelsOptions& options);
int compare_kernels(const KernelsOptions& options);
int replay_kernel(const KernelsOptions& options);
int explain_counters(const KernelsOptions& options);

// Says the error; the exit status for it.
int kernels_failed(const Error& error);
// "aten::mm [[64, 64], [64, 64]]"; a kernel without an op by its name.
std::string work_text(const history::Work& work);
std::string time_text(double ns);
// "2026-11-30 09:45:00"; empty where the time is not known.
std::string when_text(std::int64_t time_ns);

}  // namespace accel::cli

// What `compare` and `baseline check` share: two runs to a comparison, written and printed. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/anonymize_key.h"
#include "cli/load_run.h"
#include "report/labels.h"
#include "report/writer.h"

namespace accel::cli {

struct CompareOptions {
  std::string before;
  std::string after;
  std::string output;  // empty: nothing is written to files
  std::vector<std::string> formats;
  std::vector<std::string> fail_if;
  std::string language = "en";
  LoadOptions load;
  AnonymizeOptions anonymize;
  bool no_colour = false;
};

// Exit status.
int compare_runs(const CompareOptions& options);

}  // namespace accel::cli

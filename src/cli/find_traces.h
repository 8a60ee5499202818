// From the PATHs of the command line to files that may be traces, each with a name for its report. Reads folders, never
// files. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace accel::cli {

struct Candidate {
  std::string path;       // "-" = standard input
  std::string name;       // unique: the file's name without what only says how it is stored
  bool asked_for = true;  // named by the user, rather than found in a folder
};

// Folders are searched with their subfolders (hidden ones and links to folders are left out) for files that an importer
// may read, by name; the order is that of the names. A pattern (*.json) stands for the files that match it. A path that
// does not exist is an error.
Result<std::vector<Candidate>> find_traces(const std::vector<std::string>& paths);

// launch_bound.before.json.gz -> launch_bound.before
std::string report_name(const std::string& path);

}  // namespace accel::cli

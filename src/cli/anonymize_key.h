// The key of --anonymize as a file: read before, so that names keep their pseudonyms from run to run, and written
// before the reports, since one whose pseudonyms lead nowhere is of no use to its owner. One thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"
#include "report/anonymize/pseudonyms.h"

namespace accel::cli {

struct AnonymizeOptions {
  bool wanted = false;
  std::string key = "accel-anonymize-key.json";
};

void add_anonymize(CLI::App& app, AnonymizeOptions& options);

// Empty pseudonyms where there is no such file yet.
Result<report::Pseudonyms> load_key(const std::string& path);
// Only the owner may read it.
Result<void> save_key(const report::Pseudonyms& pseudonyms, const std::string& path);

}  // namespace accel::cli

#include "cli/anonymize_key.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/atomic_file.h"
#include "cli/interrupt.h"

namespace accel::cli {

namespace fs = std::filesystem;

void add_anonymize(CLI::App& app, AnonymizeOptions& options) {
  app.add_flag("--anonymize", options.wanted,
               "replace paths, functions, modules, ranges, hosts and shapes by stable pseudonyms in every report");
  app.add_option("--key", options.key,
                 "with --anonymize: file that leads from pseudonyms back to names; keep it [accel-anonymize-key.json]")
      ->type_name("FILE");
}

Result<report::Pseudonyms> load_key(const std::string& path) {
  if (!fs::exists(path)) return report::Pseudonyms();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return Error{ErrorCode::unreadable, "the key cannot be read", path};
  return report::Pseudonyms::from_json(text.str(), path);
}

Result<void> save_key(const report::Pseudonyms& pseudonyms, const std::string& path) {
  const std::string key = pseudonyms.to_json();
  const OutputFile file{path, key};
  if (auto written = write_files({&file, 1}, interrupted); !written) return written;
  std::error_code ignored;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, ignored);
  return {};
}

}  // namespace accel::cli

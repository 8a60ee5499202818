#include "cli/find_traces.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>

#include "fusion/rank_set/load_digest.h"
#include "ingest/importer.h"

namespace accel::cli {
namespace {

namespace fs = std::filesystem;

// How a file is stored, not what it is.
constexpr std::array<std::string_view, 11> kSuffixes = {fusion::kDigestSuffix,
                                                        ".pt.trace.json",
                                                        ".trace.json",
                                                        ".json",
                                                        ".gz",
                                                        ".zst",
                                                        ".zip",
                                                        ".tar",
                                                        ".tgz",
                                                        ".sqlite",
                                                        ".pftrace"};
constexpr std::array<std::string_view, 3> kPacked = {".zip", ".tar.gz", ".tgz"};

bool may_be_trace(const std::string& file_name) {
  const auto ends = [&](std::string_view suffix) { return file_name.ends_with(suffix); };
  if (std::any_of(kPacked.begin(), kPacked.end(), ends) || ends(fusion::kDigestSuffix)) return true;
  for (const ImporterDescriptor* importer : importers()) {
    std::string_view list = importer->extensions;
    while (!list.empty()) {
      const std::size_t blank = list.find(' ');
      const std::string_view extension = list.substr(0, blank);
      if (!extension.empty() && ends(extension)) return true;
      list.remove_prefix(blank == std::string_view::npos ? list.size() : blank + 1);
    }
  }
  return false;
}

Result<void> search(const std::string& folder, std::vector<Candidate>& found) {
  std::error_code error;
  std::vector<std::string> files;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  if (error) return Error{ErrorCode::io, "the folder cannot be read: " + error.message(), folder};
  for (; it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (error) return Error{ErrorCode::io, "the folder cannot be read: " + error.message(), folder};
    const std::string name = it->path().filename().string();
    std::error_code ignored;
    if (name.starts_with(".")) {
      if (it->is_directory(ignored)) it.disable_recursion_pending();
      continue;
    }
    if (it->is_regular_file(ignored) && may_be_trace(name)) files.push_back(it->path().string());
  }
  std::sort(files.begin(), files.end());
  // A window of our recorder with ops is two files: torch's trace holds all that the native one has of steps and
  // scopes.
  std::vector<std::string> kept;
  std::copy_if(files.begin(), files.end(), std::back_inserter(kept), [&](const std::string& file) {
    constexpr std::string_view kNative = ".accel";
    if (!file.ends_with(kNative)) return true;
    const std::string stem = file.substr(0, file.size() - kNative.size());
    return !std::binary_search(files.begin(), files.end(), stem + ".pt.trace.json.gz");
  });
  for (std::string& file : kept) found.push_back({std::move(file), "", false});
  return {};
}

// A pattern that no shell has expanded (it was quoted, or came from a program's list) stands for what it matches.
std::vector<std::string> expanded(const std::string& path) {
  std::error_code ignored;
  if (path.find_first_of("*?[") == std::string::npos || fs::exists(path, ignored)) return {path};
  std::vector<std::string> matches;
  glob_t found{};
  if (::glob(path.c_str(), 0, nullptr, &found) == 0) matches.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return matches.empty() ? std::vector<std::string>{path} : matches;
}

Result<void> add(const std::string& path, std::vector<Candidate>& candidates) {
  std::error_code error;
  if (path != "-" && !fs::exists(path, error))
    return Error{ErrorCode::not_found, error ? error.message() : "there is no such file or folder", path};
  if (path == "-" || !fs::is_directory(path, error)) {
    candidates.push_back({path, "", true});
    return {};
  }
  const std::size_t before = candidates.size();
  if (auto searched = search(path, candidates); !searched) return searched.error();
  if (candidates.size() > before) return {};
  return Error{ErrorCode::not_a_trace, "the folder holds no file that looks like a trace (.json, .json.gz, ...)", path};
}

// A second report of one name becomes name-2.
void name_all(std::vector<Candidate>& candidates) {
  std::set<std::string> taken;
  for (Candidate& candidate : candidates) {
    const std::string name = report_name(candidate.path);
    candidate.name = name;
    for (int number = 2; !taken.insert(candidate.name).second; ++number)
      candidate.name = name + "-" + std::to_string(number);
  }
}

}  // namespace

std::string report_name(const std::string& path) {
  if (path == "-") return "stdin";
  std::string name = fs::path(path).filename().string();
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view suffix : kSuffixes) {
      if (name.size() > suffix.size() && name.ends_with(suffix)) {
        name.resize(name.size() - suffix.size());
        again = true;
      }
    }
  }
  return name.empty() || name == "." || name == ".." ? "trace" : name;
}

Result<std::vector<Candidate>> find_traces(const std::vector<std::string>& paths) {
  std::vector<Candidate> candidates;
  for (const std::string& asked : paths) {
    for (const std::string& path : expanded(asked)) {
      if (auto added = add(path, candidates); !added) return added.error();
    }
  }
  name_all(candidates);
  return candidates;
}

}  // namespace accel::cli

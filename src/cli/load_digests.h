// The digests of a job from whatever was given: traces, digests, folders of them. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/rank_options.h"
#include "fusion/digest/digest.h"

namespace accel::cli {

struct LoadedDigests {
  std::vector<fusion::RankDigest> digests;
  std::vector<std::string> files;  // that were looked at
  bool all_read = true;            // false: an error was printed for a file that was asked for
};

// One file after the other: a trace is gone from memory when its digest is made.
Result<LoadedDigests> load_digests(const std::vector<std::string>& paths, const RankOptions& options, bool quiet);

}  // namespace accel::cli

// The ranks of a job as digests, from whatever was given: traces, digests, folders of them. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/analyze/flight_dumps.h"
#include "cli/rank_options.h"
#include "fusion/digest/digest.h"
#include "fusion/topology/topology.h"
#include "report/anonymize/pseudonyms.h"
#include "report/writer.h"

namespace accel::cli {

struct LoadedDigests {
  std::vector<fusion::RankDigest> digests;
  std::vector<std::string> files;              // that were looked at
  std::map<std::string, std::string> path_of;  // of each digest's source
  std::vector<report::RankTree> trees;         // of traces
  std::optional<fusion::Topology> topology;    // that a capture holds of its host
  FlightDumps dumps;                           // of the flight recorder, beside the traces
  bool all_read = true;                        // false: an error was printed for a file that was asked for
};

// One file after the other: a trace is gone from memory when its digest is made. `pseudonyms` not null: names become
// pseudonyms. Ends the program where it was interrupted.
Result<LoadedDigests> load_digests(const std::vector<std::string>& paths, const RankOptions& options, bool quiet,
                                   report::Pseudonyms* pseudonyms = nullptr);

}  // namespace accel::cli

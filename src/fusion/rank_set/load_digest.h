// From a file to the digest of a rank: a trace is read, analysed and reduced, a digest read back. The trace's memory is
// free again when the function returns. Pure but for the file; any thread.
#pragma once

#include <string>

#include "analysis/analysis.h"
#include "base/result.h"
#include "fusion/digest/digest.h"
#include "ingest/importer.h"

namespace accel::fusion {

// What a file that was written as a digest is called.
inline constexpr std::string_view kDigestSuffix = ".accdigest";

bool is_digest_file(const std::string& path);
Result<RankDigest> load_digest(const std::string& path, const ImportOptions& import, const AnalysisOptions& analysis);

}  // namespace accel::fusion

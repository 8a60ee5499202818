// One rank of a job as its digest: from a trace, made anonymous where that is asked for, or from a digest file. One
// thread.
#pragma once

#include <optional>
#include <string>

#include "analysis/analysis.h"
#include "base/result.h"
#include "fusion/digest/digest.h"
#include "fusion/topology/topology.h"
#include "ingest/importer.h"
#include "report/anonymize/pseudonyms.h"
#include "report/writer.h"

namespace accel::cli {

// `pseudonyms` not null: names become pseudonyms. A digest file holds its names for good: it is refused then.
// `tree` not null: gets the rank's call tree, which a digest has not. `topology` not null and empty: gets what the
// capture holds of its host.
Result<fusion::RankDigest> load_rank(const std::string& path, const ImportOptions& import,
                                     const AnalysisOptions& analysis, report::Pseudonyms* pseudonyms,
                                     std::optional<report::RankTree>* tree = nullptr,
                                     std::optional<fusion::Topology>* topology = nullptr);

}  // namespace accel::cli

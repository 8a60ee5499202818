#include "cli/load_rank.h"

#include "cli/find_topology.h"
#include "fusion/digest/make_digest.h"
#include "fusion/rank_set/load_digest.h"
#include "report/anonymize/anonymize.h"
#include "report/html/rank_trees.h"

namespace accel::cli {

Result<fusion::RankDigest> load_rank(const std::string& path, const ImportOptions& import,
                                     const AnalysisOptions& analysis, report::Pseudonyms* pseudonyms,
                                     std::optional<report::RankTree>* tree, std::optional<fusion::Topology>* topology) {
  if (path != "-" && fusion::is_digest_file(path)) {
    if (pseudonyms == nullptr) return fusion::load_digest(path, import, analysis);
    return Error{ErrorCode::invalid_argument,
                 "--anonymize works on traces: this is a digest, with the names in it; make it again with digest "
                 "--anonymize",
                 path};
  }
  auto store = import_trace(path, import);
  if (!store) return store.error();
  if (topology != nullptr && !*topology) *topology = recorded_topology(*store);
  if (pseudonyms != nullptr) report::anonymize_names(*store, *pseudonyms);
  const auto results = run_analyses(*store, analysis);
  if (!results) return results.error();
  fusion::RankDigest digest = fusion::make_digest(*store, *results);
  if (pseudonyms != nullptr) report::anonymize_digest(digest, *pseudonyms);
  if (tree != nullptr) *tree = report::pack_rank_tree(store->process.rank, results->call_tree.get());
  return digest;
}

}  // namespace accel::cli

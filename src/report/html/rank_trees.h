// Call trees as the page reads them: as JSON, and packed for the ranks of a job, each of which the page unpacks when it
// is asked for. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/call_tree/call_tree.h"
#include "report/document.h"
#include "report/writer.h"

namespace accel::report {

std::string call_tree_json(const CallTree& tree);

// Nothing without a complete step.
std::optional<RankTree> pack_rank_tree(std::optional<std::int64_t> rank, const CallTree* tree);

// Those of the ranks that findings name, then others, as many as a page carries; by rank.
std::vector<RankTree> choose_rank_trees(const Document& document, std::vector<RankTree> trees);

}  // namespace accel::report

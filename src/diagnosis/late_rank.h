// What the two rules about late ranks share: the sentence, the evidence and the cause in words. Pure.
#pragma once

#include <string>

#include "diagnosis/job_parts.h"

namespace accel {

// Ranks differ by less than this share of a step in any job.
inline constexpr double kLateRankShare = 0.03;

// Which of the two rules a straggler belongs to: more or larger device work than the peers is an imbalance of the work.
bool is_imbalance(const fusion::Straggler& straggler);

// Its host comes late by its own doing and not by that of the recorder: what it does longer than its peers is most of
// the delay.
bool is_explained(const fusion::Straggler& straggler);

// "a stretch of 20.0 ms outside of every op, before Optimizer.zero_grad", "40 more kernels nvjet... on [[4096, ...]]".
std::string cause_text(const fusion::LateCause& cause);

// What it does longer than its peers: "data loading", "more work on its device".
std::string activity_text(const fusion::Straggler& straggler);

// "rank 3 on host node7", "host node7 (ranks 24 to 31)".
std::string straggler_text(const fusion::Job& job, const fusion::Straggler& straggler);

// Title, evidence and places: "All-reduce held up by rank 1: ... 18.7 ms later than its peers in every step".
Finding late_rank_finding(const JobInput& input, const fusion::Straggler& straggler, std::string_view rule);

}  // namespace accel

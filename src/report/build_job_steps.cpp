#include "report/build_job_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "diagnosis/late_rank.h"
#include "report/build_parts.h"

namespace accel::report {
namespace {

constexpr std::size_t kSteps = 1000;

std::string operation(const fusion::Job& job, std::uint32_t row) {
  const fusion::MatchedCollective& one = job.matching.collectives[row];
  const fusion::MatchedGroup& group = job.matching.groups[one.group];
  return fmt::format("{} {} of {}", one.name, one.index,
                     group.name.empty() ? "all ranks" : "group " + valid_utf8(group.name));
}

const fusion::Straggler* straggler_of(const fusion::Job& job, std::uint32_t rank) {
  for (const auto* list : {&job.stragglers.stragglers, &job.stragglers.of_recording}) {
    for (const fusion::Straggler& one : *list)
      if (std::find(one.ranks.begin(), one.ranks.end(), rank) != one.ranks.end()) return &one;
  }
  return nullptr;
}

void hold(const fusion::Job& job, const fusion::LateStep& late, JobStep& entry) {
  if (!late.late) return;
  entry.held_by = job.set.rank_of(late.rank);
  entry.late_ms = number(late.lateness_ns / 1e6);
  if (late.collective != fusion::kNoRow) entry.before = operation(job, late.collective);
  if (late.saved_ns) entry.without_ms = number(std::max(0.0, entry.path_ms - *late.saved_ns / 1e6));
  const fusion::Straggler* straggler = straggler_of(job, late.rank);
  if (straggler != nullptr && !straggler->causes.empty()) entry.segment = valid_utf8(activity_text(*straggler));
}

JobStep entry_of(const fusion::Job& job, const fusion::PathStep& step) {
  JobStep entry;
  entry.step = step.step;
  entry.path_ms = step.path_ns / 1e6;
  for (const fusion::PathPart& part : step.parts) {
    JobPathPart shown;
    if (part.rank != fusion::kNoRow) shown.rank = job.set.rank_of(part.rank);
    shown.ms = part.ns / 1e6;
    entry.path.push_back(shown);
  }
  return entry;
}

}  // namespace

std::size_t add_job_steps(Document& document, const fusion::Job& job, bool full) {
  const std::size_t shown = full ? job.path.size() : std::min(job.path.size(), kSteps);
  const auto& late_steps = job.stragglers.late_steps;
  for (std::size_t i = 0; i < shown; ++i) {
    JobStep entry = entry_of(job, job.path[i]);
    const auto late = std::lower_bound(late_steps.begin(), late_steps.end(), entry.step,
                                       [](const fusion::LateStep& one, std::int64_t step) { return one.step < step; });
    if (late != late_steps.end() && late->step == entry.step) hold(job, *late, entry);
    document.communication.steps.push_back(std::move(entry));
  }
  return job.path.size() - shown;
}

}  // namespace accel::report

// Replay, critical path and what-if answers of the report.
#include <cmath>

#include "analysis/what_if/what_if.h"
#include "report/build_parts.h"
#include "report/plain_text.h"

namespace accel::report {
namespace {

constexpr std::size_t kPathRows = 200;
constexpr std::size_t kSlackRows = 100;

}  // namespace

void build_what_if(Build& build) {
  build.reasons["replay"] = "there is no complete step to replay";
  build.reasons["critical_path[].name"] = "host time outside of every recorded op, call and range";
  build.reasons["slack[].name"] = build.reasons["critical_path[].name"];
  build.reasons["what_if[].memory_bytes"] = "the replay knows of time alone";
  for (const std::string field : {"step_ms", "step_low_ms", "step_high_ms", "speedup"})
    build.reasons["what_if[]." + field] = "nothing in the recorded steps has that name";
  if (!build.results.what_if || !build.results.what_if->usable) return;
  const accel::WhatIf& what_if = *build.results.what_if;
  Document& document = build.document;
  document.replay = {number(what_if.replay_error), number(what_if.steady_difference), number(what_if.unexplained_share),
                     number(what_if.device_slack_ns / 1e6), number(what_if.host_slack_ns / 1e6)};
  const std::size_t shown = build.shown(what_if.path.parts.size(), kPathRows, "critical_path");
  for (std::size_t i = 0; i < shown; ++i) {
    const accel::PathPart& part = what_if.path.parts[i];
    PathPart entry;
    entry.kind = to_string(part.kind);
    if (part.name.valid()) entry.name = build.text(part.name);
    entry.ms = number_or(part.ns_per_step / 1e6, 0);
    entry.share = what_if.path.total_ns > 0 ? number_or(part.ns_per_step / what_if.path.total_ns, 0) : 0;
    document.critical_path.push_back(std::move(entry));
  }
  const std::size_t off_path = build.shown(what_if.slack.size(), kSlackRows, "slack");
  for (std::size_t i = 0; i < off_path; ++i) {
    const accel::SlackPart& part = what_if.slack[i];
    SlackPart entry;
    entry.kind = to_string(part.kind);
    if (part.name.valid()) entry.name = build.text(part.name);
    entry.count = number_or(part.count_per_step, 0);
    entry.ms = number_or(part.ns_per_step / 1e6, 0);
    entry.slack_ms = number_or(part.least_ns / 1e6, 0);
    entry.mean_slack_ms = number_or(part.mean_ns / 1e6, 0);
    document.slack.push_back(std::move(entry));
  }
  for (const accel::WhatIf::Answer& answer : what_if.answers) {
    WhatIf entry;
    entry.name = valid_utf8(accel::to_string(answer.transformations));
    for (const Transformation& one : answer.transformations)
      entry.transformations.push_back(valid_utf8(accel::to_string(one)));
    if (answer.named) {
      entry.step_ms = number(answer.prediction.step_ns / 1e6);
      entry.step_low_ms = number(answer.prediction.low_ns / 1e6);
      entry.step_high_ms = number(answer.prediction.high_ns / 1e6);
    }
    if (answer.prediction.step_ns > 0)
      entry.speedup = std::round(what_if.base_ns / answer.prediction.step_ns * 1e3) / 1e3;
    entry.replay_error = document.replay.error;
    entry.unexplained_share = document.replay.unexplained_share;
    document.what_if.push_back(std::move(entry));
  }
}

}  // namespace accel::report

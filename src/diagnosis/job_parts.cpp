#include "diagnosis/job_parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace accel {
namespace {

constexpr double kConfidence = 0.9;  // of a finding from undoubted data

}  // namespace

Finding new_job_finding(const JobInput& input, std::string_view rule, double cost_ns) {
  Finding finding;
  finding.id = rule;
  finding.rule = rule;
  finding.cost_ms_per_step = cost_ns / 1e6;
  finding.share_of_step = input.share(cost_ns);
  finding.severity = severity_of(finding.share_of_step);
  finding.confidence = kConfidence * input.trust;
  finding.claim.communication_ns = cost_ns;
  finding.claimed_ns = static_cast<std::int64_t>(cost_ns);
  return finding;
}

void set_job_gain(Finding& finding, const JobInput& input, const fusion::TimeBand& saved) {
  // Against the expected step, as the plan has it: how sure that step is stands with the step.
  const auto after = [&](double ns) { return std::max(0.0, input.step_ns - ns) / 1e6; };
  finding.gain.step_ms = after(saved.expected_ns);
  finding.gain.step_low_ms = std::min(*finding.gain.step_ms, after(saved.high_ns));
  finding.gain.step_high_ms = std::max(*finding.gain.step_ms, after(saved.low_ns));
  const double left = input.step_ns - saved.high_ns;
  if (left > 0) finding.gain.max_possible_speedup = input.step_ns / left;
  finding.gain.basis = GainBasis::model;
}

std::string rank_text(const fusion::Job& job, std::uint32_t row) {
  const std::string& host = job.set.ranks[row].host;
  const std::string rank = fmt::format("rank {}", job.set.rank_of(row));
  return host.empty() ? rank : fmt::format("{} on host {}", rank, host);
}

Location rank_location(const fusion::Job& job, std::uint32_t row, std::string_view kind, std::string_view name) {
  Location location;
  location.kind = kind;
  location.name = name;
  location.rank = job.set.rank_of(row);
  location.host = job.set.ranks[row].host;
  for (const fusion::CommunicationEvent& event : job.set.ranks[row].events) {
    if (event.device < 0) continue;
    location.device = event.device;
    break;
  }
  return location;
}

std::string operation_text(const std::string& canonical) {
  if (canonical.empty() || canonical == "unknown") return "Communication";
  std::string text = canonical;
  std::replace(text.begin(), text.end(), '_', '-');
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string path_text(const fusion::Job& job, std::size_t group) {
  if (group >= job.topology.groups.size()) return "topology unknown";
  const fusion::GroupPath& path = job.topology.groups[group];
  if (!path.achieved_gbps) return fusion::describe_with_speed(path.path);
  return fmt::format("large messages reach {}", fusion::use_of_path(path.path, *path.achieved_gbps).sentence);
}

double transfer_exposed_ns(const fusion::Job& job) {
  return std::max(0.0, job.stragglers.exposed_ns - job.stragglers.exposed_waiting_ns);
}

}  // namespace accel

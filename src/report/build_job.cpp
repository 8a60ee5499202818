#include "report/build_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/version.h"
#include "diagnosis/late_rank.h"
#include "report/build_job_steps.h"
#include "report/build_parts.h"
#include "report/build_topology.h"
#include "report/not_measured.h"

namespace accel::report {
namespace {

constexpr std::size_t kCollectives = 1000;
constexpr std::size_t kSteps = 1000;
constexpr std::size_t kLeftOutShown = 5;

class Builder {
 public:
  Builder(const fusion::Job& job, const Diagnosis& diagnosis, const BuildOptions& options)
      : job_(job), diagnosis_(diagnosis), options_(options) {}

  Document build() {
    inputs();
    ranks();
    document_.verdict = {to_string(diagnosis_.verdict.bound_by), valid_utf8(diagnosis_.verdict.sentence),
                         number_or(diagnosis_.verdict.confidence, 0)};
    steps();
    breakdown();
    add_findings(document_, diagnosis_);
    communication();
    steps_cut_ = add_job_steps(document_, job_, options_.full);
    add_topology(document_, job_);
    clocks();
    notes();
    explain();
    return std::move(document_);
  }

 private:
  const fusion::RankDigest& rank(std::size_t row) const { return job_.set.ranks[row]; }

  void inputs() {
    document_.tool = {"accel-profiler", std::string(kVersion)};
    document_.schema_version = kSchemaVersion;
    origin_ = job_.set.ranks.empty() ? 0 : rank(0).time_range.start_ns;
    document_.time_origin_ns = std::to_string(origin_);
    for (const fusion::RankDigest& digest : job_.set.ranks) {
      document_.inputs.push_back({valid_utf8(digest.source), valid_utf8(digest.source_format), Integer(digest.rank),
                                  digest.source_bytes, digest.source_events});
    }
  }

  void ranks() {
    Job& job = document_.job;
    job.kind = std::string_view("training");
    if (job_.set.world_size > 0) job.world_size = job_.set.world_size;
    for (const fusion::RankDigest& digest : job_.set.ranks) {
      job.ranks_present.push_back(*digest.rank);
      Rank entry;
      entry.rank = digest.rank;
      if (!digest.host.empty()) entry.host = valid_utf8(digest.host);
      for (const fusion::DigestDevice& device : digest.devices) {
        Device shown;
        shown.index = device.index;
        if (!device.name.empty()) shown.name = valid_utf8(device.name);
        if (!device.pci.empty()) shown.pci = valid_utf8(device.pci);
        entry.devices.push_back(std::move(shown));
      }
      job.ranks.push_back(std::move(entry));
      for (const auto& [key, value] : digest.versions) job.versions.try_emplace(valid_utf8(key), valid_utf8(value));
      if (!digest.backend.empty()) job.environment.try_emplace("backend", valid_utf8(digest.backend));
    }
    job.ranks_missing = job_.set.missing;
  }

  // Steps and step time are those of the rank that waits least: it sets the pace.
  void steps() {
    const std::size_t row = pacing_rank();
    if (row >= job_.set.ranks.size()) return;
    const fusion::RankDigest& digest = rank(row);
    std::vector<std::int64_t> durations;
    double host = 0;
    for (std::size_t i = 0; i < digest.steps.size(); ++i) {
      const fusion::DigestStep& step = digest.steps[i];
      Step entry;
      entry.index = step.number;
      entry.rank = digest.rank;
      entry.start_ns = step.host.start_ns - origin_;
      const bool followed = i + 1 < digest.steps.size() && digest.steps[i + 1].device.start_ns > step.device.start_ns;
      std::int64_t length = step.host.length_ns();
      if (digest.timing.paced_by_device) length = followed ? step.work.device_ns : 0;
      if (length > 0) entry.duration_ms = ms_of(length);
      if (length > 0 && step.complete) durations.push_back(length);
      if (step.complete) host += static_cast<double>(step.host.length_ns());
      entry.complete = step.complete;
      entry.step_class = to_string(step.step_class);
      if (document_.steps.size() < kSteps || options_.full) document_.steps.push_back(std::move(entry));
    }
    StepTime& time = document_.step_time;
    const std::size_t complete = durations.size();
    fill_spread(time, std::move(durations));
    if (complete > 0 && !digest.timing.paced_by_device) time.host_ms = ms_of(host / static_cast<double>(complete));
    time.source = to_string(StepSource::profiler_step);
    time.paced_by = to_string(digest.timing.paced_by_device ? PacedBy::device : PacedBy::host);
    if (job_.stragglers.undisturbed_step && time.mean_ms) {
      time.undisturbed_ms = number(job_.stragglers.undisturbed_step->expected_ns / 1e6);
      time.undisturbed_low_ms = number(job_.stragglers.undisturbed_step->low_ns / 1e6);
      time.undisturbed_high_ms = number(job_.stragglers.undisturbed_step->high_ns / 1e6);
      if (digest.timing.record_cost_ns > 0)
        document_.distortion.cost_ms = number(std::max(0.0, *time.mean_ms - *time.undisturbed_ms));
    }
    document_.distortion.model =
        "estimated rank by rank, and for the delay of a late rank by a model of host and device";
  }

  std::size_t pacing_rank() const {
    std::size_t best = job_.set.ranks.size();
    double least = 0;
    for (std::size_t row = 0; row < job_.set.ranks.size(); ++row) {
      double waits = 0;
      std::size_t count = 0;
      for (const fusion::DigestStep& step : rank(row).steps) {
        if (!step.complete) continue;
        waits += static_cast<double>(step.communication_exposed_ns + step.host_wait_ns);
        ++count;
      }
      if (count == 0) continue;
      waits /= static_cast<double>(count);
      if (best < job_.set.ranks.size() && waits >= least) continue;
      best = row;
      least = waits;
    }
    return best;
  }

  void breakdown() {
    DeviceMeans means;
    for (const fusion::RankDigest& digest : job_.set.ranks) {
      for (const fusion::DeviceParts& parts : digest.breakdown)
        means.add(document_, digest.rank, parts.device, parts.device_window ? PacedBy::device : PacedBy::host,
                  parts.measured, parts.undisturbed, parts.count);
    }
    means.finish(document_);
  }

  std::string group_name(const fusion::MatchedGroup& group) const {
    if (group.name.empty()) return "all ranks";
    return valid_utf8(group.description.empty() ? group.name : group.name + " (" + group.description + ")");
  }

  void communication() {
    for (const fusion::MatchedGroup& group : job_.matching.groups)
      document_.communication.groups.push_back({group_name(group), group.ranks});
    const std::size_t all = job_.matching.collectives.size();
    const std::size_t shown = options_.full ? all : std::min(all, kCollectives);
    cut_ = all - shown;
    for (std::size_t i = 0; i < shown; ++i) {
      const fusion::MatchedCollective& one = job_.matching.collectives[i];
      const fusion::CollectiveTiming& timing = job_.timings[i];
      Collective entry;
      entry.name = valid_utf8(one.name);
      entry.group = group_name(job_.matching.groups[one.group]);
      entry.seq = one.sequence != kNotRecorded ? one.sequence : static_cast<std::int64_t>(one.index);
      if (one.step != kNotRecorded) entry.step = one.step;
      if (one.bytes != kNotRecorded) entry.bytes = one.bytes;
      arrivals(one, timing.last_by_clock.has_value(), entry);
      for (const fusion::Member& member : one.members) {
        const std::int64_t number = job_.set.rank_of(member.rank);
        const fusion::CommunicationEvent& event = rank(member.rank).events[member.event];
        entry.ranks.push_back(number);
        entry.local_ms[std::to_string(number)] = ms_of(event.end_ns - event.start_ns);
      }
      if (timing.first != kNoneRow) entry.first_rank = job_.set.rank_of(timing.first);
      if (timing.last != kNoneRow) entry.last_rank = job_.set.rank_of(timing.last);
      entry.arrival_spread_us = us_of(timing.arrival_spread_ns);
      if (timing.end_spread_ns) entry.end_spread_us = us_of(*timing.end_spread_ns);
      entry.wait_ms = ms_of(timing.wait_ns);
      entry.transfer_ms = ms_of(timing.transfer_ns);
      if (timing.global_ns) entry.global_ms = ms_of(*timing.global_ns);
      if (timing.busbw_bytes_per_s) entry.busbw_gbps = number(*timing.busbw_bytes_per_s / 1e9);
      entry.exposed_ms = ms_of(timing.exposed_ns);
      if (one.group < job_.topology.groups.size()) path(job_.topology.groups[one.group].path, entry);
      document_.communication.collectives.push_back(std::move(entry));
    }
  }

  static void path(const fusion::Path& path, Collective& entry) {
    entry.path = valid_utf8(fusion::describe(path));
    if (path.expected_gbps) entry.path_gbps = number(*path.expected_gbps);
  }

  // On the common axis, where all clocks are aligned; arrivals where they tell at least the last one apart.
  void arrivals(const fusion::MatchedCollective& one, bool told_apart, Collective& entry) const {
    std::vector<std::int64_t> times;
    times.reserve(one.members.size());
    for (const fusion::Member& member : one.members) {
      if (!job_.clocks.aligned(member.rank)) return;
      times.push_back(job_.clocks.common_ns(member.rank, rank(member.rank).events[member.event].start_ns));
    }
    if (times.empty()) return;
    const std::int64_t first = *std::min_element(times.begin(), times.end());
    entry.start_ns = first - origin_;
    if (!told_apart) return;
    for (std::size_t k = 0; k < times.size(); ++k)
      entry.arrival_us[std::to_string(job_.set.rank_of(one.members[k].rank))] =
          us_of(static_cast<double>(times[k] - first));
  }

  void clocks() {
    for (const fusion::HostClock& clock : job_.clocks.hosts) {
      Clock entry;
      entry.host = valid_utf8(clock.host);
      for (const std::uint32_t row : clock.ranks) entry.ranks.push_back(job_.set.rank_of(row));
      entry.method = valid_utf8(clock.method);
      if (clock.aligned) {
        entry.offset_us = us_of(clock.offset_ns());
        entry.drift_ppm = number(clock.drift * 1e6);
        entry.residual_us = us_of(clock.residual_ns());
      }
      document_.clock.push_back(std::move(entry));
    }
  }

  static std::string listed(const std::vector<std::int64_t>& ranks) {
    std::string text;
    for (std::size_t i = 0; i < ranks.size() && i < kLeftOutShown; ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
    return ranks.size() > kLeftOutShown ? text + ", ..." : text;
  }

  void notes() {
    NoteList notes;
    const auto& set = job_.set;
    if (!set.missing.empty())
      notes.add(NoteCode::ranks_missing, set.missing.size(), {}, "ranks " + listed(set.missing));
    for (const fusion::LeftOut& file : set.left_out) notes.add(NoteCode::rank_left_out, 1, file.source, file.reason);
    if (!set.apart.empty()) notes.add(NoteCode::steps_apart, set.apart.size(), {}, "ranks " + listed(set.apart));
    for (const fusion::Divergence& divergence : job_.matching.divergences) {
      notes.add(NoteCode::ranks_diverge, 1,
                fmt::format("step {}, operation {} of group {}", divergence.step, divergence.index,
                            group_name(job_.matching.groups[divergence.group])),
                fmt::format("rank {}: {}, the others: {}{}", listed(divergence.ranks), divergence.they_issue,
                            divergence.others_issue,
                            divergence.records_lost ? "; its recording lost records, the job may be in order" : ""));
    }
    std::uint64_t unmatched = 0;
    for (const fusion::MatchedGroup& group : job_.matching.groups) unmatched += group.unmatched;
    if (unmatched > 0) notes.add(NoteCode::collectives_unmatched, unmatched);
    for (const fusion::HostClock& clock : job_.clocks.hosts)
      if (!clock.aligned) notes.add(NoteCode::clock_not_aligned, 1, clock.host);
    if (job_.clocks.causality_violated > 0) {
      notes.add(NoteCode::clock_contradicts, job_.clocks.causality_violated, {},
                fmt::format("by up to {:.1f} us, of {} checked", job_.clocks.causality_worst_ns / 1e3,
                            job_.clocks.causality_checked));
    }
    std::uint64_t coarse = 0;
    for (const fusion::CollectiveTiming& timing : job_.timings) coarse += timing.last_by_clock ? 0 : 1;
    if (coarse > 0)
      notes.add(NoteCode::clock_too_coarse, coarse, {},
                fmt::format("errors up to {:.1f} us", job_.clocks.worst_residual_ns() / 1e3));
    for (const fusion::Straggler& straggler : job_.stragglers.of_recording) {
      if (is_explained(straggler)) continue;  // a finding says so
      notes.add(NoteCode::late_in_recording_only, straggler.steps_late,
                fmt::format("rank {}", job_.set.rank_of(straggler.ranks.front())),
                fmt::format("{:.1f} ms a step", straggler.lateness_ns / 1e6));
    }
    // Losses of single ranks, once with the rank that has them first.
    std::map<std::string, std::pair<std::uint64_t, std::int64_t>> lost;
    for (const fusion::RankDigest& digest : set.ranks) {
      for (const fusion::DigestNote& note : digest.notes)
        lost.try_emplace(note.code, 0, *digest.rank).first->second.first += note.count;
    }
    for (const auto& [code, count] : lost) {
      for (const NoteDescriptor& known : note_catalog())
        if (known.id == code) notes.add(known.code, count.first, fmt::format("rank {}", count.second));
    }
    if (cut_ > 0) notes.add(NoteCode::output_capped, cut_, "communication.collectives");
    if (steps_cut_ > 0) notes.add(NoteCode::output_capped, steps_cut_, "communication.steps");
    for (const NoteSeverity severity : {NoteSeverity::error, NoteSeverity::data_loss, NoteSeverity::info}) {
      for (const accel::Note& note : notes.notes())
        if (describe(note.code).severity == severity) add_note(document_, note);
    }
  }

  void explain() {
    const char* single = "in the reports of the single ranks";
    for (const char* part : {"host", "distortion", "replay", "operators", "kernels", "kernel_summary", "op_kernels",
                             "memory", "efficiency", "utilisation", "step_time.outliers_every",
                             "step_time.drift_us_per_step", "step_time.host_ms", "step_time.device_period_ms"})
      reasons_[part] = single;
    reasons_["step_time"] = "no step is complete on every rank";
    reasons_["step_time.p95_ms"] = "fewer than 20 complete steps";
    reasons_["step_time.cv"] = "fewer than 2 complete steps";
    reasons_["steps[].duration_ms"] = "the device sets the pace, and no later step tells when this one ended";
    reasons_["time_breakdown"] = "no device activity in a complete step";
    reasons_["time_breakdown_undisturbed"] = reasons_["time_breakdown"];
    reasons_["job"] = "the input does not state it";
    reasons_["inputs"] = "the input does not state it";
    reasons_["findings[].where[].file"] = "the input does not say where in the source; record with with_stack=True";
    reasons_["findings[].where[].line"] = reasons_["findings[].where[].file"];
    reasons_["findings[].where"] = "the finding is not about one rank, or the input does not state it";
    reasons_["findings[].evidence"] = "this is a statement, not a figure";
    reasons_["findings[].gain"] = "no estimate is possible from this capture";
    reasons_["findings[].gain.memory_bytes"] = "the action is not about memory";
    reasons_["plan"] = "no estimate is possible from this capture";
    reasons_["throughput"] = "the input does not state the batch size";
    reasons_["topology"] = "no output of nvidia-smi topo -m was given (--topology) or lies beside the traces";
    reasons_["topology.devices[]"] = "the topology does not state it";
    reasons_["topology.links[]"] = "the product or the speed of its links is not known";
    reasons_["topology.groups[]"] = "the path is not known, or no collective is large enough to tell a bandwidth";
    reasons_["compare"] = "one run only";
    reasons_["communication.collectives[].path"] = reasons_["topology"];
    reasons_["communication.collectives[].path_gbps"] = "what the path can carry is not known";
    reasons_["communication.collectives[].bytes"] = "the recording does not state the size";
    reasons_["communication.collectives[].busbw_gbps"] = "no size, or an operation without a bandwidth";
    reasons_["communication.collectives[].global_ms"] = "the clocks of its ranks are not aligned";
    reasons_["communication.collectives[].end_spread_us"] = reasons_["communication.collectives[].global_ms"];
    reasons_["communication.collectives[].start_ns"] = reasons_["communication.collectives[].global_ms"];
    reasons_["communication.collectives[].step"] = "it was issued outside of every step";
    reasons_["communication.steps[]"] = "no rank fell behind in that step by as much as a late rank does";
    reasons_["communication.steps[].segment"] = "nothing single that this rank does longer than its peers explains it";
    reasons_["communication.steps[].path[]"] = "transfers, in which all ranks take part";
    reasons_["clock[]"] = "no collective in common with the other hosts";
    document_.not_measured = explain_unmeasured(document_, reasons_);
    const auto name = [&](bool empty, const char* path, const char* reason) {
      if (empty) document_.not_measured.push_back({path, reason});
    };
    for (const char* list : {"operators", "kernels", "op_kernels", "memory.devices", "critical_path", "slack",
                             "what_if", "step_time.outliers", "step_time.change_points", "health"})
      name(true, list, single);
    name(document_.communication.collectives.empty(), "communication.collectives",
         "no collective of two ranks could be matched");
    name(document_.communication.steps.empty(), "communication.steps",
         "no two steps that follow each other have collectives that could be matched");
  }

  static constexpr std::uint32_t kNoneRow = fusion::kNoRow;

  const fusion::Job& job_;
  const Diagnosis& diagnosis_;
  const BuildOptions& options_;
  Document document_;
  std::map<std::string, std::string> reasons_;
  std::int64_t origin_ = 0;
  std::size_t cut_ = 0;
  std::size_t steps_cut_ = 0;
};

}  // namespace

Document build_job_document(const fusion::Job& job, const Diagnosis& diagnosis, const BuildOptions& options) {
  return Builder(job, diagnosis, options).build();
}

}  // namespace accel::report

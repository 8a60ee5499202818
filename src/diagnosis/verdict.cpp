#include "diagnosis/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "diagnosis/device_work.h"
#include "diagnosis/facts.h"
#include "diagnosis/source_location.h"
#include "diagnosis/verdict/processor_sentence.h"
#include "diagnosis/verdict/step_shares.h"
#include "diagnosis/wording.h"
#include "trace/processor.h"

namespace accel {
namespace {

// Kernels that fill this much of the step set its pace, whatever else there is.
constexpr double kComputeBound = 0.80;
// What kernels that do not set the pace leave at least; a faster device could not win it back. A resource that holds
// the step up for this much of it is the limit.
constexpr double kLimit = 1 - kComputeBound;
// Copies and communication are work: they are the limit when they take at least as long as the kernels, or half a step.
constexpr double kWorkLimit = 0.50;
// Two limits that are this close are both the limit.
constexpr double kClose = 0.80;
constexpr double kVerdictConfidence = 0.95;
constexpr double kUnknownShare = 0.50;
constexpr double kKnownWork = 0.50;  // of the kernels' time: with less known, what limits the rest is open

// With the idle time scaled by `idle_scale`: 1 is the best estimate, others are the ends of the band.
StepShares shares_of(const Facts& facts, double idle_scale) {
  const StepParts& parts = facts.view.undisturbed;
  const auto idle = [&](IdleCause cause) { return parts.idle(cause) * idle_scale; };
  const CopyExposure& copies = facts.copies;
  const double in = copies.pageable_to_device.exposed_ns + copies.pinned_to_device.exposed_ns;
  const double all = in + copies.to_host.exposed_ns + copies.on_device.exposed_ns;
  const double scale = all > 0 ? parts.memory_exposed_ns / all : 0;  // copies of two kinds at once are counted once

  StepShares shares;
  shares.loader = idle(IdleCause::data_loading);
  shares.copies_in = in * scale + idle(IdleCause::host_to_device_copy);
  shares.copies_out = copies.to_host.exposed_ns * scale;
  shares.host = idle(IdleCause::host_compute) + idle(IdleCause::launch_latency) + idle(IdleCause::synchronization) +
                idle(IdleCause::memory_allocation) + idle(IdleCause::garbage_collection) + shares.copies_out;
  shares.communication = parts.communication_exposed_ns + idle(IdleCause::communication);
  shares.compute = parts.compute_ns;
  shares.memory = copies.on_device.exposed_ns * scale;
  shares.other = idle(IdleCause::stream_dependency) + idle(IdleCause::profiler_overhead) + idle(IdleCause::unknown);
  const double step = shares.loader + shares.copies_in + shares.host + shares.communication + shares.compute +
                      shares.memory + shares.other;
  if (step <= 0) return shares;
  for (double* share : {&shares.loader, &shares.copies_in, &shares.host, &shares.copies_out, &shares.communication,
                        &shares.compute, &shares.memory, &shares.other}) {
    *share /= step;
  }
  return shares;
}

BoundBy classify(const StepShares& shares) {
  if (shares.other >= kUnknownShare) return BoundBy::unknown;
  if (shares.compute >= kComputeBound) return BoundBy::gpu_compute;
  struct Candidate {
    BoundBy bound_by;
    double share;
    bool limits;
  };
  const auto work_limits = [&](double share) {
    return share >= kWorkLimit || (share >= kLimit && share >= shares.compute);
  };
  std::array candidates{
      Candidate{BoundBy::data_loading, shares.data(), shares.loader >= kLimit || work_limits(shares.data())},
      Candidate{BoundBy::host, shares.host, shares.host >= kLimit},
      Candidate{BoundBy::communication, shares.communication, work_limits(shares.communication)},
      Candidate{BoundBy::gpu_memory, shares.memory, work_limits(shares.memory)},
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.share > b.share; });
  const auto first = std::find_if(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.limits; });
  if (first == candidates.end()) return BoundBy::mixed;
  for (const Candidate& other : candidates) {
    if (&other != &*first && other.limits && other.share >= kClose * first->share) return BoundBy::mixed;
  }
  return first->bound_by;
}

double idle_scale_at(const StepView& view, double step_ns) {
  const double busy = view.undisturbed.window_ns - view.undisturbed.idle_ns;
  return view.undisturbed.idle_ns > 0 ? std::max(0.0, step_ns - busy) / view.undisturbed.idle_ns : 1;
}

// The part of a host-bound step that one place in the program explains.
std::string largest_place(const DiagnosisInput& input) {
  const HostWork& work = input.facts.host_work;
  if (work.groups.empty() || work.groups.front().ns_per_step < kLimit * input.facts.view.undisturbed.idle_ns) return {};
  const HostWorkGroup& group = work.groups.front();
  const std::string_view name = input.store.text(group.name);
  std::string where;
  if (group.example.valid()) {
    const Location place = locate(input.store, group.example);
    if (place.line && group.kind != SliceKind::frame) where = fmt::format(" at {}:{}", place.file, *place.line);
  }
  // A device that still had work when the stretch began idled for a part of it only.
  const std::string time = ms_text(std::min(group.ns_per_step, input.facts.view.undisturbed.idle_ns));
  if (name.empty()) return fmt::format(", {} of it outside every recorded op", time);
  if (group.kind == SliceKind::op) return fmt::format(", {} of it in the CPU op {}{}", time, short_name(name), where);
  if (group.kind == SliceKind::frame) return fmt::format(", {} of it in {}", time, short_name(name));
  return fmt::format(", {} of it in the range {}", time, short_name(name));
}

std::string host_phrase(const DiagnosisInput& input, std::span<const Finding> findings) {
  const Facts& facts = input.facts;
  const StepParts& parts = facts.view.undisturbed;
  const double launching = parts.idle(IdleCause::host_compute) + parts.idle(IdleCause::launch_latency);
  const bool launch_bound = std::any_of(findings.begin(), findings.end(),
                                        [](const Finding& finding) { return finding.rule == "launch_bound"; });
  if (parts.idle(IdleCause::synchronization) > launching) return "waits for the device and launches too late";
  if (parts.idle(IdleCause::memory_allocation) > launching) return "allocates memory";
  if (parts.idle(IdleCause::garbage_collection) > launching) return "collects garbage";
  if (facts.host_work.ns_per_step * 2 > launching) return "computes or runs other code";
  return launch_bound ? "launches" : "prepares and launches";
}

// What the recording added, or that this is not known; the end of the sentence.
std::string recording_phrase(const StepView& view) {
  const double added = view.measured.window_ns - view.step_ns;
  const bool doubtful = std::any_of(view.doubts.begin(), view.doubts.end(), [](const Doubt& doubt) {
    return doubt.text.starts_with("what the recording cost");
  });
  if (doubtful) return "; what the recording itself cost is not known, so a part of the waiting may be its doing";
  if (added < 0.05 * view.measured.window_ns) return {};
  return fmt::format("; as recorded it took {}, {} of it the recording's own cost", ms_text(view.measured.window_ns),
                     ms_text(added));
}

// What limits the kernels, and how far they are from it; nothing where the work of most of them is not known.
std::string roof_phrase(const DiagnosisInput& input) {
  const DeviceEfficiency* device = verdict_device(input);
  if (device == nullptr || device->kernel_ns <= 0 || device->roof_known_ns < kKnownWork * device->kernel_ns) return {};
  const double share = compute_share(input.facts.view, *device);
  const auto phrase = [&](std::string_view what, std::string_view of, double ns, double roof_ns) {
    return fmt::format("{} limits {} of it, at {} of the device's {}", what, ms_text(ns * share),
                       percent_text(roof_ns / ns), of);
  };
  const std::string compute = device->compute_bound_ns >= kWarningShare * device->kernel_ns
                                  ? phrase("arithmetic", "peak", device->compute_bound_ns, device->compute_roof_ns)
                                  : std::string();
  const std::string memory =
      device->memory_bound_ns >= kWarningShare * device->kernel_ns
          ? phrase("memory bandwidth", "bandwidth", device->memory_bound_ns, device->memory_roof_ns)
          : std::string();
  const bool memory_first = device->memory_bound_ns > device->compute_bound_ns;
  const std::string& first = memory_first ? memory : compute;
  const std::string& second = memory_first ? compute : memory;
  if (first.empty()) return {};
  return "; " + first + (second.empty() ? std::string() : ", " + second);
}

std::string sentence_for(const DiagnosisInput& input, std::span<const Finding> findings, BoundBy bound_by,
                         const StepShares& shares, double health_kernel_share) {
  const StepView& view = input.facts.view;
  const std::string step = ms_text(view.step_ns);
  const std::string kernels = ms_text(view.undisturbed.compute_ns);
  const auto time = [&](double share) { return ms_text(share * view.step_ns); };
  switch (bound_by) {
    case BoundBy::data_loading: {
      const std::string_view what = shares.loader >= shares.copies_in
                                        ? "the device waits for the data loader"
                                        : "data are copied to the device and no kernel runs";
      const double share = std::max(shares.loader, shares.copies_in);
      return fmt::format("Bringing data to the device sets the pace: for {} of {} of {} ({}) {}, while kernels run {}",
                         time(share), view.a_unit, step, percent_text(share), what, kernels);
    }
    case BoundBy::host:
      if (shares.copies_out > 0.5 * shares.host) {
        return fmt::format(
            "Bringing results back to the host sets the pace: for {} of {} of {} ({}) data are copied from the device "
            "and no kernel runs, while kernels run {}",
            time(shares.copies_out), view.a_unit, step, percent_text(shares.copies_out), kernels);
      }
      return fmt::format(
          "The host sets the pace: for {} of {} of {} ({}) the device has nothing to run while the host {}{}, and "
          "kernels run {}",
          time(shares.host), view.a_unit, step, percent_text(shares.host), host_phrase(input, findings),
          largest_place(input), kernels);
    case BoundBy::communication:
      return fmt::format(
          "Communication sets the pace: for {} of {} of {} ({}) the device communicates or waits for other ranks and "
          "nothing else runs, "
          "while kernels run {}",
          time(shares.communication), view.a_unit, step, percent_text(shares.communication), kernels);
    case BoundBy::gpu_memory:
      return fmt::format("Copies on the device set the pace: they take {} of {} of {} ({}) with no kernel beside them",
                         time(shares.memory), view.a_unit, step, percent_text(shares.memory));
    case BoundBy::gpu_compute: {
      const bool nothing = shares.compute >= health_kernel_share &&
                           std::all_of(findings.begin(), findings.end(),
                                       [](const Finding& f) { return f.severity == FindingSeverity::info; });
      return fmt::format(
          "The device sets the pace: kernels run {} of {} of {} ({}){}{}", kernels, view.a_unit, step,
          percent_text(shares.compute), roof_phrase(input),
          nothing ? fmt::format("; the rules found nothing worth fixing above {}", percent_text(kWarningShare))
                  : std::string());
    }
    case BoundBy::mixed: {
      std::string text = fmt::format("No single resource sets the pace: of {} of {} kernels run {} ({})", view.a_unit,
                                     step, kernels, percent_text(shares.compute));
      const auto part = [&](double share, std::string_view what) {
        if (share >= kWarningShare) text += fmt::format(", {} {}", time(share), what);
      };
      part(shares.host - shares.copies_out, "are spent waiting for the host");
      part(shares.copies_out, "copying results to the host");
      part(shares.loader, "waiting for the data loader");
      part(shares.copies_in, "copying data to the device");
      part(shares.communication, "in communication that nothing hides");
      part(shares.memory, "in copies on the device");
      part(shares.other, "idle for reasons that the capture does not show");
      return text;
    }
    case BoundBy::cpu_compute:
    case BoundBy::unknown:
      break;
  }
  return fmt::format(
      "What sets the pace cannot be told: the device is idle for {} of {} of {} ({}) and the capture does not show why",
      time(shares.other), view.a_unit, step, percent_text(shares.other));
}

// Why nothing can be said about a device.
std::string reason_without_device(const DiagnosisInput& input) {
  for (const NoteCode code : {NoteCode::kernels_activity_off, NoteCode::kernels_privileges,
                              NoteCode::kernels_version_mismatch, NoteCode::launcher_process, NoteCode::no_events}) {
    if (input.store.notes.find(code) == nullptr && input.results.notes.find(code) == nullptr) continue;
    const NoteDescriptor& note = describe(code);
    return fmt::format("What sets the pace cannot be told: {}; {}.", note.message, note.remedy);
  }
  if (input.facts.view.has_device) {
    return "What sets the pace cannot be told: the capture holds device work, but no complete step to measure; record "
           "one step more.";
  }
  return fmt::format(
      "What sets the pace of a device cannot be told: the capture holds {} host records and no device work; if the job "
      "uses a GPU, record with "
      "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA].",
      input.store.slices.size());
}

double idle_share(const StepParts& parts, std::initializer_list<IdleCause> causes) {
  double idle = 0;
  for (const IdleCause cause : causes) idle += parts.idle(cause);
  return parts.window_ns > 0 ? idle / parts.window_ns : 0;
}

}  // namespace

std::string_view to_string(BoundBy bound_by) {
  switch (bound_by) {
    case BoundBy::data_loading:
      return "data_loading";
    case BoundBy::host:
      return "host";
    case BoundBy::gpu_compute:
      return "gpu_compute";
    case BoundBy::cpu_compute:
      return "cpu_compute";
    case BoundBy::gpu_memory:
      return "gpu_memory";
    case BoundBy::communication:
      return "communication";
    case BoundBy::mixed:
      return "mixed";
    case BoundBy::unknown:
      return "unknown";
  }
  return "unknown";
}

Verdict make_verdict(const DiagnosisInput& input, std::span<const Finding> findings, const AnalysisOptions& options) {
  Verdict verdict;
  const StepView& view = input.facts.view;
  if (!view.usable) {
    verdict.sentence = reason_without_device(input);
    return verdict;
  }
  const StepShares shares = shares_of(input.facts, 1);
  const BoundBy bound_by = classify(shares);
  verdict.bound_by = bound_by;
  if (runs_on_processor(input.store)) {
    verdict.bound_by = bound_of_processor(verdict.bound_by);
    verdict.sentence = processor_sentence(input, findings, verdict.bound_by, shares, options.health_kernel_share);
  } else {
    verdict.sentence = sentence_for(input, findings, verdict.bound_by, shares, options.health_kernel_share);
  }
  verdict.sentence += recording_phrase(view) + ".";
  verdict.confidence = kVerdictConfidence * view.trust();
  // A verdict that the ends of the band do not share is less sure.
  for (const double step : {view.step_low_ns, view.step_high_ns}) {
    if (classify(shares_of(input.facts, idle_scale_at(view, step))) != bound_by) verdict.confidence *= 0.8;
  }
  if (verdict.bound_by == BoundBy::unknown) verdict.confidence = 0;
  return verdict;
}

std::vector<HealthMeasure> judge_health(const StepView& view, const AnalysisOptions& options) {
  const StepParts& parts = view.undisturbed;
  const auto value = [&](double share) { return view.usable ? std::optional<double>(share) : std::nullopt; };
  const auto of_step = [&](double ns) { return value(view.share(ns)); };
  const double rest = 1 - options.health_kernel_share;
  std::vector<HealthMeasure> line{
      {"kernel_share", of_step(parts.compute_ns), options.health_kernel_share, true, false},
      {"copy_share", of_step(parts.memory_exposed_ns), rest, false, false},
      {"communication_share", of_step(parts.communication_exposed_ns), rest, false, false},
      {"host_share",
       value(idle_share(parts, {IdleCause::data_loading, IdleCause::synchronization, IdleCause::host_compute,
                                IdleCause::launch_latency, IdleCause::memory_allocation, IdleCause::host_to_device_copy,
                                IdleCause::garbage_collection})),
       options.health_idle_share, false, false},
      {"idle_share", of_step(parts.idle_ns), options.health_idle_share, false, false},
  };
  for (HealthMeasure& measure : line) {
    measure.ok = measure.value.has_value() &&
                 (measure.at_least ? *measure.value >= measure.bound : *measure.value <= measure.bound);
  }
  return line;
}

}  // namespace accel

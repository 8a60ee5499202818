#include "analysis/audit.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "analysis/analysis.h"
#include "analysis/device_timeline.h"
#include "analysis/event_index.h"
#include "analysis/kernel_table.h"
#include "analysis/step_segmentation.h"

namespace accel {
namespace {

std::string microseconds(std::int64_t ns) {
  const std::int64_t tenths = (ns + 50) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " us";
}

std::string step_name(const StepSegmentation& segmentation, std::size_t k) {
  return "step " + std::to_string(segmentation.steps[k].number);
}

class Auditor {
 public:
  Auditor(const TraceStore& store, AnalysisResults& results)
      : store_(store),
        index_(*results.event_index),
        timeline_(*results.device_timeline),
        segmentation_(*results.step_segmentation),
        notes_(results.notes) {}

  Audit run() {
    audit_.device_events = store_.device_events.size();
    audit_.has_device_activity = !store_.device_events.empty();
    audit_.has_host_activity = !store_.slices.empty();
    check_device_events();
    check_launches();
    check_missing_kernels();
    check_lost_head();
    check_blind_head();
    check_host();
    check_ids();
    check_warm_up();
    check_clock();
    check_loader();
    check_sharing();
    check_collectives();
    check_stream_waits();
    return audit_;
  }

 private:
  void check_device_events() {
    const DeviceEventTable& events = store_.device_events;
    std::vector<std::int64_t> latest_end(store_.streams.size(), std::numeric_limits<std::int64_t>::min());
    std::uint64_t graph_replays = 0;
    std::uint64_t without_correlation = 0;
    std::uint64_t without_external_id = 0;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      if ((events.flags[i] & kDeviceNoTiming) != 0) continue;
      const std::int64_t end = events.start_ns[i] + events.dur_ns[i];
      if (events.dur_ns[i] == 0) ++audit_.zero_duration_device;
      if (events.correlation[i] == kNotRecorded) ++without_correlation;
      if (events.external_id[i] == kNotRecorded || events.external_id[i] == 0) ++without_external_id;
      if (events.stream[i].valid()) {
        std::int64_t& latest = latest_end[events.stream[i].value];
        if (events.start_ns[i] < latest) ++audit_.same_stream_overlaps;
        latest = std::max(latest, end);
      }
      const SliceId launch = events.launch[i];
      if (!launch.valid()) {
        ++audit_.device_without_launch;
      } else {
        const std::int64_t early = store_.slices.start_ns[launch.value] - events.start_ns[i];
        if (early > 0) {
          ++audit_.starts_before_launch;
          audit_.largest_start_before_launch_ns = std::max(audit_.largest_start_before_launch_ns, early);
        }
        if (index_.class_of(store_, launch.value) == NameClass::graph_launch &&
            events.kind[i] == DeviceEventKind::kernel)
          ++graph_replays;
      }
    }
    audit_.graph_kernels = static_cast<std::int64_t>(graph_replays);
    notes_.add(NoteCode::zero_duration_device, audit_.zero_duration_device);
    notes_.add(NoteCode::correlation_missing, without_correlation);
    notes_.add(NoteCode::external_id_missing, without_external_id);
    notes_.add(NoteCode::same_stream_overlap, audit_.same_stream_overlaps);
    if (audit_.has_host_activity) notes_.add(NoteCode::device_without_launch, audit_.device_without_launch);
    notes_.add(NoteCode::kernel_before_launch, audit_.starts_before_launch, {},
               "largest: " + microseconds(audit_.largest_start_before_launch_ns));
    notes_.add(NoteCode::graph_replay, graph_replays, {}, graph_share(graph_replays));
    if (!timeline_.corrected_ends.empty()) {
      const std::uint32_t row = timeline_.corrected_ends.front().first;
      notes_.add(NoteCode::device_event_beyond_next, timeline_.corrected_ends.size(),
                 "stream " + std::to_string(store_.streams.stream[events.stream[row].value]),
                 "first: " + std::string(store_.text(events.name[row])).substr(0, 80) + ", " +
                     microseconds(events.dur_ns[row]));
    }
  }

  std::string graph_share(std::uint64_t kernels) const {
    if (kernels == 0) return {};
    std::int64_t graph = 0;
    std::int64_t total = 0;
    const DeviceEventTable& events = store_.device_events;
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      if ((events.flags[i] & kDeviceNoTiming) != 0) continue;
      total += events.dur_ns[i];
      if (events.launch[i].valid() && index_.class_of(store_, events.launch[i].value) == NameClass::graph_launch)
        graph += events.dur_ns[i];
    }
    if (total <= 0) return {};
    return std::to_string((graph * 1000 / total + 5) / 10) +
           " % of the device time comes from graph replays and has no op";
  }

  void check_launches() {
    std::string where;
    for (std::uint32_t i = 0; i < store_.slices.size(); ++i) {
      if (!store_.is_call(SliceId(i)) || (index_.slice_flags[i] & kCallCaptured) != 0) continue;
      const NameClass c = index_.class_of(store_, i);
      const bool has_device = (index_.slice_flags[i] & kCallHasDevice) != 0;
      if (c == NameClass::kernel_launch) {
        ++audit_.kernel_launches;
        if (!has_device) ++audit_.kernel_launches_without_device;
        if (!has_device && where.empty()) {
          const std::int32_t step = segmentation_.step_at(store_.slices.start_ns[i]);
          where = step >= 0 ? step_name(segmentation_, static_cast<std::size_t>(step)) : "outside every step";
        }
      }
      const bool launches = c == NameClass::kernel_launch || c == NameClass::graph_launch ||
                            c == NameClass::copy_call || c == NameClass::set_call;
      if (launches && !has_device) ++audit_.launches_without_device;
    }
    if (audit_.has_device_activity)
      notes_.add(NoteCode::launch_without_device, audit_.kernel_launches_without_device, where, lost_steps());
  }

  std::string lost_steps() const {
    std::string text;
    for (std::size_t k = 0; k < segmentation_.steps.size(); ++k) {
      const Step& step = segmentation_.steps[k];
      if (step.launches_without_device == 0) continue;
      if (!text.empty()) text += ", ";
      text += step_name(segmentation_, k) + ": " + std::to_string(step.launches_without_device) + " of " +
              std::to_string(step.kernel_launches);
      if (text.size() > 200) return text + ", ...";
    }
    return text;
  }

  // Why there is not one device event: each cause leaves its own traces.
  void check_missing_kernels() {
    if (audit_.has_device_activity || !audit_.has_host_activity) return;
    if (audit_.kernel_launches > 0) {
      const bool mismatch = versions_disagree();
      notes_.add(mismatch ? NoteCode::kernels_version_mismatch : NoteCode::kernels_privileges, audit_.kernel_launches,
                 {}, version_text());
      return;
    }
    bool any_call = false;
    for (std::uint32_t i = 0; i < store_.slices.size() && !any_call; ++i) any_call = store_.is_call(SliceId(i));
    if (any_call) return;  // the device was asked things and given no work
    if (segmentation_.source == StepSource::profiler_step || segmentation_.training || uses_device()) {
      notes_.add(NoteCode::kernels_activity_off, 1);
    } else if (store_.run_steps.empty()) {  // a record of a run is no window
      notes_.add(NoteCode::launcher_process, 1);
    }
  }

  // The recording knows of devices, or ops name them.
  bool uses_device() const { return !store_.process.devices.empty() && index_.has_ops; }

  // The recorder is newer than the driver it records with.
  bool versions_disagree() const {
    const auto number = [&](const char* key) -> long {
      const auto at = store_.process.versions.find(key);
      return at == store_.process.versions.end() ? 0 : std::strtol(at->second.c_str(), nullptr, 10);
    };
    const long runtime = number("cuda_runtime_version");
    const long driver = number("cuda_driver_version");
    // Minor versions are compatible; a runtime of a newer major release is not served by the driver.
    return runtime > 0 && driver > 0 && runtime / 1000 > driver / 1000;
  }

  std::string version_text() const {
    std::string text;
    for (const char* key : {"cupti_version", "cuda_runtime_version", "cuda_driver_version"}) {
      const auto at = store_.process.versions.find(key);
      if (at == store_.process.versions.end()) continue;
      text += (text.empty() ? "" : ", ") + std::string(key) + " " + at->second;
    }
    return text;
  }

  void check_lost_head() {
    if (!audit_.has_device_activity) return;
    std::uint64_t lost = 0;
    while (lost < segmentation_.steps.size() && segmentation_.steps[lost].kernel_launches > 0 &&
           segmentation_.steps[lost].launches_without_device == segmentation_.steps[lost].kernel_launches) {
      ++lost;
    }
    if (lost == segmentation_.steps.size()) return;
    if (lost > 0) notes_.add(NoteCode::lost_head, lost, step_name(segmentation_, 0));
  }

  void check_blind_head() {
    constexpr std::int64_t kBlindNs = 1'000'000;
    if (segmentation_.steps.empty() || audit_.device_without_launch == 0 || !audit_.has_host_activity) return;
    for (const DeviceTimeline::Device& device : timeline_.devices) {
      if (device.busy.empty()) continue;
      const std::int64_t head = device.busy.intervals().front().start_ns - segmentation_.steps.front().host.start_ns;
      if (head <= kBlindNs || !has_earlier_work(device.device)) continue;
      audit_.blind_head_ns = std::max(audit_.blind_head_ns.value_or(0), head);
      notes_.add(NoteCode::blind_head, 1, step_name(segmentation_, 0),
                 "the first " + microseconds(head) + " on device " + std::to_string(device.device));
    }
  }

  bool has_earlier_work(std::int64_t device) const {
    for (const auto& range : store_.device_ranges) {
      if (range.device != device) continue;
      for (std::uint32_t i = range.first; i < range.last; ++i) {
        if (!store_.device_events.launch[i].valid()) return true;
      }
    }
    return false;
  }

  void check_host() {
    std::uint64_t recorder_rows = 0;
    std::uint64_t full_rows = 0;
    std::int64_t recorder_ns = 0;
    std::int64_t full_ns = 0;
    std::uint64_t clamped = 0;
    std::uint64_t zero = 0;
    for (std::uint32_t i = 0; i < store_.slices.size(); ++i) {
      if ((store_.slices.flags[i] & kSliceCrossing) != 0) ++audit_.crossing_ranges;
      if ((store_.slices.flags[i] & kSliceClamped) != 0) ++clamped;
      if (store_.slices.dur_ns[i] == 0 && (store_.slices.flags[i] & kSliceUnfinished) == 0) ++zero;
      if (store_.slices.kind[i] != SliceKind::overhead) continue;
      const NameClass c = index_.class_of(store_, i);
      if (c == NameClass::recorder_overhead) {
        ++recorder_rows;
        recorder_ns += store_.slices.dur_ns[i];
      }
      if (c == NameClass::command_buffer_full) {
        ++full_rows;
        full_ns += store_.slices.dur_ns[i];
      }
    }
    notes_.add(NoteCode::crossing_ranges, audit_.crossing_ranges);
    notes_.add(NoteCode::zero_duration_host, zero);
    if (store_.notes.find(NoteCode::unclosed_frames) == nullptr) notes_.add(NoteCode::unclosed_frames, clamped);
    notes_.add(NoteCode::profiler_overhead, recorder_rows, {}, microseconds(recorder_ns) + " in rows of the recorder");
    notes_.add(NoteCode::launch_queue_full, full_rows, {}, microseconds(full_ns) + " in all");
  }

  void check_ids() {
    constexpr std::int64_t k32Bits = 0xffffffffLL;
    std::uint64_t wide = 0;
    for (const std::int64_t tid : store_.threads.tid) wide += tid != kNotRecorded && (tid < 0 || tid > k32Bits) ? 1 : 0;
    notes_.add(NoteCode::wide_ids, wide);
  }

  // Device events that were launched in the window and before its first step: warm-up steps that the recorder kept.
  void check_warm_up() {
    if (segmentation_.source != StepSource::profiler_step || segmentation_.steps.empty()) return;
    const std::int64_t first_step = segmentation_.steps.front().host.start_ns;
    std::uint64_t early = 0;
    for (std::uint32_t i = 0; i < store_.device_events.size(); ++i) {
      const SliceId launch = store_.device_events.launch[i];
      early += launch.valid() && store_.slices.start_ns[launch.value] < first_step ? 1 : 0;
    }
    notes_.add(NoteCode::warm_up_in_window, early, {}, "device events launched before the first step");
  }

  // Whole microseconds everywhere: sums of short events are uncertain.
  void check_clock() {
    constexpr std::uint64_t kEnough = 20;
    std::uint64_t seen = 0;
    for (std::uint32_t i = 0; i < store_.slices.size(); ++i, ++seen) {
      if (store_.slices.start_ns[i] % 1000 != 0 || store_.slices.dur_ns[i] % 1000 != 0) return;
    }
    for (std::uint32_t i = 0; i < store_.device_events.size(); ++i, ++seen) {
      if (store_.device_events.start_ns[i] % 1000 != 0 || store_.device_events.dur_ns[i] % 1000 != 0) return;
    }
    audit_.coarse_clock = seen >= kEnough;
    if (audit_.coarse_clock) notes_.add(NoteCode::coarse_clock, seen);
  }

  void check_loader() {
    for (std::uint32_t name = 0; name < index_.name_class.size(); ++name) {
      if (index_.name_class[name] != NameClass::dataloader_next) continue;
      if (store_.text(StringId(name)).find("_SingleProcess") != std::string_view::npos)
        continue;  // loads in this process
      return notes_.add(NoteCode::dataloader_workers_elsewhere, 1);
    }
  }

  // Ranks over gloo in one host, one device: what others run on it is not in this file.
  void check_sharing() {
    const bool several = store_.process.world_size.value_or(1) > 1;
    if (several && store_.process.backend == "gloo" && audit_.has_device_activity &&
        store_.process.devices.size() == 1) {
      notes_.add(NoteCode::shared_device, 1);
    }
  }

  // Communication kernels for which neither they nor the op that launched them say what they move.
  void check_collectives() {
    std::vector<bool> described_op(store_.slices.size(), false);
    std::vector<bool> described_kernel(store_.device_events.size(), false);
    for (std::size_t i = 0; i < store_.collectives.size(); ++i) {
      if (store_.collectives.in_elements[i] == kNotRecorded) continue;
      if (store_.collectives.op[i].valid()) described_op[store_.collectives.op[i].value] = true;
      if (store_.collectives.kernel[i].valid()) described_kernel[store_.collectives.kernel[i].value] = true;
    }
    const auto described = [&](std::uint32_t event) {
      if (described_kernel[event]) return true;
      for (SliceId s = store_.device_events.launch[event]; s.valid(); s = store_.slices.parent[s.value]) {
        if (described_op[s.value]) return true;
      }
      return false;
    };
    std::vector<std::int8_t> communicates(store_.strings.size(), -1);  // by name; -1 = not looked at
    std::uint64_t missing = 0;
    for (std::uint32_t i = 0; i < store_.device_events.size(); ++i) {
      if (store_.device_events.kind[i] != DeviceEventKind::kernel) continue;
      std::int8_t& known = communicates[store_.device_events.name[i].value];
      if (known < 0) known = is_communication_kernel(store_.text(store_.device_events.name[i])) ? 1 : 0;
      if (known == 1 && !described(i)) ++missing;
    }
    notes_.add(NoteCode::collective_metadata_missing, missing);
  }

  // Stream waits on an event that was recorded before the window, or never.
  void check_stream_waits() {
    if (store_.device_syncs.empty()) return;
    std::vector<std::int64_t> correlations = store_.call_details.correlation;
    std::sort(correlations.begin(), correlations.end());
    std::uint64_t unresolved = 0;
    for (std::size_t i = 0; i < store_.device_syncs.size(); ++i) {
      const std::int64_t record = store_.device_syncs.record_correlation[i];
      if (record == kNotRecorded || record == 0) continue;
      if (!std::binary_search(correlations.begin(), correlations.end(), record)) ++unresolved;
    }
    notes_.add(NoteCode::sync_unresolved, unresolved);
  }

  const TraceStore& store_;
  const EventIndex& index_;
  const DeviceTimeline& timeline_;
  const StepSegmentation& segmentation_;
  NoteList& notes_;
  Audit audit_;
};

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  results.audit = std::make_shared<Audit>(Auditor(store, results).run());
  return {};
}

}  // namespace

AnalysisDescriptor describe_audit() {
  return {"audit",
          "Audit",
          "审计",
          {"event_index", "device_timeline", "step_segmentation"},
          "What in the recording cannot be trusted, before any conclusion: launches without device records and device "
          "records "
          "without launches, times that cannot be, records that overlap, ranges that cross, steps cut off, what the "
          "recorder says "
          "of itself. Each becomes a note.",
          run};
}

}  // namespace accel

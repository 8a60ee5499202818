#include "analysis/idle_attribution.h"

#include <algorithm>
#include <limits>

#include "analysis/analysis.h"
#include "analysis/device_timeline.h"
#include "analysis/event_index.h"
#include "analysis/step_segmentation.h"

namespace accel {
namespace {

// A head of the first step that stays idle longer than this, while work from before the window is known to run, may
// hide a kernel that started before the window and is not in the file.
constexpr std::int64_t kBlindHeadNs = 1'000'000;
// From the end of its launch call a kernel on an idle device starts within this; what is longer waits for something
// else.
constexpr std::int64_t kLaunchLatencyNs = 50'000;

// A host call that blocks on the device, and how long the device was busy meanwhile: the host comes that much later to
// whatever it does next than it would have without the wait.
struct Wait {
  std::int64_t end_ns = 0;
  std::uint32_t slice = 0;
  std::int64_t busy_ns = 0;
};

struct CulpritStat {
  IdleCause cause = IdleCause::unknown;
  std::uint32_t name = 0;
  std::uint32_t next = 0;
  std::int64_t idle_ns = 0;
  std::int64_t example_idle_ns = 0;
  std::int64_t current_idle_ns = 0;
  std::uint64_t count = 0;
  SliceId example;
  SliceId current;
};

// Idle by cause and name of the innermost slice. Most names meet one or two causes: a name has a short chain of rows.
class CulpritTable {
 public:
  explicit CulpritTable(const TraceStore& store) : store_(store), first_of_name_(store.strings.size() + 1, kNone) {}

  void add(IdleCause cause, SliceId slice, std::int64_t idle_ns) {
    const std::size_t name = slice.valid() ? store_.slices.name[slice.value].value : store_.strings.size();
    CulpritStat& stat = find(static_cast<std::uint32_t>(name), cause);
    if (stat.count == 0 || stat.current != slice) {
      stat.current = slice;
      stat.current_idle_ns = 0;
      ++stat.count;
    }
    stat.idle_ns += idle_ns;
    stat.current_idle_ns += idle_ns;
    if (stat.current_idle_ns > stat.example_idle_ns) {
      stat.example_idle_ns = stat.current_idle_ns;
      stat.example = slice;
    }
  }

  std::vector<IdleCulprit> sorted() const {
    std::vector<IdleCulprit> list;
    list.reserve(stats_.size());
    for (const CulpritStat& stat : stats_) {
      const bool named = stat.name < store_.strings.size();
      const SliceKind kind = stat.example.valid() ? store_.slices.kind[stat.example.value] : SliceKind::other;
      list.push_back(
          {stat.cause, named ? StringId(stat.name) : StringId(0), kind, stat.example, stat.idle_ns, stat.count});
    }
    std::sort(list.begin(), list.end(), [](const IdleCulprit& a, const IdleCulprit& b) {
      if (a.idle_ns != b.idle_ns) return a.idle_ns > b.idle_ns;
      if (a.cause != b.cause) return a.cause < b.cause;
      return a.name < b.name;
    });
    return list;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  CulpritStat& find(std::uint32_t name, IdleCause cause) {
    std::uint32_t row = first_of_name_[name];
    for (; row != kNone; row = stats_[row].next) {
      if (stats_[row].cause == cause) return stats_[row];
    }
    CulpritStat stat;
    stat.cause = cause;
    stat.name = name;
    stat.next = first_of_name_[name];
    first_of_name_[name] = static_cast<std::uint32_t>(stats_.size());
    stats_.push_back(stat);
    return stats_.back();
  }

  const TraceStore& store_;
  std::vector<std::uint32_t> first_of_name_;
  std::vector<CulpritStat> stats_;
};

// Who ends a gap: the next device event and when its launch call ran.
struct GapEnd {
  bool has_event = false;
  bool has_launch = false;
  std::int64_t launch_start_ns = 0;
  std::int64_t launch_end_ns = 0;
  bool pageable_to_device = false;
};

class Attributor {
 public:
  Attributor(const TraceStore& store, const AnalysisResults& results, std::size_t device_row)
      : store_(store),
        index_(*results.event_index),
        timeline_(results.device_timeline->devices[device_row]),
        range_(store.device_ranges[device_row]),
        segmentation_(*results.step_segmentation),
        culprits_(store),
        event_(range_.first),
        launches_recorded_(std::any_of(store.device_events.launch.begin(), store.device_events.launch.end(),
                                       [](SliceId launch) { return launch.valid(); })) {
    for (const ThreadIndex thread : index_.launching_threads) cursors_.emplace_back(store, index_, thread);
    has_host_ = !cursors_.empty();
    for (const ThreadIndex thread : index_.communicating_threads) cursors_.emplace_back(store, index_, thread);
    for (const ThreadIndex thread : index_.overhead_threads) cursors_.emplace_back(store, index_, thread);
    has_data_ranges_ =
        std::find(index_.name_class.begin(), index_.name_class.end(), NameClass::data_range) != index_.name_class.end();
    find_waits();
    find_blind_head();
  }

  IdleOfDevice attribute() {
    result_.device = range_.device;
    const auto windows = segmentation_.windows_of(range_.device);
    for (const auto& window : windows) {
      step_ = IdleByCause{};
      const IntervalSet gaps = timeline_.busy.gaps_in(window.time);  // the span below does not keep it alive
      for (const Interval& gap : gaps.intervals()) attribute_gap(gap);
      result_.by_step.push_back(step_);
      for (std::size_t c = 0; c < kIdleCauseCount; ++c) result_.total[c] += step_[c];
    }
    result_.culprits = culprits_.sorted();
    std::sort(result_.waits.begin(), result_.waits.end(),
              [](const WaitIdle& a, const WaitIdle& b) { return a.call < b.call; });
    merge_waits();
    return std::move(result_);
  }

 private:
  void find_waits() {
    for (const ThreadIndex thread : index_.launching_threads) {
      const auto [first, last] = store_.thread_ranges[thread.value];
      for (std::uint32_t i = first; i < last; ++i) {
        if (index_.blocks(store_, i)) waits_.push_back({store_.slice_end_ns(SliceId(i)), i, 0});
      }
    }
    std::sort(waits_.begin(), waits_.end(), [](const Wait& a, const Wait& b) {
      return a.end_ns != b.end_ns ? a.end_ns < b.end_ns : a.slice < b.slice;
    });
    for (Wait& wait : waits_)
      wait.busy_ns = timeline_.busy.clipped({store_.slices.start_ns[wait.slice], wait.end_ns}).total_ns();
  }

  void find_blind_head() {
    if (segmentation_.steps.empty() || timeline_.busy.empty()) return;
    bool earlier_work = false;
    for (std::uint32_t i = range_.first; i < range_.last && !earlier_work; ++i)
      earlier_work = !store_.device_events.launch[i].valid();
    const std::int64_t first_start = timeline_.busy.intervals().front().start_ns;
    if (has_host_ && earlier_work && first_start - segmentation_.steps.front().host.start_ns > kBlindHeadNs)
      blind_until_ns_ = first_start;
  }

  GapEnd end_of_gap(std::int64_t time_ns) {
    const DeviceEventTable& events = store_.device_events;
    for (; event_ < range_.last && (events.start_ns[event_] < time_ns || (events.flags[event_] & kDeviceNoTiming) != 0);
         ++event_) {
      any_launched_ |= events.launch[event_].valid();
    }
    GapEnd end;
    if (event_ >= range_.last) return end;
    end.has_event = true;
    const SliceId launch = events.launch[event_];
    if (!launch.valid()) return end;
    end.has_launch = true;
    end.launch_start_ns = store_.slices.start_ns[launch.value];
    end.launch_end_ns = store_.slice_end_ns(launch);
    const std::uint8_t flags = index_.slice_flags[launch.value];
    end.pageable_to_device = (flags & kCallPageable) != 0 && (flags & kCallToDevice) != 0;
    return end;
  }

  // Waits that ended by now make the host late; idle that follows uses that up.
  void collect_credit(std::int64_t time_ns) {
    while (next_wait_ < waits_.size() && waits_[next_wait_].end_ns <= time_ns) {
      credit_ns_ += waits_[next_wait_].busy_ns;
      credited_ = SliceId(waits_[next_wait_].slice);
      ++next_wait_;
    }
  }

  void attribute_gap(const Interval& gap) {
    const GapEnd end = end_of_gap(gap.end_ns);
    // Launched before the gap began: the device had the work and waited for something of its own.
    // An event without a launch was launched before the window as long as none of the window has run; later ones have
    // lost their launch, and nothing is known of when it was.
    const bool queued =
        end.has_event && (end.has_launch ? end.launch_end_ns <= gap.start_ns : launches_recorded_ && !any_launched_);
    for (HostCursor& cursor : cursors_) {
      cursor.advance(gap.start_ns);
      cursor.reset_opened();
    }
    std::int64_t at = gap.start_ns;
    while (at < gap.end_ns) {
      std::int64_t until = gap.end_ns;
      if (end.has_launch) {
        if (end.launch_start_ns > at) until = std::min(until, end.launch_start_ns);
        if (end.launch_end_ns + kLaunchLatencyNs > at) until = std::min(until, end.launch_end_ns + kLaunchLatencyNs);
      }
      if (blind_until_ns_ > at) until = std::min(until, blind_until_ns_);
      const HostCursor* best = nullptr;
      for (HostCursor& cursor : cursors_) {
        cursor.advance(at);
        until = std::min(until, cursor.next_change_ns());
        if (best == nullptr || cursor.state() < best->state()) best = &cursor;
      }
      attribute_part({at, until}, best, end, queued);
      at = until;
    }
  }

  void attribute_part(const Interval& part, const HostCursor* host, const GapEnd& end, bool queued) {
    const HostState state = host != nullptr ? host->state() : HostState::nothing_recorded;
    const SliceId slice = host != nullptr ? host->innermost() : SliceId();
    result_.host_states[static_cast<std::size_t>(state)] += part.length_ns();
    collect_credit(part.start_ns);
    IdleCause cause = IdleCause::unknown;
    if (part.start_ns < blind_until_ns_ || !has_host_) {
      cause = IdleCause::unknown;
    } else if (queued) {
      cause = IdleCause::stream_dependency;
    } else if (end.has_launch && part.start_ns >= end.launch_start_ns && state != HostState::profiler_overhead) {
      cause = cause_after_launch(part, end);
    } else {
      cause = cause_of_state(state, slice);
      // Without a launch on record the host's ordinary work may as well be far ahead of the device.
      if (!launches_recorded_ && cause == IdleCause::host_compute) cause = IdleCause::unknown;
    }
    for (HostCursor& cursor : cursors_) {
      result_.records[static_cast<std::size_t>(cause)] += cursor.opened_records;
      result_.calls[static_cast<std::size_t>(cause)] += cursor.opened_calls;
      result_.frames[static_cast<std::size_t>(cause)] += cursor.opened_frames;
      cursor.reset_opened();
    }
    put(cause, slice, part);
  }

  static IdleCause cause_after_launch(const Interval& part, const GapEnd& end) {
    if (end.pageable_to_device) return IdleCause::host_to_device_copy;
    return part.start_ns < end.launch_end_ns + kLaunchLatencyNs ? IdleCause::launch_latency
                                                                : IdleCause::stream_dependency;
  }

  IdleCause cause_of_state(HostState state, SliceId slice) const {
    switch (state) {
      case HostState::data_loading:
        return IdleCause::data_loading;
      case HostState::garbage_collection:
        return IdleCause::garbage_collection;
      case HostState::memory_allocation:
        return IdleCause::memory_allocation;
      case HostState::synchronization:
        return IdleCause::synchronization;
      case HostState::profiler_overhead:
        return IdleCause::profiler_overhead;
      case HostState::host_communication:
        return IdleCause::communication;
      case HostState::copy_call: {
        const std::uint8_t flags = index_.slice_flags[slice.value];
        if ((flags & kCallPageable) == 0) return IdleCause::host_compute;
        return (flags & kCallToDevice) != 0 ? IdleCause::host_to_device_copy : IdleCause::synchronization;
      }
      case HostState::op_without_launch:
      case HostState::annotation_only:
        return in_data_range(slice) ? IdleCause::data_loading : IdleCause::host_compute;
      case HostState::launch_call:
      case HostState::other_runtime_call:
      case HostState::op_with_launch:
      case HostState::nothing_recorded:
        return IdleCause::host_compute;
    }
    return IdleCause::unknown;
  }

  // Inside a range that the user, or a loader other than torch's, put around the fetching of data.
  bool in_data_range(SliceId slice) const {
    if (!has_data_ranges_) return false;
    for (; slice.valid(); slice = store_.slices.parent[slice.value]) {
      if (index_.class_of(store_, slice.value) == NameClass::data_range) return true;
    }
    return false;
  }

  void put(IdleCause cause, SliceId slice, const Interval& part) {
    std::int64_t at = part.start_ns;
    std::int64_t length = part.length_ns();
    const bool in_wait = slice.valid() && store_.is_call(slice) &&
                         (cause == IdleCause::synchronization || cause == IdleCause::host_to_device_copy);
    if (in_wait) result_.waits.push_back({slice, length, 0});
    if (!in_wait && credit_ns_ > 0) {
      const std::int64_t explained = std::min(credit_ns_, length);
      credit_ns_ -= explained;
      // The host was late because it had waited; other causes than its plain work stand for themselves.
      if (cause == IdleCause::host_compute || cause == IdleCause::launch_latency) {
        result_.waits.push_back({credited_, 0, explained});
        book(IdleCause::synchronization, credited_, at, explained);
        at += explained;
        length -= explained;
      }
    }
    if (length > 0) book(cause, slice, at, length);
  }

  void book(IdleCause cause, SliceId slice, std::int64_t start, std::int64_t length) {
    std::vector<IdleStretch>& stretches = result_.stretches;
    if (!stretches.empty() && stretches.back().cause == cause && stretches.back().time.end_ns == start) {
      stretches.back().time.end_ns += length;
    } else {
      stretches.push_back({{start, start + length}, cause});
    }
    step_[static_cast<std::size_t>(cause)] += length;
    culprits_.add(cause, slice, length);
  }

  void merge_waits() {
    std::vector<WaitIdle> merged;
    for (const WaitIdle& wait : result_.waits) {
      if (merged.empty() || merged.back().call != wait.call) {
        merged.push_back(wait);
        continue;
      }
      merged.back().in_call_ns += wait.in_call_ns;
      merged.back().after_ns += wait.after_ns;
    }
    result_.waits = std::move(merged);
  }

  const TraceStore& store_;
  const EventIndex& index_;
  const DeviceTimeline::Device& timeline_;
  const TraceStore::DeviceRange& range_;
  const StepSegmentation& segmentation_;
  CulpritTable culprits_;
  std::vector<HostCursor> cursors_;
  std::vector<Wait> waits_;
  std::size_t next_wait_ = 0;
  std::int64_t credit_ns_ = 0;
  SliceId credited_;
  std::int64_t blind_until_ns_ = std::numeric_limits<std::int64_t>::min();
  std::uint32_t event_;
  bool has_host_ = false;
  bool has_data_ranges_ = false;
  bool any_launched_ = false;  // of the events so far
  const bool launches_recorded_;
  IdleOfDevice result_;
  IdleByCause step_{};
};

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  auto attribution = std::make_shared<IdleAttribution>();
  for (std::size_t d = 0; d < store.device_ranges.size(); ++d)
    attribution->devices.push_back(Attributor(store, results, d).attribute());
  results.idle_attribution = std::move(attribution);
  return {};
}

}  // namespace

AnalysisDescriptor describe_idle_attribution() {
  return {
      "idle_attribution",
      "Idle attribution",
      "空闲归因",
      {"event_index", "device_timeline", "step_segmentation"},
      "Every nanosecond in which a device ran nothing inside a step's window gets one cause. Work that was launched "
      "before "
      "the gap began: stream_dependency. From the launch of the event that ends the gap: launch_latency (copies from "
      "pageable memory: host_to_device_copy). Before it: what the main and launching threads did, first of data "
      "loading, "
      "garbage collection, memory calls, synchronisation, copy calls, the recorder's own rows, host work. A wait for a "
      "busy "
      "device makes the host late by the time waited; idle of host work that follows is put on the wait up to that "
      "time.",
      run};
}

}  // namespace accel

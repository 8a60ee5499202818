#include "analysis/host_state.h"

#include <algorithm>
#include <limits>

namespace accel {

std::string_view to_string(HostState state) {
  switch (state) {
    case HostState::data_loading:
      return "data_loading";
    case HostState::garbage_collection:
      return "garbage_collection";
    case HostState::memory_allocation:
      return "memory_allocation";
    case HostState::synchronization:
      return "synchronization";
    case HostState::copy_call:
      return "copy_call";
    case HostState::profiler_overhead:
      return "profiler_overhead";
    case HostState::launch_call:
      return "launch_call";
    case HostState::other_runtime_call:
      return "other_runtime_call";
    case HostState::op_without_launch:
      return "op_without_launch";
    case HostState::op_with_launch:
      return "op_with_launch";
    case HostState::host_communication:
      return "host_communication";
    case HostState::annotation_only:
      return "annotation_only";
    case HostState::nothing_recorded:
      return "nothing_recorded";
  }
  return "nothing_recorded";
}

HostCursor::HostCursor(const TraceStore& store, const EventIndex& index, ThreadIndex thread)
    : store_(store),
      index_(index),
      next_(store.thread_ranges[thread.value].first),
      last_(store.thread_ranges[thread.value].second) {}

HostState HostCursor::own_state(std::uint32_t slice) const {
  const NameClass c = index_.class_of(store_, slice);
  switch (store_.slices.kind[slice]) {
    case SliceKind::runtime_call:
    case SliceKind::driver_call:
      switch (c) {
        case NameClass::device_memory:
        case NameClass::host_memory:
          return HostState::memory_allocation;
        case NameClass::synchronize:
          return HostState::synchronization;
        case NameClass::copy_call:
          return HostState::copy_call;
        case NameClass::kernel_launch:
        case NameClass::graph_launch:
        case NameClass::set_call:
          return HostState::launch_call;
        default:
          return (index_.slice_flags[slice] & kCallHasDevice) != 0 ? HostState::launch_call
                                                                   : HostState::other_runtime_call;
      }
    case SliceKind::overhead:
      return c == NameClass::recorder_overhead ? HostState::profiler_overhead : HostState::nothing_recorded;
    case SliceKind::op:
    case SliceKind::annotation:
    case SliceKind::frame:
    case SliceKind::other:
      break;
  }
  if (c == NameClass::dataloader_next) return HostState::data_loading;
  if (c == NameClass::garbage_collection) return HostState::garbage_collection;
  if (c == NameClass::host_communication) return HostState::host_communication;
  if (store_.slices.kind[slice] != SliceKind::op) return HostState::annotation_only;
  return (index_.slice_flags[slice] & kLaunchesInside) != 0 ? HostState::op_with_launch : HostState::op_without_launch;
}

void HostCursor::advance(std::int64_t time_ns) {
  while (next_ < last_ && store_.slices.start_ns[next_] <= time_ns) {
    const std::uint32_t slice = next_++;
    const std::int64_t start = store_.slices.start_ns[slice];
    if (store_.is_call(SliceId(slice))) {
      ++opened_calls;
    } else {
      ++(store_.slices.kind[slice] == SliceKind::frame ? opened_frames : opened_records);
    }
    while (!stack_.empty() && stack_.back().end_ns <= start) stack_.pop_back();
    const std::int64_t end = start + store_.slices.dur_ns[slice];
    if (end <= time_ns) continue;
    const HostState outer = stack_.empty() ? HostState::nothing_recorded : stack_.back().state;
    stack_.push_back({end, slice, std::min(own_state(slice), outer)});
  }
  while (!stack_.empty() && stack_.back().end_ns <= time_ns) stack_.pop_back();
}

std::int64_t HostCursor::next_change_ns() const {
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  if (!stack_.empty()) next = stack_.back().end_ns;
  if (next_ < last_) next = std::min(next, store_.slices.start_ns[next_]);
  return next;
}

}  // namespace accel

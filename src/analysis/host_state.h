// Host state: what one host thread is doing at a time, read off its open slices. A cursor walks one thread forward in
// time; several cursors side by side say what the process does. One cursor belongs to one thread of this program.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/event_index.h"

namespace accel {

// In the order in which they win: the state of a thread is the first that holds for any of its open slices, and the
// state of the process the first that holds for any of the threads looked at.
enum class HostState : std::uint8_t {
  data_loading,
  garbage_collection,
  memory_allocation,
  synchronization,
  copy_call,
  profiler_overhead,
  launch_call,
  other_runtime_call,
  op_without_launch,
  op_with_launch,
  host_communication,
  annotation_only,
  nothing_recorded,
};
inline constexpr std::size_t kHostStateCount = 13;

std::string_view to_string(HostState state);

class HostCursor {
 public:
  HostCursor(const TraceStore& store, const EventIndex& index, ThreadIndex thread);

  // Moves to `time_ns`, which never goes back. Slices that start at or before it are counted as opened.
  void advance(std::int64_t time_ns);

  HostState state() const { return stack_.empty() ? HostState::nothing_recorded : stack_.back().state; }
  SliceId innermost() const { return stack_.empty() ? SliceId() : SliceId(stack_.back().slice); }
  // The next time at which the state may change.
  std::int64_t next_change_ns() const;

  // Records opened since the last reset: ops and ranges; calls and Python frames apart.
  std::uint32_t opened_records = 0;
  std::uint32_t opened_calls = 0;
  std::uint32_t opened_frames = 0;
  void reset_opened() { opened_records = opened_calls = opened_frames = 0; }

 private:
  struct Open {
    std::int64_t end_ns;
    std::uint32_t slice;
    HostState state;
  };

  HostState own_state(std::uint32_t slice) const;

  const TraceStore& store_;
  const EventIndex& index_;
  std::uint32_t next_;
  std::uint32_t last_;
  std::vector<Open> stack_;
};

}  // namespace accel

// The processor as the device of a job that has no other: its outermost ops are the work that the steps are for. A call
// without length gives each piece of work its step, as a launch does.
#include <algorithm>
#include <vector>

#include "trace/builder_state.h"
#include "trace/processor.h"
#include "trace/trace_builder.h"

namespace accel {

void TraceBuilder::add_host_device(bool (*is_work)(std::string_view name)) {
  State& state = *state_;
  const auto& staged = state.staged.slices;
  if (state.staged.device_events.rows > 0) return;
  std::vector<std::uint32_t> ops;
  for (std::size_t row = 0; row < staged.rows; ++row) {
    if (staged.kind[row] == SliceKind::op && (staged.flags[row] & kSliceUnfinished) == 0 && staged.dur_ns[row] > 0)
      ops.push_back(static_cast<std::uint32_t>(row));
  }
  std::sort(ops.begin(), ops.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (staged.thread[a] != staged.thread[b]) return staged.thread[a] < staged.thread[b];
    if (staged.start_ns[a] != staged.start_ns[b]) return staged.start_ns[a] < staged.start_ns[b];
    return staged.dur_ns[a] != staged.dur_ns[b] ? staged.dur_ns[a] > staged.dur_ns[b] : a < b;
  });
  TraceBatch batch;
  const auto own_text = [&](StringId text) {
    return text.valid() ? batch.intern(state.store.strings.view(text)) : StringId();
  };
  ThreadIndex thread;
  std::int64_t covered_ns = 0;
  std::int64_t correlation = 0;
  for (const std::uint32_t row : ops) {
    const bool same_thread = staged.thread[row] == thread;
    if (same_thread && staged.start_ns[row] < covered_ns) continue;
    thread = staged.thread[row];
    covered_ns = staged.start_ns[row] + staged.dur_ns[row];
    const std::string_view name = state.store.strings.view(staged.name[row]);
    if (!is_work(name)) continue;
    const ThreadRow at = state.store.threads.row(thread.value);
    const CallDetailRow link{++correlation, kNotRecorded};
    SliceRow call;
    call.start_ns = staged.start_ns[row];
    call.name = batch.intern(name);  // findings name places by what ran before and after
    call.thread = batch.add_thread(at.pid, at.tid, own_text(at.pid_text), own_text(at.tid_text));
    call.kind = SliceKind::driver_call;
    batch.add_slice(call, &link);
    DeviceEventRow event;
    event.start_ns = staged.start_ns[row];
    event.dur_ns = staged.dur_ns[row];
    event.correlation = correlation;
    event.external_id = kNotRecorded;
    event.name = batch.intern(name);
    event.stream = batch.add_stream(0, 0, at.tid);
    event.kind = DeviceEventKind::kernel;
    batch.add_device_event(event, static_cast<const KernelDetailRow*>(nullptr));
  }
  if (correlation == 0) return;
  commit(batch, state.next_sequence);
  DeviceProperties processor;
  processor.name = kProcessorName;
  state.store.process.devices = {processor};
}

}  // namespace accel

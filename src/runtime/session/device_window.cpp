#include "runtime/session/device_window.h"

#include <cstdio>

#include "runtime/buffer/clock.h"
#include "runtime/session/capture.h"

namespace accel::runtime {
namespace {

// A flush takes 1 to 4 ms of this thread and keeps two to six buffers in use.
constexpr std::int64_t kFlushEveryNs = 200'000'000;

}  // namespace

void DeviceWindow::open(Capture& capture, NameRegistry& names, bool rich) {
  if (cupti::mapped_library("libcuda.so") == nullptr && cupti::mapped_library("libcupti.so") == nullptr) return;
  rows_ = cupti::DeviceRows::make(
      names, {&capture, [](void* to, format::RowBuffer& rows) { static_cast<Capture*>(to)->write_rows(rows); }});
  const cupti::Activity::Refusal refusal =
      rows_ == nullptr ? cupti::Activity::Refusal{"no memory for device records", "leave the process more memory"}
                       : cupti::activity().start(rich);
  if (refusal.why != nullptr) {
    capture.note("device_absent", 1, 1, refusal.why, refusal.remedy);
    abandon();
    return;
  }
  rich_ = rich;
  next_flush_ns_ = monotonic_ns() + kFlushEveryNs;
  rows_->write_devices();
  capture.file().meta("cupti_version", static_cast<std::int64_t>(cupti::activity().library().version));
  capture.file().meta("device_calls", rich ? 1 : 0);
}

void DeviceWindow::drain(std::uint64_t keep_from) {
  if (rows_ == nullptr) return;
  const std::int64_t now = monotonic_ns();
  if (now >= next_flush_ns_) {
    cupti::activity().flush();
    next_flush_ns_ = now + kFlushEveryNs;
  }
  keep_from_ = keep_from;
  cupti::activity().drain(
      [](void* window, std::uint8_t* buffer, std::size_t valid_bytes) {
        const auto& self = *static_cast<DeviceWindow*>(window);
        self.rows_->take(cupti::activity().library().functions, buffer, valid_bytes, self.keep_from_);
      },
      this);
}

void DeviceWindow::close(Capture& capture, std::uint64_t keep_from, bool device_hangs) {
  if (rows_ == nullptr) return;
  cupti::activity().stop(device_hangs);
  next_flush_ns_ = monotonic_ns() + kFlushEveryNs;
  drain(keep_from);
  rows_->flush();
  note_losses(capture);
  abandon();
}

void DeviceWindow::abandon() {
  if (rows_ == nullptr) return;
  cupti::activity().stop(false);
  cupti::DeviceRows::destroy(rows_);
  rows_ = nullptr;
}

void DeviceWindow::note_losses(Capture& capture) {
  const cupti::Activity::Losses lost = cupti::activity().losses();
  const cupti::DeviceRows::Counts& counts = rows_->counts();
  if (lost.dropped_records > 0)
    capture.note("device_records_dropped", 1, lost.dropped_records, "CUPTI dropped device records: no buffer was free",
                 "capture fewer steps");
  if (lost.dropped_records == 0 && lost.refused_buffers > 0)
    capture.note("device_buffers_refused", 1, lost.refused_buffers, "CUPTI found no free buffer for device records",
                 "capture fewer steps");
  if (lost.foreign_buffers > 0)
    capture.note("device_buffers_foreign", 1, lost.foreign_buffers,
                 "CUPTI handed over buffers of another profiler in this process: both captures have holes",
                 "record with one profiler at a time");
  if (lost.buffers_not_back > 0)
    capture.note("device_buffers_not_back", 1, lost.buffers_not_back,
                 "CUPTI kept buffers when the window closed: their device records are missing",
                 "record with one profiler at a time; look whether the device still works");
  if (lost.pauses > 0)
    capture.note("device_paused", 1, lost.pauses, "another profiler had its turn: no device records meanwhile",
                 "nothing to do; capture again for a whole window");
  if (lost.failed_resumes > 0) {
    char text[240];
    std::snprintf(text, sizeof text, "after another profiler's turn CUPTI did not start again: %s", lost.resume_failed);
    capture.note(
        "device_not_resumed", 1, lost.failed_resumes, text,
        "call accel_device_resume only after the other profiler's last call, or capture again when it is done");
  }
  if (counts.damaged_buffers > 0)
    capture.note("device_buffers_damaged", 1, counts.damaged_buffers, "buffers of device records could not be read",
                 "update the driver or CUDA");
  if (counts.without_time > 0)
    capture.note("device_records_without_time", 1, counts.without_time, "device records hold no times",
                 "close tools that use the device's counters");
  if (!rich_)
    capture.note("device_light", 0, 1,
                 "sets and API calls were not recorded: a device event's step is that of its start",
                 "ask for device calls where launches matter");
  if (counts.calls_left_out > 0)
    capture.note("device_calls_left_out", 0, counts.calls_left_out,
                 "API calls that neither launch, copy, allocate nor wait were left out", "nothing to do");
}

}  // namespace accel::runtime

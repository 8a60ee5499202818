#include "trace/trace_batch_index.h"

namespace accel {

TraceBatch::TraceBatch() : index_(std::make_unique<Index>()) {}
TraceBatch::~TraceBatch() = default;
TraceBatch::TraceBatch(TraceBatch&&) noexcept = default;
TraceBatch& TraceBatch::operator=(TraceBatch&&) noexcept = default;

ThreadIndex TraceBatch::add_thread(std::int64_t pid, std::int64_t tid, StringId pid_text, StringId tid_text) {
  return ThreadIndex(
      static_cast<std::uint16_t>(index_->threads.add(threads, {pid, tid, pid_text, tid_text, StringId()})));
}

StreamIndex TraceBatch::add_stream(std::int64_t device, std::int64_t context, std::int64_t stream) {
  return StreamIndex(static_cast<std::uint16_t>(index_->streams.add(streams, {device, context, stream})));
}

ArgsId TraceBatch::add_op_args(const OpArgsRow& row) { return ArgsId(index_->op_args.add(op_args, row)); }

LaunchConfigId TraceBatch::add_launch_config(const LaunchConfigRow& row) {
  return LaunchConfigId(index_->launch_configs.add(launch_configs, row));
}

SliceId TraceBatch::add_slice(SliceRow row, const OpDetailRow* detail) {
  row.detail = DetailId();
  if (detail != nullptr) {
    row.detail = DetailId(static_cast<std::uint32_t>(op_details.size()));
    op_details.push(*detail);
  }
  slices.push(row);
  return SliceId(static_cast<std::uint32_t>(slices.size() - 1));
}

SliceId TraceBatch::add_slice(SliceRow row, const CallDetailRow* detail) {
  row.detail = DetailId();
  if (detail != nullptr) {
    row.detail = DetailId(static_cast<std::uint32_t>(call_details.size()));
    call_details.push(*detail);
  }
  slices.push(row);
  return SliceId(static_cast<std::uint32_t>(slices.size() - 1));
}

SliceId TraceBatch::add_slice(SliceRow row, const FrameDetailRow* detail) {
  row.detail = DetailId();
  if (detail != nullptr) {
    row.detail = DetailId(static_cast<std::uint32_t>(frame_details.size()));
    frame_details.push(*detail);
  }
  slices.push(row);
  return SliceId(static_cast<std::uint32_t>(slices.size() - 1));
}

DeviceEventId TraceBatch::add_device_event(DeviceEventRow row, const KernelDetailRow* detail) {
  row.detail = DetailId();
  if (detail != nullptr) {
    row.detail = DetailId(static_cast<std::uint32_t>(kernel_details.size()));
    kernel_details.push(*detail);
  }
  device_events.push(row);
  return DeviceEventId(static_cast<std::uint32_t>(device_events.size() - 1));
}

DeviceEventId TraceBatch::add_device_event(DeviceEventRow row, const CopyDetailRow* detail) {
  row.detail = DetailId();
  if (detail != nullptr) {
    row.detail = DetailId(static_cast<std::uint32_t>(copy_details.size()));
    copy_details.push(*detail);
  }
  device_events.push(row);
  return DeviceEventId(static_cast<std::uint32_t>(device_events.size() - 1));
}

void TraceBatch::count_events(std::string_view category, std::uint64_t count) {
  events += count;
  for (auto& [known, total] : index_->categories) {
    if (known == category) {
      total += count;
      return;
    }
  }
  index_->categories.emplace_back(category, count);
}

void TraceBatch::reset() {
#define TABLE_BEGIN(Name, accessor, doc) \
  accessor.for_each_column([](std::string_view, std::string_view, auto& column) { column.clear(); });
#define COLUMN(type, name, unit, doc)
#define TABLE_END(Name)
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
  begin_ends.clear();
  thread_names.clear();
  strings.clear();
  notes = NoteList();
  events = 0;
  index_->clear();
  index_->categories.clear();
}

}  // namespace accel

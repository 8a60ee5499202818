#include "report/perfetto/slice_args.h"

#include <fmt/format.h>

#include "report/device_words.h"

namespace accel::report::perfetto {

void SliceArgs::text(std::string_view name, StringId value) {
  if (!value.valid() || store_.text(value).empty()) return;
  Interned& id = text_ids_[value.value];
  if (id == 0) id = out_.arg_text(store_.text(value));
  args_.push_back({out_.arg_name(name), Arg::Kind::text, id});
}

void SliceArgs::word(std::string_view name, std::string_view value) {
  if (!value.empty()) args_.push_back({out_.arg_name(name), Arg::Kind::text, out_.arg_text(value)});
}

void SliceArgs::integer(std::string_view name, std::int64_t value) {
  if (value == kNotRecorded) return;
  Arg arg{out_.arg_name(name), Arg::Kind::integer};
  arg.integer = value;
  args_.push_back(arg);
}

void SliceArgs::yes(std::string_view name) { args_.push_back({out_.arg_name(name), Arg::Kind::yes}); }

const std::vector<Arg>& SliceArgs::of_slice(std::uint32_t slice) {
  args_.clear();
  if ((store_.slices.flags[slice] & kSliceUnfinished) != 0) yes("no end recorded");
  const DetailId detail = store_.slices.detail[slice];
  if (!detail.valid()) return args_;
  switch (store_.slices.kind[slice]) {
    case SliceKind::op:
    case SliceKind::annotation:
      integer("sequence number", store_.op_details.sequence[detail.value]);
      if (const ArgsId args = store_.op_details.args[detail.value]; args.valid()) {
        text("input dims", store_.op_args.dims[args.value]);
        text("input types", store_.op_args.types[args.value]);
        text("input strides", store_.op_args.strides[args.value]);
        text("concrete inputs", store_.op_args.concrete[args.value]);
      }
      break;
    case SliceKind::runtime_call:
    case SliceKind::driver_call:
      integer("correlation", store_.call_details.correlation[detail.value]);
      break;
    default:
      break;
  }
  return args_;
}

const std::vector<Arg>& SliceArgs::of_device_event(std::uint32_t event) {
  args_.clear();
  integer("correlation", store_.device_events.correlation[event]);
  const DetailId detail = store_.device_events.detail[event];
  if (!detail.valid()) return args_;
  if (store_.device_events.kind[event] == DeviceEventKind::kernel) {
    of_kernel(detail);
  } else {
    of_copy(detail);
  }
  return args_;
}

void SliceArgs::of_kernel(DetailId detail) {
  const LaunchConfigId config = store_.kernel_details.config[detail.value];
  integer("graph node", store_.kernel_details.graph_node[detail.value]);
  if (!config.valid()) return;
  const LaunchConfigRow row = store_.launch_configs.row(config.value);
  if (row.grid_x != kNotRecorded32) word("grid", fmt::format("{} x {} x {}", row.grid_x, row.grid_y, row.grid_z));
  if (row.block_x != kNotRecorded32) word("block", fmt::format("{} x {} x {}", row.block_x, row.block_y, row.block_z));
  if (row.registers != kNotRecorded32) integer("registers per thread", row.registers);
  if (row.shared_memory != kNotRecorded32) integer("shared memory (bytes)", row.shared_memory);
  if (row.occupancy_percent >= 0) {
    Arg arg{out_.arg_name("achieved occupancy, estimated (%)"), Arg::Kind::real};
    arg.real = static_cast<double>(row.occupancy_percent);
    args_.push_back(arg);
  }
}

void SliceArgs::of_copy(DetailId detail) {
  const CopyDetailRow row = store_.copy_details.row(detail.value);
  integer("bytes", row.bytes);
  word("direction", direction_word(row.direction));
  word("from", memory_word(row.source));
  word("to", memory_word(row.destination));
}

}  // namespace accel::report::perfetto

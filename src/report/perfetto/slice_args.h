// What a reader sees of a slice beyond its name, as args of its begin. One thread per object.
#pragma once

#include <vector>

#include "report/perfetto/packet_stream.h"
#include "trace/trace_store.h"

namespace accel::report::perfetto {

class SliceArgs {
 public:
  SliceArgs(PacketStream& out, const TraceStore& store)
      : out_(out), store_(store), text_ids_(store.strings.size(), 0) {}

  // Hold until the next call.
  const std::vector<Arg>& of_slice(std::uint32_t slice);
  const std::vector<Arg>& of_device_event(std::uint32_t event);

 private:
  void text(std::string_view name, StringId value);
  void word(std::string_view name, std::string_view value);
  void integer(std::string_view name, std::int64_t value);
  void yes(std::string_view name);
  void of_kernel(DetailId detail);
  void of_copy(DetailId detail);

  PacketStream& out_;
  const TraceStore& store_;
  std::vector<Interned> text_ids_;  // by StringId; 0: not written yet
  std::vector<Arg> args_;
};

}  // namespace accel::report::perfetto

#include "trace/finish.h"

namespace accel {

void finish_device_events(TraceBuilder::State& state, std::int64_t base_ns, bool want_final_rows,
                          std::vector<std::uint32_t>& final_row) {
  auto& staged = state.staged.device_events;
  TraceStore& store = state.store;
  DeviceEventTable& out = store.device_events;
  std::vector<std::uint32_t> order(staged.rows);
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto device = [&](std::uint32_t row) {
    const StreamIndex stream = staged.stream[row];
    return stream.valid() ? store.streams.device[stream.value] : kNotRecorded;
  };
  sort_runs(std::span(order), [&](std::uint32_t a, std::uint32_t b) {
    const std::int64_t device_a = device(a);
    const std::int64_t device_b = device(b);
    if (device_a != device_b) return device_a < device_b;
    return staged.start_ns[a] != staged.start_ns[b] ? staged.start_ns[a] < staged.start_ns[b] : a < b;
  });
  store.device_ranges.clear();
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const std::int64_t d = device(order[i]);
    if (store.device_ranges.empty() || store.device_ranges.back().device != d) store.device_ranges.push_back({d, i, i});
    store.device_ranges.back().last = i + 1;
  }
  if (want_final_rows) {
    final_row.resize(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) final_row[order[i]] = i;
  }
  gather(staged.flags, order, out.flags);
  gather(staged.start_ns, order, out.start_ns);
  for (std::size_t i = 0; i < out.start_ns.size(); ++i) {
    if ((out.flags[i] & kDeviceNoTiming) == 0) out.start_ns[i] += base_ns;
  }
  gather(staged.dur_ns, order, out.dur_ns);
  gather(staged.correlation, order, out.correlation);
  gather(staged.external_id, order, out.external_id);
  gather(staged.name, order, out.name);
  gather(staged.detail, order, out.detail);
  gather(staged.stream, order, out.stream);
  gather(staged.kind, order, out.kind);
  out.launch.resize(order.size());
}

}  // namespace accel

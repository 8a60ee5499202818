#include <algorithm>

#include "trace/finish.h"

namespace accel {
namespace {

// Calls by correlation. Correlations mostly are a dense range of numbers, each on one call: then the table is an array.
class CallIndex {
 public:
  explicit CallIndex(const TraceStore& store) : store_(store) {
    for (std::uint32_t i = 0; i < store.slices.size(); ++i) {
      const SliceId id(i);
      if (!store.is_call(id) || !store.slices.detail[i].valid()) continue;
      const std::int64_t correlation = store.call_details.correlation[store.slices.detail[i].value];
      if (correlation != kNotRecorded && correlation != 0) calls_.push_back({correlation, i});
    }
    std::sort(calls_.begin(), calls_.end(), [&](const Call& a, const Call& b) {
      if (a.correlation != b.correlation) return a.correlation < b.correlation;
      const std::int64_t start_a = store.slices.start_ns[a.slice];
      const std::int64_t start_b = store.slices.start_ns[b.slice];
      return start_a != start_b ? start_a < start_b : a.slice < b.slice;
    });
  }

  struct Found {
    SliceId call;
    bool ambiguous = false;
  };
  // The call of that correlation; of several, the last that starts no later than `time_ns`, else the first.
  Found find(std::int64_t correlation, std::int64_t time_ns) const {
    if (correlation == kNotRecorded || correlation == 0) return {};
    auto first = std::lower_bound(calls_.begin(), calls_.end(), correlation,
                                  [](const Call& call, std::int64_t c) { return call.correlation < c; });
    if (first == calls_.end() || first->correlation != correlation) return {};
    auto best = first;
    for (auto next = first + 1; next != calls_.end() && next->correlation == correlation; ++next) {
      if (store_.slices.start_ns[next->slice] > time_ns) break;
      best = next;
    }
    const bool several = first + 1 != calls_.end() && (first + 1)->correlation == correlation;
    return {SliceId(best->slice), several};
  }

  // Correlations that calls of two processes share: the mark of two ranks in one file. A few among many are damaged
  // digits, and count for nothing.
  std::uint64_t shared_between_processes() const {
    std::uint64_t shared = 0;
    const auto pid = [&](const Call& call) { return store_.threads.pid[store_.slices.thread[call.slice].value]; };
    for (std::size_t i = 1; i < calls_.size(); ++i) {
      if (calls_[i].correlation == calls_[i - 1].correlation && pid(calls_[i]) != pid(calls_[i - 1])) ++shared;
    }
    return shared * 20 > calls_.size() ? shared : 0;
  }

 private:
  struct Call {
    std::int64_t correlation;
    std::uint32_t slice;
  };
  const TraceStore& store_;
  std::vector<Call> calls_;
};

}  // namespace

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

void link_launches(TraceStore& store) {
  const CallIndex calls(store);
  store.notes.add(NoteCode::two_ranks_in_one_file, calls.shared_between_processes(), "",
                  "calls of two processes carry the same correlation ids");
  std::uint64_t ambiguous = 0;
  std::uint64_t disagree = 0;
  DeviceEventTable& events = store.device_events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const CallIndex::Found found = calls.find(events.correlation[i], events.start_ns[i]);
    events.launch[i] = found.call;
    if (!found.call.valid()) continue;
    ambiguous += found.ambiguous ? 1 : 0;
    const std::int64_t recorded = events.external_id[i];
    const SliceId op = store.enclosing_op(found.call);
    if (recorded == kNotRecorded || recorded == 0 || !op.valid() || !store.slices.detail[op.value].valid()) continue;
    const std::int64_t by_time = store.op_details.external_id[store.slices.detail[op.value].value];
    disagree += by_time != kNotRecorded && by_time != recorded ? 1 : 0;
  }
  store.notes.add(NoteCode::ambiguous_correlation, ambiguous);
  store.notes.add(NoteCode::external_id_disagrees, disagree);
}

}  // namespace accel

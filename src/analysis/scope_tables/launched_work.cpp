#include "analysis/scope_tables/launched_work.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>

namespace accel {
namespace {

// A node lies at most this many slices above its launches: deeper ones are not looked for.
constexpr int kDeepest = 256;

struct ForwardOp {
  std::int64_t sequence;
  std::int64_t start_ns;
  friend bool operator<(const ForwardOp& a, const ForwardOp& b) {
    return std::tie(a.sequence, a.start_ns) < std::tie(b.sequence, b.start_ns);
  }
};

// Row of op_details of a backward node, with the number of the thread that ran forward.
bool is_backward(const TraceStore& store, SliceId slice) {
  const DetailId detail = store.slices.detail[slice.value];
  return store.slices.kind[slice.value] == SliceKind::op && detail.valid() &&
         store.op_details.forward_thread[detail.value] > 0 && store.op_details.sequence[detail.value] >= 0;
}

std::vector<ForwardOp> forward_ops(const TraceStore& store, ThreadIndex thread) {
  std::vector<ForwardOp> ops;
  const auto [first, last] = store.thread_ranges[thread.value];
  for (std::uint32_t i = first; i < last; ++i) {
    const DetailId detail = store.slices.detail[i];
    if (store.slices.kind[i] != SliceKind::op || !detail.valid() || is_backward(store, SliceId(i))) continue;
    const std::int64_t sequence = store.op_details.sequence[detail.value];
    if (sequence >= 0) ops.push_back({sequence, store.slices.start_ns[i]});
  }
  std::sort(ops.begin(), ops.end());
  return ops;
}

}  // namespace

void WorkOverTime::finish() {
  std::stable_sort(list_.begin(), list_.end(),
                   [](const LaunchedWork& a, const LaunchedWork& b) { return a.time_ns < b.time_ns; });
  sums_.assign(1, 0);
  for (const LaunchedWork& work : list_) sums_.push_back(sums_.back() + work.ns);
}

std::int64_t WorkOverTime::before(std::int64_t time_ns) const {
  const auto at = std::lower_bound(list_.begin(), list_.end(), time_ns,
                                   [](const LaunchedWork& work, std::int64_t t) { return work.time_ns < t; });
  return sums_[static_cast<std::size_t>(at - list_.begin())];
}

std::int64_t WorkOverTime::between(std::int64_t from_ns, std::int64_t to_ns) const {
  return list_.empty() || to_ns <= from_ns ? 0 : before(to_ns) - before(from_ns);
}

std::vector<WorkOverTime> launched_work(const TraceStore& store, const StepSegmentation& segmentation) {
  std::vector<std::pair<std::uint32_t, std::int64_t>> launches;
  for (std::size_t e = 0; e < store.device_events.size(); ++e) {
    const SliceId launch = store.device_events.launch[e];
    const std::int32_t step = segmentation.step_of_device_event[e];
    if (!launch.valid() || step < 0 || !segmentation.steps[static_cast<std::size_t>(step)].complete) continue;
    if ((store.device_events.flags[e] & kDeviceNoTiming) != 0) continue;
    launches.emplace_back(launch.value, store.device_events.dur_ns[e]);
  }
  std::sort(launches.begin(), launches.end());
  std::vector<WorkOverTime> work(store.threads.size());
  for (std::size_t k = 0; k < launches.size();) {
    const std::uint32_t call = launches[k].first;
    std::int64_t ns = 0;
    for (; k < launches.size() && launches[k].first == call; ++k) ns += launches[k].second;
    work[store.slices.thread[call].value].add({store.slices.start_ns[call], SliceId(call), ns});
  }
  for (WorkOverTime& own : work) own.finish();
  return work;
}

WorkOverTime backward_work(const TraceStore& store, const std::vector<WorkOverTime>& work, ThreadIndex forward) {
  std::vector<std::pair<SliceId, const LaunchedWork*>> nodes;
  std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
  for (const WorkOverTime& own : work) {
    for (const LaunchedWork& launch : own.list()) {
      SliceId slice = launch.call;
      for (int depth = 0; slice.valid() && depth < kDeepest && !is_backward(store, slice); ++depth)
        slice = store.slices.parent[slice.value];
      if (!slice.valid() || !is_backward(store, slice)) continue;
      nodes.emplace_back(slice, &launch);
      lowest = std::min(lowest, store.op_details.forward_thread[store.slices.detail[slice.value].value]);
    }
  }
  WorkOverTime result;
  if (!nodes.empty() && forward.valid()) {
    const std::vector<ForwardOp> ops = forward_ops(store, forward);
    for (const auto& [node, launch] : nodes) {
      const DetailId detail = store.slices.detail[node.value];
      if (store.op_details.forward_thread[detail.value] != lowest) continue;
      // Ops that make no node bear the number of the next one that does: the last of a number is the one that made it.
      const ForwardOp wanted{store.op_details.sequence[detail.value], store.slices.start_ns[node.value]};
      const auto after = std::upper_bound(ops.begin(), ops.end(), wanted);
      if (after == ops.begin() || std::prev(after)->sequence != wanted.sequence) continue;
      result.add({std::prev(after)->start_ns, launch->call, launch->ns});
    }
  }
  result.finish();
  return result;
}

}  // namespace accel

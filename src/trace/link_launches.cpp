#include <algorithm>
#include <atomic>
#include <limits>

#include "base/task_pool.h"
#include "trace/finish.h"

namespace accel {
namespace {

// Calls by correlation.
class CallIndex {
 public:
  explicit CallIndex(const TraceStore& store) : store_(store) {
    if (!index_dense()) index_sorted();
  }

  struct Found {
    SliceId call;
    bool ambiguous = false;
  };
  // The call of that correlation; of several, the last that starts no later than `time_ns`, else the first.
  Found find(std::int64_t correlation, std::int64_t time_ns) const {
    if (correlation == kNotRecorded || correlation == 0) return {};
    if (!dense_.empty()) {
      const bool inside = correlation >= first_ && correlation - first_ < static_cast<std::int64_t>(dense_.size());
      return {inside ? dense_[static_cast<std::size_t>(correlation - first_)] : SliceId(), false};
    }
    auto first = std::lower_bound(sorted_.begin(), sorted_.end(), correlation,
                                  [](const Call& call, std::int64_t c) { return call.correlation < c; });
    if (first == sorted_.end() || first->correlation != correlation) return {};
    auto best = first;
    for (auto next = first + 1; next != sorted_.end() && next->correlation == correlation; ++next) {
      if (store_.slices.start_ns[next->slice] > time_ns) break;
      best = next;
    }
    const bool several = first + 1 != sorted_.end() && (first + 1)->correlation == correlation;
    return {SliceId(best->slice), several};
  }

  // Correlations that calls of two processes share: the mark of two ranks in one file. A few among many are damaged
  // digits, and count for nothing.
  std::uint64_t shared_between_processes() const {
    std::uint64_t shared = 0;
    const auto pid = [&](const Call& call) { return store_.threads.pid[store_.slices.thread[call.slice].value]; };
    for (std::size_t i = 1; i < sorted_.size(); ++i) {
      if (sorted_[i].correlation == sorted_[i - 1].correlation && pid(sorted_[i]) != pid(sorted_[i - 1])) ++shared;
    }
    return shared * 20 > sorted_.size() ? shared : 0;
  }

 private:
  struct Call {
    std::int64_t correlation;
    std::uint32_t slice;
  };

  template <typename Fn>
  void for_each_call(const Fn& fn) const {
    for (std::uint32_t i = 0; i < store_.slices.size(); ++i) {
      if (!store_.is_call(SliceId(i)) || !store_.slices.detail[i].valid()) continue;
      const std::int64_t correlation = store_.call_details.correlation[store_.slices.detail[i].value];
      if (correlation != kNotRecorded && correlation != 0) fn(correlation, i);
    }
  }

  // Correlations mostly are a dense range of numbers, each on one call: then the index is an array.
  bool index_dense() {
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    first_ = std::numeric_limits<std::int64_t>::max();
    std::uint64_t calls = 0;
    for (const std::int64_t correlation : store_.call_details.correlation) {
      if (correlation == kNotRecorded || correlation == 0) continue;
      first_ = std::min(first_, correlation);
      last = std::max(last, correlation);
      ++calls;
    }
    if (calls == 0) return false;
    const std::uint64_t range = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first_);
    if (range >= 4 * calls + 1024) return false;
    dense_.resize(range + 1);
    bool unique = true;
    for_each_call([&](std::int64_t correlation, std::uint32_t slice) {
      SliceId& at = dense_[static_cast<std::size_t>(correlation - first_)];
      unique = unique && !at.valid();
      at = SliceId(slice);
    });
    if (!unique) std::vector<SliceId>().swap(dense_);
    return unique;
  }

  void index_sorted() {
    for_each_call([&](std::int64_t correlation, std::uint32_t slice) { sorted_.push_back({correlation, slice}); });
    std::sort(sorted_.begin(), sorted_.end(), [&](const Call& a, const Call& b) {
      if (a.correlation != b.correlation) return a.correlation < b.correlation;
      const std::int64_t start_a = store_.slices.start_ns[a.slice];
      const std::int64_t start_b = store_.slices.start_ns[b.slice];
      return start_a != start_b ? start_a < start_b : a.slice < b.slice;
    });
  }

  const TraceStore& store_;
  std::int64_t first_ = 0;
  std::vector<SliceId> dense_;
  std::vector<Call> sorted_;
};

// Whether the recorder's own id of the launching op is another op's than the one that is open at the launch.
bool external_id_disagrees(const TraceStore& store, std::int64_t recorded, SliceId call) {
  if (recorded == kNotRecorded || recorded == 0) return false;
  const SliceId op = store.enclosing_op(call);
  if (!op.valid() || !store.slices.detail[op.value].valid()) return false;
  const std::int64_t by_time = store.op_details.external_id[store.slices.detail[op.value].value];
  return by_time != kNotRecorded && by_time != recorded;
}

}  // namespace

void link_launches(TraceStore& store, unsigned threads) {
  const CallIndex calls(store);
  store.notes.add(NoteCode::two_ranks_in_one_file, calls.shared_between_processes(), "",
                  "calls of two processes carry the same correlation ids");
  std::atomic<std::uint64_t> ambiguous = 0;
  std::atomic<std::uint64_t> disagree = 0;
  DeviceEventTable& events = store.device_events;
  constexpr std::size_t kPiece = 32 * 1024;
  parallel_for(threads, (events.size() + kPiece - 1) / kPiece, [&](std::size_t piece) {
    std::uint64_t ambiguous_here = 0;
    std::uint64_t disagree_here = 0;
    for (std::size_t i = piece * kPiece; i < std::min(events.size(), (piece + 1) * kPiece); ++i) {
      const CallIndex::Found found = calls.find(events.correlation[i], events.start_ns[i]);
      events.launch[i] = found.call;
      if (!found.call.valid()) continue;
      ambiguous_here += found.ambiguous ? 1 : 0;
      disagree_here += external_id_disagrees(store, events.external_id[i], found.call) ? 1 : 0;
    }
    ambiguous += ambiguous_here;
    disagree += disagree_here;
  });
  store.notes.add(NoteCode::ambiguous_correlation, ambiguous);
  store.notes.add(NoteCode::external_id_disagrees, disagree);
}

}  // namespace accel

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "analysis/event_index.h"
#include "analysis/host_state.h"
#include "fusion/digest/segments.h"

namespace accel::fusion {
namespace {

constexpr std::size_t kMostShares = 24;   // of one segment, largest first
constexpr std::size_t kMostThreads = 16;  // threads that launch; more than a few is no training process

// How much of a stretch a set of intervals covers; stretches come in the order of time.
class Covered {
 public:
  explicit Covered(IntervalSet set) : set_(std::move(set)) {}

  std::int64_t ns(std::int64_t from, std::int64_t to) {
    const auto intervals = set_.intervals();
    while (next_ < intervals.size() && intervals[next_].end_ns <= from) ++next_;
    std::int64_t total = 0;
    for (std::size_t i = next_; i < intervals.size() && intervals[i].start_ns < to; ++i)
      total += std::min(to, intervals[i].end_ns) - std::max(from, intervals[i].start_ns);
    return total;
  }

 private:
  IntervalSet set_;
  std::size_t next_ = 0;
};

// One moment of the host: what the threads that launch do between two changes.
struct Moment {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t name = kNoRow;
  SliceKind kind = SliceKind::other;
  IdleCause cause = IdleCause::unknown;
  bool waits = false;
  bool waits_for_others = false;
  std::uint32_t records = 0, calls = 0, frames = 0;
};

// Segments of one kind in the order of time: each takes the moments that lie in it.
class Shares {
 public:
  struct Target {
    Interval time;
    Segment* segment = nullptr;
  };

  explicit Shares(std::vector<Target> targets) : targets_(std::move(targets)) {}

  void take(const Moment& moment, Covered& communication) {
    while (at_ < targets_.size() && targets_[at_].time.end_ns <= moment.start_ns) close();
    for (std::size_t i = at_; i < targets_.size() && targets_[i].time.start_ns < moment.end_ns; ++i) {
      if (i != at_) close();
      const Interval time{std::max(moment.start_ns, targets_[i].time.start_ns),
                          std::min(moment.end_ns, targets_[i].time.end_ns)};
      Segment& segment = *targets_[i].segment;
      if (moment.start_ns >= targets_[i].time.start_ns) {
        segment.records += moment.records;
        segment.calls += moment.calls;
        segment.frames += moment.frames;
      }
      add(segment, moment, time, communication);
    }
  }
  void finish() {
    while (at_ < targets_.size()) close();
  }

 private:
  using Key = std::tuple<std::uint32_t, SliceKind, IdleCause>;

  void add(Segment& segment, const Moment& moment, Interval time, Covered& communication) {
    std::int64_t ns = time.length_ns();
    if (ns <= 0) return;
    // A thread that records nothing while its process communicates on the host waits for that.
    const bool idle = moment.kind == SliceKind::other || moment.kind == SliceKind::annotation;
    const bool others = moment.waits_for_others || (idle && !moment.waits);
    const std::int64_t waited = moment.waits ? ns : idle ? communication.ns(time.start_ns, time.end_ns) : 0;
    segment.waits_ns += waited;
    if (others) segment.others_ns += waited;
    ns -= waited;
    if (ns <= 0) return end_stretch(moment.name);
    const Key key{moment.name, moment.kind, moment.cause};
    if (!stretch_ || *stretch_ != key || waited > 0) end_stretch(moment.name);
    HostShare& share = shares_[key];
    share.name = moment.name;
    share.kind = moment.kind;
    share.cause = moment.cause;
    if (!stretch_) ++share.count;
    share.ns += ns;
    stretch_ = key;
    stretch_ns_ += ns;
  }

  void end_stretch(std::uint32_t next) {
    if (!stretch_) return;
    HostShare& share = shares_[*stretch_];
    if (stretch_ns_ > share.longest_ns) {
      share.longest_ns = stretch_ns_;
      share.before = next;
    }
    stretch_.reset();
    stretch_ns_ = 0;
  }

  void close() {
    end_stretch(kNoRow);
    std::vector<HostShare>& into = targets_[at_++].segment->host;
    for (const auto& [key, share] : shares_) into.push_back(share);
    std::stable_sort(into.begin(), into.end(), [](const HostShare& a, const HostShare& b) { return a.ns > b.ns; });
    if (into.size() > kMostShares) into.resize(kMostShares);
    shares_.clear();
  }

  std::vector<Target> targets_;
  std::size_t at_ = 0;
  std::map<Key, HostShare> shares_;
  std::optional<Key> stretch_;
  std::int64_t stretch_ns_ = 0;
};

IdleCause cause_of(HostState state, NameClass name) {
  if (name == NameClass::data_range) return IdleCause::data_loading;
  switch (state) {
    case HostState::data_loading:
      return IdleCause::data_loading;
    case HostState::garbage_collection:
      return IdleCause::garbage_collection;
    case HostState::memory_allocation:
      return IdleCause::memory_allocation;
    case HostState::profiler_overhead:
      return IdleCause::profiler_overhead;
    case HostState::copy_call:
      return IdleCause::host_to_device_copy;
    case HostState::annotation_only:
    case HostState::nothing_recorded:
      return IdleCause::unknown;
    default:
      return IdleCause::host_compute;
  }
}

class HostWalk {
 public:
  HostWalk(const TraceStore& store, const AnalysisResults& results, NameRows& names, RankDigest& digest)
      : store_(store), index_(*results.event_index), names_(names), digest_(digest) {
    for (const ThreadIndex thread : index_.launching_threads) {
      if (cursors_.size() < kMostThreads) cursors_.emplace_back(store, index_, thread);
    }
    if (cursors_.empty() && index_.main_thread.valid()) cursors_.emplace_back(store, index_, index_.main_thread);
  }

  void run() {
    std::vector<Interval> host;
    for (const CommunicationEvent& event : digest_.events)
      if (event.place == EventPlace::host) host.push_back({event.start_ns, event.end_ns});
    Covered before_events(IntervalSet::from_unsorted(host));
    Covered in_steps(IntervalSet::from_unsorted(std::move(host)));
    Shares events(event_targets());
    Shares steps(step_targets());
    for (std::int64_t now = store_.time_range.start_ns; now < store_.time_range.end_ns && !cursors_.empty();) {
      Moment moment = moment_at(now);
      events.take(moment, before_events);
      steps.take(moment, in_steps);
      now = moment.end_ns;
    }
    events.finish();
    steps.finish();
    for (DigestStep& step : digest_.steps) step.work.host_ns = step.host.length_ns();
  }

 private:
  std::vector<Shares::Target> event_targets() {
    std::vector<Shares::Target> targets;
    std::optional<std::int64_t> from;
    for (std::size_t i = 0; i < digest_.events.size(); ++i) {
      const CommunicationEvent& event = digest_.events[i];
      const std::int64_t to = event.launch_ns == kNotRecorded ? event.start_ns : event.launch_ns;
      const bool on_host = event.place == EventPlace::host;
      if (from && to > *from) {
        digest_.segments[i].host_ns = to - *from;
        targets.push_back({{*from, to}, &digest_.segments[i]});
      }
      if (on_host) digest_.segments[i].whole = from.has_value();
      from = std::max(from.value_or(to), to);
    }
    return targets;
  }

  std::vector<Shares::Target> step_targets() {
    std::vector<Shares::Target> targets;
    for (DigestStep& step : digest_.steps)
      if (step.host.length_ns() > 0) targets.push_back({step.host, &step.work});
    return targets;
  }

  Moment moment_at(std::int64_t now) {
    Moment moment;
    moment.start_ns = now;
    moment.end_ns = store_.time_range.end_ns;
    HostState state = HostState::nothing_recorded;
    const HostCursor* winner = &cursors_.front();
    for (HostCursor& cursor : cursors_) {
      cursor.reset_opened();
      cursor.advance(now);
      moment.records += cursor.opened_records;
      moment.calls += cursor.opened_calls;
      moment.frames += cursor.opened_frames;
      moment.end_ns = std::min(moment.end_ns, std::max(cursor.next_change_ns(), now + 1));
      if (cursor.state() < state) {
        state = cursor.state();
        winner = &cursor;
      }
    }
    describe(winner->innermost(), state, moment);
    return moment;
  }

  void describe(SliceId slice, HostState state, Moment& moment) {
    NameClass name = NameClass::plain;
    if (slice.valid()) {
      name = index_.class_of(store_, slice.value);
      moment.waits = state == HostState::synchronization || state == HostState::host_communication ||
                     (store_.is_call(slice) && index_.blocks(store_, slice.value));
      moment.waits_for_others = state == HostState::host_communication;
      if (store_.is_call(slice)) {
        const SliceId op = store_.enclosing_op(slice);
        if (op.valid()) slice = op;
      }
      // A step's own mark says no more than nothing at all.
      if (index_.class_of(store_, slice.value) == NameClass::profiler_step) slice = SliceId();
    }
    moment.cause = cause_of(state, name);
    if (!slice.valid()) return;
    moment.kind = store_.slices.kind[slice.value];
    const StringId text = store_.slices.name[slice.value];
    const auto [at, is_new] = rows_.try_emplace(text.value, kNoRow);
    if (is_new) at->second = names_.row(store_.text(text));
    moment.name = at->second;
  }

  const TraceStore& store_;
  const EventIndex& index_;
  NameRows& names_;
  RankDigest& digest_;
  std::vector<HostCursor> cursors_;
  std::map<std::uint32_t, std::uint32_t> rows_;
};

}  // namespace

void fill_host_work(const TraceStore& store, const AnalysisResults& results, NameRows& names, RankDigest& digest) {
  digest.segments.resize(digest.events.size());
  HostWalk(store, results, names, digest).run();
}

}  // namespace accel::fusion

#include "analysis/step_graph/device_order.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace accel {
namespace {

constexpr std::uint32_t kNone = HostNode::kNone;
// From its launch call an event on an idle stream starts within this, and from the event before on its stream within
// that; what is longer waits for something else.
constexpr std::int64_t kLongestLatencyNs = 50'000;
constexpr std::int64_t kLongestGapNs = 10'000;
// A wait returns so long after what it waited for has ended; the host has to wake up.
constexpr std::int64_t kLongestWakeNs = 60'000;
// Device and host clocks agree to this.
constexpr std::int64_t kClockNs = 3'000;
// A launch is blocked by a full queue when it takes this long while so many launches wait.
constexpr std::int64_t kBlockedLaunchNs = 50'000;
constexpr std::uint32_t kFewestQueued = 64;
// What CUDA holds where no launch was seen to block.
constexpr std::uint32_t kUsualDepth = 1'024;
// Events are looked for on other streams up to so many of them.
constexpr std::size_t kMostStreams = 64;

std::int64_t median_or(std::vector<std::int64_t>& values, std::int64_t otherwise) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::uint64_t bit_of(std::size_t stream) { return std::uint64_t{1} << std::min<std::size_t>(stream, 63); }

}  // namespace

void DeviceOrder::link() {
  attach_events();
  measure_usual_times();
  order_events();
  use_recorded_waits();
  classify_calls();
}

void DeviceOrder::attach_events() {
  const DeviceEventTable& events = store_.device_events;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> launched;  // launching slice, event
  previous_end_.assign(events.size(), kNotRecorded);
  node_of_event_.assign(events.size(), kNone);
  std::vector<std::int64_t> stream_end(store_.streams.size(), kNotRecorded);
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if ((events.flags[i] & kDeviceNoTiming) != 0) continue;
    std::int64_t& end = stream_end[events.stream[i].value];
    previous_end_[i] = end;
    end = std::max(end, timeline_.end_ns(store_, i));
    if (events.launch[i].valid()) launched.emplace_back(events.launch[i].value, i);
  }
  std::sort(launched.begin(), launched.end());
  std::vector<std::uint16_t> stream_index(store_.streams.size(), StreamIndex::kNone);
  for (HostNode& node : graph_.nodes) {
    if (!node.slice.valid() || node.kind != HostNodeKind::work || !store_.is_call(node.slice)) continue;
    auto at = std::lower_bound(launched.begin(), launched.end(), std::pair(node.slice.value, 0U));
    if (at != launched.end() && at->first == node.slice.value && node_of_event_[at->second] != kNone) continue;
    node.first_event = static_cast<std::uint32_t>(graph_.events.size());
    for (; at != launched.end() && at->first == node.slice.value; ++at) {
      std::uint16_t& stream = stream_index[events.stream[at->second].value];
      if (stream == StreamIndex::kNone) {
        stream = static_cast<std::uint16_t>(graph_.streams.size());
        graph_.streams.push_back(events.stream[at->second]);
      }
      DeviceNode event;
      event.event = DeviceEventId(at->second);
      event.dur_ns = timeline_.end_ns(store_, at->second) - events.start_ns[at->second];
      event.stream = stream;
      event.communication = events.kind[at->second] == DeviceEventKind::kernel &&
                            index_.communication_name[events.name[at->second].value] != 0;
      node_of_event_[at->second] = static_cast<std::uint32_t>(graph_.events.size());
      graph_.events.push_back(event);
    }
    node.event_count = static_cast<std::uint32_t>(graph_.events.size()) - node.first_event;
    if (node.event_count > 0) node.kind = HostNodeKind::launch;
  }
  streams_.resize(graph_.streams.size());
}

void DeviceOrder::measure_usual_times() {
  std::vector<std::int64_t> latencies, gaps, waits, launches;
  for (const HostNode& node : graph_.nodes) {
    if (node.kind == HostNodeKind::work && node.slice.valid() && index_.blocks(store_, node.slice.value))
      waits.push_back(node.work_ns);
    if (node.kind != HostNodeKind::launch) continue;
    launches.push_back(node.work_ns);
    const DeviceNode& event = graph_.events[node.first_event];
    const std::int64_t before = previous_end_[event.event.value];
    const std::int64_t start = start_of(event);
    if (start >= node.start_ns && (before == kNotRecorded || before <= node.start_ns))
      latencies.push_back(start - node.start_ns);
    if (before != kNotRecorded && before > node.start_ns + kLongestLatencyNs && start - before < kLongestGapNs)
      gaps.push_back(start - before);
  }
  usual_launch_ns_ = median_or(launches, 5'000);
  usual_latency_ns_ = std::min(median_or(latencies, 6'000), kLongestLatencyNs);
  usual_gap_ns_ = median_or(gaps, 1'000);
  // The quicker quarter had nothing to wait for.
  std::sort(waits.begin(), waits.end());
  usual_wait_call_ns_ = waits.empty() ? 5'000 : std::min<std::int64_t>(waits[waits.size() / 4], 20'000);
}

void DeviceOrder::order_events() {
  for (const HostNode& node : graph_.nodes)
    for (std::uint32_t e = node.first_event; e < node.first_event + node.event_count; ++e)
      order_event(graph_.events[e], node.start_ns);
}

// What the event waited for is what was over last before it began.
void DeviceOrder::order_event(DeviceNode& node, std::int64_t call_start_ns) {
  const std::int64_t start = start_of(node);
  const std::int64_t before = previous_end_[node.event.value];
  const bool queued = before != kNotRecorded && before > call_start_ns + usual_latency_ns_ / 2;
  node.latency_ns = std::clamp<std::int64_t>(start - call_start_ns, 0, usual_latency_ns_);
  node.gap_ns = before == kNotRecorded ? usual_gap_ns_ : std::min(start - before, usual_gap_ns_);
  if (queued) {
    node.order = EventOrder::stream;
    const std::int64_t gap = start - before;
    if (gap <= kLongestGapNs) {
      node.gap_ns = gap;
    } else if (!follow_other_stream(node, before)) {
      node.unexplained_ns = gap - usual_gap_ns_;
      node.gap_ns = gap;
    }
    return;
  }
  node.order = EventOrder::launch;
  const std::int64_t latency = start - call_start_ns;
  // A copy with a pageable side is first staged by the call, as long as that takes.
  const bool copy = store_.device_events.kind[node.event.value] == DeviceEventKind::memcpy;
  if (latency <= kLongestLatencyNs || copy) {
    node.latency_ns = latency;
  } else if (!follow_other_stream(node, call_start_ns + usual_latency_ns_)) {
    node.latency_ns = latency;
    node.unexplained_ns = latency - usual_latency_ns_;
  }
}

// The event of another stream, launched before, that ended last before this one began, if after `since_ns`.
bool DeviceOrder::follow_other_stream(DeviceNode& node, std::int64_t since_ns) {
  const DeviceEventTable& events = store_.device_events;
  if (graph_.streams.size() > kMostStreams) return false;
  const std::uint32_t self = node_of_event_[node.event.value];
  const std::int64_t start = start_of(node);
  std::uint32_t best = kNone;
  std::int64_t best_end = since_ns;
  std::int64_t later_end = since_ns;  // of events that were launched later
  // Rows are in the order of their starts: what ended just before began not many rows ago.
  constexpr std::uint32_t kRowsBack = 256;
  for (std::uint32_t row = node.event.value, n = 0; row-- > 0 && n < kRowsBack; ++n) {
    if (events.stream[row] == events.stream[node.event.value]) continue;
    if ((events.flags[row] & kDeviceNoTiming) != 0) continue;
    const std::int64_t end = timeline_.end_ns(store_, row);
    if (end > start + kClockNs) continue;
    if (node_of_event_[row] >= self) {
      later_end = std::max(later_end, end);
    } else if (end > best_end) {
      best_end = end;
      best = node_of_event_[row];
    }
  }
  const std::int64_t before = previous_end_[node.event.value];
  const bool own_is_nearer = before != kNotRecorded && (best == kNone || before > best_end);
  if (later_end > best_end && start - later_end <= kLongestGapNs && own_is_nearer) {
    // Waited for what was launched later (two communicators take turns): the replay knows the own stream alone.
    node.order = EventOrder::stream;
    node.gap_ns = start - before;
    node.unexplained_ns = node.gap_ns - usual_gap_ns_;
    return true;
  }
  if (best == kNone) return false;
  node.order = EventOrder::observed;
  node.after = best;
  node.cross_gap_ns = start - best_end;
  // What began long after waited for something else too, but it goes with the device's progress, not with its launch.
  if (node.cross_gap_ns > kLongestGapNs) {
    node.unexplained_ns = node.cross_gap_ns - usual_gap_ns_;
  } else {
    ++graph_.observed_edges;
  }
  return true;
}

// "Stream Wait Event" rows name the call that recorded the event: the first work given to the waiting stream after the
// wait follows the last work given to the other stream before the record. Rows that name the stream alone turn edges
// that the times showed into recorded ones.
void DeviceOrder::use_recorded_waits() {
  const DeviceSyncTable& syncs = store_.device_syncs;
  if (syncs.empty()) return;
  const CallStarts starts = starts_of_calls_in_waits();
  std::vector<std::vector<Launched>> launched(graph_.streams.size());
  for (const HostNode& node : graph_.nodes)
    for (std::uint32_t e = node.first_event; e < node.first_event + node.event_count; ++e)
      launched[graph_.events[e].stream].push_back({node.start_ns, e});
  for (std::vector<Launched>& of_stream : launched)
    std::stable_sort(of_stream.begin(), of_stream.end(),
                     [](const Launched& a, const Launched& b) { return a.call_start_ns < b.call_start_ns; });

  const StreamTable& streams = store_.streams;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> place;  // device and number of a stream: its index
  for (std::size_t i = 0; i < graph_.streams.size(); ++i)
    place.emplace(std::pair(streams.device[graph_.streams[i].value], streams.stream[graph_.streams[i].value]), i);

  std::set<std::pair<std::uint16_t, std::int64_t>> by_stream;  // waiting stream, number of the stream waited for
  for (std::size_t i = 0; i < syncs.size(); ++i) {
    if (!syncs.stream[i].valid() || syncs.wait_on_stream[i] == kNotRecorded) continue;
    const auto record = starts.find(syncs.record_correlation[i]);
    const auto wait = starts.find(syncs.correlation[i]);
    if (record == starts.end() || wait == starts.end()) {
      by_stream.emplace(syncs.stream[i].value, syncs.wait_on_stream[i]);
      continue;
    }
    const StreamIndex own = syncs.stream[i];
    const auto waiting = place.find({streams.device[own.value], streams.stream[own.value]});
    const auto other = place.find({streams.device[own.value], syncs.wait_on_stream[i]});
    if (waiting != place.end() && other != place.end() && waiting != other)
      follow_record(launched[waiting->second], wait->second, launched[other->second], record->second);
  }
  for (DeviceNode& node : graph_.events) {
    if (node.order != EventOrder::observed) continue;
    const StreamIndex other = graph_.streams[graph_.events[node.after].stream];
    if (!by_stream.contains({graph_.streams[node.stream].value, store_.streams.stream[other.value]})) continue;
    node.order = EventOrder::recorded;
    if (node.unexplained_ns > 0) continue;
    ++graph_.recorded_edges;
    --graph_.observed_edges;
  }
}

DeviceOrder::CallStarts DeviceOrder::starts_of_calls_in_waits() const {
  CallStarts starts;
  for (std::size_t i = 0; i < store_.device_syncs.size(); ++i)
    for (const std::int64_t id : {store_.device_syncs.record_correlation[i], store_.device_syncs.correlation[i]})
      if (id > 0) starts.emplace(id, kNotRecorded);
  for (std::uint32_t i = 0; i < store_.slices.size(); ++i) {
    const DetailId detail = store_.slices.detail[i];
    if (!detail.valid() || !store_.is_call(SliceId(i))) continue;
    const auto at = starts.find(store_.call_details.correlation[detail.value]);
    if (at != starts.end() && at->second == kNotRecorded) at->second = store_.slices.start_ns[i];
  }
  std::erase_if(starts, [](const auto& entry) { return entry.second == kNotRecorded; });
  return starts;
}

void DeviceOrder::follow_record(const std::vector<Launched>& waiting, std::int64_t wait_ns,
                                const std::vector<Launched>& other, std::int64_t record_ns) {
  const auto earlier = [](const Launched& launch, std::int64_t at) { return launch.call_start_ns < at; };
  const auto target = std::lower_bound(waiting.begin(), waiting.end(), wait_ns, earlier);
  const auto behind = std::lower_bound(other.begin(), other.end(), record_ns, earlier);
  if (target == waiting.end() || behind == other.begin()) return;
  DeviceNode& node = graph_.events[target->event];
  const std::uint32_t source = std::prev(behind)->event;
  // The replay runs launches in order: what is launched later cannot be waited for.
  if (source >= target->event) return;
  const std::int64_t end = end_of(graph_.events[source]);
  const std::int64_t gap = start_of(node) - end;
  if (gap < -kClockNs) return;  // it did not wait: the row and the times contradict each other
  if (node.order == EventOrder::recorded && end <= end_of(graph_.events[node.after])) return;
  const bool guessed = node.order == EventOrder::observed;
  const bool bound = guessed || node.unexplained_ns > 0;
  const bool counted = guessed && node.unexplained_ns == 0;
  node.after = source;
  node.cross_gap_ns = std::clamp<std::int64_t>(gap, 0, bound ? std::max(gap, usual_gap_ns_) : usual_gap_ns_);
  if (!bound) return;  // there, but something else was over later
  if (node.order != EventOrder::recorded && gap <= kLongestGapNs) ++graph_.recorded_edges;
  if (counted) --graph_.observed_edges;
  node.order = EventOrder::recorded;
  node.unexplained_ns = gap > kLongestGapNs ? gap - usual_gap_ns_ : 0;
}

void DeviceOrder::classify_calls() {
  for (HostNode& node : graph_.nodes) {
    const bool call = node.slice.valid() && store_.is_call(node.slice);
    if (!call || (node.kind != HostNodeKind::work && node.kind != HostNodeKind::launch)) continue;
    const std::int64_t end = node.start_ns + node.work_ns;
    if (node.kind == HostNodeKind::launch) {
      for (std::uint32_t e = node.first_event; e < node.first_event + node.event_count; ++e) {
        Stream& stream = streams_[graph_.events[e].stream];
        stream.last = e;
        if (e == node.first_event) {
          stream.launch_starts.push_back(start_of(graph_.events[e]));
        }
        stream.launch_ends.push_back(std::max(end_of(graph_.events[e]), stream.launch_ends.empty()
                                                                            ? std::numeric_limits<std::int64_t>::min()
                                                                            : stream.launch_ends.back()));
        stream.launch_events.push_back(e);
      }
      if ((index_.slice_flags[node.slice.value] & (kCallPageable | kCallFromDevice | kCallToDevice)) != 0) {
        classify_own_copy(node, end);
      } else {
        classify_full_queue(node, end);
      }
      continue;
    }
    const NameClass c = index_.class_of(store_, node.slice.value);
    if (c == NameClass::synchronize || c == NameClass::device_memory) {
      node.kind = c == NameClass::synchronize ? HostNodeKind::wait : HostNodeKind::allocate;
      classify_wait(node, end);
    }
  }
  if (!depths_.empty()) {
    std::sort(depths_.begin(), depths_.end());
    graph_.queue_depth = depths_[depths_.size() / 2];
    graph_.queue_depth_seen = true;
  } else {
    graph_.queue_depth = kUsualDepth;
  }
}

void DeviceOrder::classify_wait(HostNode& node, std::int64_t end_ns) {
  std::int64_t awaited = kNotRecorded;
  std::uint32_t event = kNone;
  bool all = true;
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    const Stream& stream = streams_[s];
    if (stream.last == kNone) continue;
    // Ends grow along a stream: the last event that was over when the call returned.
    const auto after = std::upper_bound(stream.launch_ends.begin(), stream.launch_ends.end(), end_ns + kClockNs);
    if (after == stream.launch_ends.end()) {
      node.streams |= bit_of(s);
    } else {
      all = false;
    }
    if (after == stream.launch_ends.begin()) continue;
    const auto last = static_cast<std::size_t>(after - stream.launch_ends.begin()) - 1;
    if (stream.launch_ends[last] > awaited) {
      awaited = stream.launch_ends[last];
      event = after == stream.launch_ends.end() ? kNone : stream.launch_events[last];
    }
  }
  const bool waited = awaited != kNotRecorded && awaited > node.start_ns + usual_wait_call_ns_;
  if (!waited) {
    // Nothing to wait for: what it takes is its own. An allocation alone does not wait for anything.
    if (node.kind == HostNodeKind::allocate) node.streams = 0;
    node.lag_ns = std::min(node.work_ns, usual_wait_call_ns_);
    if (node.kind == HostNodeKind::wait && node.work_ns > kLongestWakeNs)
      node.unexplained_ns = node.work_ns - usual_wait_call_ns_;
    return;
  }
  if (!all && event != kNone) {
    // Work went on when the call returned: it waited for one event.
    node.other = event;
    node.streams = 0;
  }
  node.waited = true;
  node.lag_ns = std::max<std::int64_t>(0, end_ns - awaited);
  if (node.kind == HostNodeKind::wait) {
    node.work_ns = std::min(node.work_ns, usual_wait_call_ns_);
    if (node.lag_ns > kLongestWakeNs) node.unexplained_ns = node.lag_ns - kLongestWakeNs;
  } else if (node.lag_ns + kLongestWakeNs < node.work_ns || node.lag_ns < kLongestWakeNs) {
    node.work_ns = node.lag_ns;
  } else {
    // It worked about as long as the device did: not clear that it waited.
    node.work_ns = node.lag_ns;
  }
}

// A copy that blocks returns when its data is out of the host's memory, or in it.
void DeviceOrder::classify_own_copy(HostNode& node, std::int64_t end_ns) {
  const std::uint32_t own = node.first_event + node.event_count - 1;
  const DeviceNode& event = graph_.events[own];
  const std::int64_t event_end = end_of(event);
  const std::int64_t event_start = start_of(event);
  const bool pageable = (index_.slice_flags[node.slice.value] & kCallPageable) != 0;
  if (event_end <= end_ns + kClockNs) {
    // Short copies may end before a call that does not wait for them returns.
    const bool waits = pageable || end_ns - node.start_ns > kBlockedLaunchNs;
    if (!waits) return;
    node.other = own;
    node.lag_ns = std::max<std::int64_t>(0, end_ns - event_end);
    if (node.lag_ns > kLongestWakeNs && !pageable) node.unexplained_ns = node.lag_ns - kLongestWakeNs;
  } else if (event_start < end_ns && (pageable || end_ns - node.start_ns > kBlockedLaunchNs)) {
    node.other = own;
    node.event_start = true;
    node.lag_ns = end_ns - event_start;
  } else {
    return;
  }
  node.waited = true;
  node.work_ns = std::min({node.work_ns, usual_launch_ns_, std::max<std::int64_t>(0, event_start - node.start_ns)});
}

void DeviceOrder::classify_full_queue(HostNode& node, std::int64_t end_ns) {
  if (node.work_ns < kBlockedLaunchNs) return;
  const Stream& stream = streams_[graph_.events[node.first_event].stream];
  const auto waiting = static_cast<std::uint32_t>(
      stream.launch_starts.end() - std::upper_bound(stream.launch_starts.begin(), stream.launch_starts.end(), end_ns));
  if (waiting < kFewestQueued) return;
  depths_.push_back(waiting);
  node.waited = true;
  node.work_ns = std::min(node.work_ns, usual_launch_ns_);
}

}  // namespace accel

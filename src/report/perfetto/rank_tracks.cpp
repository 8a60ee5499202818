#include "report/perfetto/rank_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "analysis/event_index.h"
#include "analysis/idle_attribution.h"
#include "analysis/step_segmentation.h"
#include "report/labels.h"
#include "report/perfetto/slice_args.h"

namespace accel::report::perfetto {
namespace {

// Room for the tracks of one rank: as many threads and streams as a trace can have, and their lanes.
constexpr std::uint64_t kTracksOfRank = std::uint64_t{1} << 32;
// A step, a collective and a launch each count from their own number.
constexpr std::uint64_t kLaunchFlows = std::uint64_t{1} << 63;

std::string_view category_of(SliceKind kind) {
  switch (kind) {
    case SliceKind::op:
      return "op";
    case SliceKind::annotation:
      return "range";
    case SliceKind::frame:
      return "python";
    case SliceKind::runtime_call:
      return "runtime call";
    case SliceKind::driver_call:
      return "driver call";
    case SliceKind::overhead:
      return "recorder";
    case SliceKind::other:
      break;
  }
  return "other";
}

std::string_view category_of(DeviceEventKind kind) {
  switch (kind) {
    case DeviceEventKind::kernel:
      return "kernel";
    case DeviceEventKind::memcpy:
      return "copy";
    case DeviceEventKind::memset:
      break;
  }
  return "set";
}

class RankTracks {
 public:
  RankTracks(PacketStream& out, std::uint64_t rank, const TraceStore& store, const AnalysisResults& results,
             const RankOnAxis* axis)
      : out_(out),
        rank_(rank),
        store_(store),
        results_(results),
        axis_(axis),
        args_(out, store),
        name_ids_(store.strings.size(), 0),
        next_track_((rank + 1) * kTracksOfRank + 1),
        root_((rank + 1) * kTracksOfRank) {
    // The format has no times before its zero.
    if (axis_ == nullptr && store.time_range.start_ns < 0) shift_ns_ = 0 - store.time_range.start_ns;
  }

  void write() {
    add_root();
    add_steps();
    add_idle();
    add_streams();
    add_threads();
    add_memory();
    add_counters();
  }

 private:
  std::int64_t time(std::int64_t ns) const {
    return axis_ != nullptr ? std::max<std::int64_t>(0, axis_->common_ns(ns)) : ns + shift_ns_;
  }
  Interned name(StringId id) {
    Interned& known = name_ids_[id.value];
    if (known == 0) known = out_.event_name(store_.text(id));
    return known;
  }
  std::uint64_t add_track(std::string name, std::uint64_t parent) {
    Track track;
    track.uuid = next_track_++;
    track.parent = parent;
    track.name = std::move(name);
    track.order = order_++;
    out_.add(track);
    return track.uuid;
  }
  // Lanes below the root that appear as one track.
  Lanes lanes_named(std::string name) {
    const std::int32_t order = order_++;
    return {[this, name = std::move(name), order](std::size_t) {
              Track track;
              track.uuid = next_track_++;
              track.parent = root_;
              track.name = name;
              track.order = order;
              out_.add(track);
              return track.uuid;
            },
            [this](std::uint64_t track, std::int64_t at) { out_.end(track, at); }};
  }
  void put(Lanes& lanes, std::int64_t start, std::int64_t dur, const Begin& begin) {
    const std::int64_t from = time(start);
    const std::int64_t to = std::max(from, time(start + std::max<std::int64_t>(0, dur)));
    if (const std::uint64_t track = lanes.place(from, to); track != 0) out_.begin(track, from, begin);
  }

  void add_root();
  void add_steps();
  void add_idle();
  void add_streams();
  void add_ranges_of_streams();
  void add_threads();
  void add_thread(std::uint16_t thread);
  void add_slice(Lanes& lanes, std::uint32_t slice);
  void add_memory();
  void add_counters();
  void add_series(const std::string& name, Track::Values values, std::vector<std::pair<std::int64_t, double>> samples);
  std::optional<std::int32_t> process_id() const;
  std::uint64_t launch_flow(std::uint32_t event) const { return kLaunchFlows | rank_ << 32U | event; }

  PacketStream& out_;
  std::uint64_t rank_;
  const TraceStore& store_;
  const AnalysisResults& results_;
  const RankOnAxis* axis_;
  SliceArgs args_;
  std::vector<Interned> name_ids_;  // by StringId; 0: not written yet
  std::uint64_t next_track_;
  std::uint64_t root_;
  std::int32_t order_ = 0;
  std::int64_t shift_ns_ = 0;
  std::vector<std::uint32_t> events_by_launch_;  // device events with a launch, by ascending launch
};

// Ranks of different hosts may have one process id: a job's tracks stand by their names alone.
std::optional<std::int32_t> RankTracks::process_id() const {
  const std::int64_t pid = store_.process.main_pid;
  if (axis_ != nullptr || pid <= 0 || pid > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::int32_t>(pid);
}

void RankTracks::add_root() {
  Track track;
  track.uuid = root_;
  track.orders_children = true;
  track.pid = process_id();
  if (axis_ != nullptr) {
    track.name = axis_->name;
    track.description = axis_->description;
    track.order = static_cast<std::int32_t>(rank_);
  } else if (store_.process.rank) {
    track.name = fmt::format("rank {}", *store_.process.rank);
  } else {
    track.name = "process";
  }
  out_.add(track);
}

void RankTracks::add_steps() {
  if (!results_.step_segmentation) return;
  const StepSegmentation& segmentation = *results_.step_segmentation;
  if (segmentation.source == StepSource::whole_window) return;
  Lanes lanes = lanes_named(segmentation.training ? "steps" : "iterations");
  const Interned category = out_.category("step");
  for (const Step& step : segmentation.steps) {
    std::vector<Arg> args = {{out_.arg_name("kind"), Arg::Kind::text, out_.arg_text(to_string(step.step_class))}};
    if (!step.complete) args.push_back({out_.arg_name("left out of averages"), Arg::Kind::yes});
    put(lanes, step.host.start_ns, step.host.length_ns(),
        {out_.event_name(fmt::format("step {}", step.number)), category, args});
  }
  lanes.finish();
}

void RankTracks::add_idle() {
  if (!results_.idle_attribution) return;
  const Interned category = out_.category("idle");
  for (const IdleOfDevice& device : results_.idle_attribution->devices) {
    Lanes lanes = lanes_named(fmt::format("device {}: why idle", device.device));
    for (const IdleStretch& stretch : device.stretches) {
      const std::string_view cause = label_named(to_string(stretch.cause), Language::english);
      put(lanes, stretch.time.start_ns, stretch.time.length_ns(), {out_.event_name(cause), category});
    }
    lanes.finish();
  }
}

void RankTracks::add_streams() {
  std::vector<std::vector<std::uint32_t>> by_stream(store_.streams.size());
  for (std::uint32_t e = 0; e < store_.device_events.size(); ++e) {
    const StreamIndex stream = store_.device_events.stream[e];
    if (stream.valid() && (store_.device_events.flags[e] & kDeviceNoTiming) == 0) by_stream[stream.value].push_back(e);
    if (store_.device_events.launch[e].valid()) events_by_launch_.push_back(e);
  }
  std::sort(events_by_launch_.begin(), events_by_launch_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(store_.device_events.launch[a], a) < std::pair(store_.device_events.launch[b], b);
  });
  for (std::size_t s = 0; s < by_stream.size(); ++s) {
    if (by_stream[s].empty()) continue;
    Lanes lanes = lanes_named(fmt::format("device {} stream {}", store_.streams.device[s], store_.streams.stream[s]));
    for (const std::uint32_t e : by_stream[s]) {
      std::vector<std::uint64_t> flows;
      if (store_.device_events.launch[e].valid()) flows.push_back(launch_flow(e));
      if (axis_ != nullptr) {
        if (const auto at = axis_->flow_of_event.find(e); at != axis_->flow_of_event.end()) flows.push_back(at->second);
      }
      put(lanes, store_.device_events.start_ns[e], store_.device_events.dur_ns[e],
          {name(store_.device_events.name[e]), out_.category(category_of(store_.device_events.kind[e])),
           args_.of_device_event(e), flows});
    }
    lanes.finish();
  }
  add_ranges_of_streams();
}

// What the recorder says of streams beyond device work: spans of user ranges, and synchronisations.
void RankTracks::add_ranges_of_streams() {
  const auto add = [&](const auto& table, std::string_view what, std::string_view category) {
    std::map<std::uint16_t, std::vector<std::uint32_t>> by_stream;
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      const bool inside =
          table.start_ns[i] >= store_.time_range.start_ns && table.start_ns[i] <= store_.time_range.end_ns;
      if (table.stream[i].valid() && inside) by_stream[table.stream[i].value].push_back(i);
    }
    for (auto& [stream, rows] : by_stream) {
      std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(table.start_ns[a], table.dur_ns[b]) < std::pair(table.start_ns[b], table.dur_ns[a]);
      });
      Lanes lanes = lanes_named(
          fmt::format("device {} stream {}: {}", store_.streams.device[stream], store_.streams.stream[stream], what));
      for (const std::uint32_t i : rows)
        put(lanes, table.start_ns[i], table.dur_ns[i], {name(table.name[i]), out_.category(category)});
      lanes.finish();
    }
  };
  add(store_.device_annotations, "ranges", "range");
  add(store_.device_syncs, "synchronization", "synchronization");
}

void RankTracks::add_threads() {
  const ThreadIndex main = results_.event_index ? results_.event_index->main_thread : ThreadIndex();
  if (main.valid()) add_thread(main.value);
  for (std::size_t t = 0; t < store_.thread_ranges.size(); ++t) {
    if (!main.valid() || t != main.value) add_thread(static_cast<std::uint16_t>(t));
  }
}

void RankTracks::add_thread(std::uint16_t thread) {
  const auto [first, last] = store_.thread_ranges[thread];
  if (first == last) return;
  const ThreadTable& threads = store_.threads;
  const bool is_main = results_.event_index && results_.event_index->main_thread == ThreadIndex(thread);
  Track track;
  track.parent = root_;
  track.order = order_++;
  const std::string id = threads.tid_text[thread].valid() ? std::string(store_.text(threads.tid_text[thread]))
                                                          : std::to_string(threads.tid[thread]);
  const std::string named = threads.name[thread].valid() ? std::string(store_.text(threads.name[thread])) : "";
  // Recorders repeat the number: "thread 503 (python3)".
  track.name =
      named.find(id) != std::string::npos ? named : fmt::format("thread {}{}{}", id, named.empty() ? "" : ": ", named);
  if (is_main) track.name += ", main";
  // The format has 32 bits for a process, and other tools merge threads of number 0.
  if (const auto pid = process_id(); pid && threads.pid[thread] == *pid && threads.tid[thread] > 0) {
    track.pid = pid;
    track.tid = threads.tid[thread];
  }
  std::uint64_t first_lane = 0;
  Lanes lanes(
      [&](std::size_t lane) {
        track.uuid = next_track_++;
        if (lane == 0) {
          first_lane = track.uuid;
        } else if (track.tid) {  // a second track of one thread hangs below the first
          track.tid.reset();
          track.pid.reset();
          track.parent = first_lane;
          track.name += ", crossing";
        }
        out_.add(track);
        return track.uuid;
      },
      [this](std::uint64_t of, std::int64_t at) { out_.end(of, at); });
  for (std::uint32_t i = first; i < last; ++i) {
    if ((store_.slices.flags[i] & kSliceOutOfRange) == 0) add_slice(lanes, i);
  }
  lanes.finish();
}

void RankTracks::add_slice(Lanes& lanes, std::uint32_t slice) {
  std::vector<std::uint64_t> flows;
  if (store_.is_call(SliceId(slice))) {
    auto at = std::lower_bound(
        events_by_launch_.begin(), events_by_launch_.end(), slice,
        [&](std::uint32_t event, std::uint32_t value) { return store_.device_events.launch[event].value < value; });
    for (; at != events_by_launch_.end() && store_.device_events.launch[*at].value == slice; ++at)
      flows.push_back(launch_flow(*at));
  }
  if (axis_ != nullptr) {
    if (const auto at = axis_->flow_of_slice.find(slice); at != axis_->flow_of_slice.end()) flows.push_back(at->second);
  }
  put(lanes, store_.slices.start_ns[slice], store_.slices.dur_ns[slice],
      {name(store_.slices.name[slice]), out_.category(category_of(store_.slices.kind[slice])), args_.of_slice(slice),
       flows});
}

void RankTracks::add_series(const std::string& name, Track::Values values,
                            std::vector<std::pair<std::int64_t, double>> samples) {
  std::stable_sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Track track;
  track.uuid = next_track_++;
  track.parent = root_;
  track.name = name;
  track.order = order_++;
  track.values = values;
  out_.add(track);
  for (const auto& [at, value] : samples) out_.count(track.uuid, time(at), value);
}

void RankTracks::add_memory() {
  using Samples = std::vector<std::pair<std::int64_t, double>>;
  std::map<std::pair<int, int>, Samples> series;  // device, 0 allocated 1 reserved
  const MemoryEventTable& events = store_.memory_events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events.device_type[i] != 1) continue;
    if (events.total_allocated[i] != kNotRecorded)
      series[{events.device[i], 0}].emplace_back(events.time_ns[i], static_cast<double>(events.total_allocated[i]));
    if (events.total_reserved[i] != kNotRecorded)
      series[{events.device[i], 1}].emplace_back(events.time_ns[i], static_cast<double>(events.total_reserved[i]));
  }
  for (auto& [key, samples] : series) {
    add_series(fmt::format("device {}: memory {}", key.first, key.second == 0 ? "allocated" : "reserved"),
               Track::Values::bytes, std::move(samples));
  }
}

void RankTracks::add_counters() {
  std::map<std::uint32_t, std::vector<std::pair<std::int64_t, double>>> by_name;
  const CounterTable& counters = store_.counters;
  for (std::size_t i = 0; i < counters.size(); ++i)
    by_name[counters.name[i].value].emplace_back(counters.time_ns[i], counters.value[i]);
  for (auto& [id, samples] : by_name)
    add_series(std::string(store_.text(StringId(id))), Track::Values::plain, std::move(samples));
}

}  // namespace

void add_rank(PacketStream& out, std::uint64_t rank, const TraceStore& store, const AnalysisResults& results,
              const RankOnAxis* axis) {
  RankTracks(out, rank, store, results, axis).write();
}

}  // namespace accel::report::perfetto

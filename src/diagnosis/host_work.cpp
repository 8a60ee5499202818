#include "diagnosis/host_work.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "analysis/distortion.h"
#include "analysis/step_graph/step_graph.h"
#include "analysis/step_graph/undisturbed.h"
#include "diagnosis/copy_exposure.h"
#include "diagnosis/source_location.h"

namespace accel {
namespace {

// Python or unrecorded work in one place counts when it takes this much of the step: below it, it is the ordinary
// Python between launches, which goes away with them.
constexpr double kPlainPythonShare = 0.10;
// A place must come again; a single stretch may be the operating system taking the core away. One that takes this
// share of all windows together is believed although it came once.
constexpr double kSingleStretchShare = 0.10;

bool is_record(SliceKind kind) {
  return kind == SliceKind::op || kind == SliceKind::runtime_call || kind == SliceKind::driver_call;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_loader(std::string_view name) { return contains(name, "DataLoader") && contains(name, "__next__"); }

bool is_communication(std::string_view name) {
  return name.starts_with("gloo:") || name.starts_with("nccl:") || name.starts_with("mpi:") ||
         name.starts_with("c10d::") || name == "record_param_comms";
}

// Threads that launched device work, and which slices did.
struct Launching {
  std::vector<char> slice;   // by row of slices
  std::vector<char> thread;  // by ThreadIndex
};

Launching find_launching(const TraceStore& store) {
  Launching launching{std::vector<char>(store.slices.size(), 0), std::vector<char>(store.threads.size(), 0)};
  for (const SliceId launch : store.device_events.launch) {
    if (!launch.valid()) continue;
    launching.slice[launch.value] = 1;
    launching.thread[store.slices.thread[launch.value].value] = 1;
  }
  return launching;
}

// Stretches of one thread of at least kSilentStretchNs in which no op or call begins or ends.
IntervalSet silence_of_thread(const TraceStore& store, std::pair<std::uint32_t, std::uint32_t> range, Interval whole) {
  const SliceTable& slices = store.slices;
  std::vector<Interval> silent;
  std::vector<std::int64_t> ends;
  const auto add = [&](std::int64_t from, std::int64_t to) {
    if (to - from >= kSilentStretchNs) silent.push_back({from, to});
  };
  std::int64_t from = whole.start_ns;  // the last boundary so far
  std::uint32_t last = SliceId::kNone;
  const auto close = [&](std::int64_t until) {
    // Between two starts the only ends are those of the last record and of what encloses it.
    ends.clear();
    for (std::uint32_t row = last; row != SliceId::kNone; row = slices.parent[row].value) {
      const std::int64_t end = slices.start_ns[row] + slices.dur_ns[row];
      if (is_record(slices.kind[row]) && end > from && end < until) ends.push_back(end);
    }
    std::sort(ends.begin(), ends.end());
    for (const std::int64_t end : ends) {
      add(from, end);
      from = end;
    }
    add(from, until);
  };
  for (std::uint32_t row = range.first; row < range.second; ++row) {
    if (!is_record(slices.kind[row])) continue;
    const std::int64_t start = slices.start_ns[row];
    if (start - from >= kSilentStretchNs) close(start);
    from = std::max(from, start);
    last = row;
  }
  if (whole.end_ns - from >= kSilentStretchNs) close(whole.end_ns);
  return IntervalSet::from_sorted(silent);
}

// The innermost slice of a thread open at `time`; invalid if none.
SliceId innermost_at(const TraceStore& store, std::pair<std::uint32_t, std::uint32_t> range, std::int64_t time) {
  const auto first = store.slices.start_ns.begin();
  const auto after = std::upper_bound(first + range.first, first + range.second, time);
  if (after == first + range.first) return {};
  SliceId id(static_cast<std::uint32_t>(after - first) - 1);
  while (id.valid() && store.slice_end_ns(id) <= time) id = store.slices.parent[id.value];
  return id;
}

// The last record that began at or before `time` (offset 0) or the first after it (offset 1); empty name if none.
StringId neighbour(const TraceStore& store, std::pair<std::uint32_t, std::uint32_t> range, std::int64_t time,
                   bool next) {
  const auto first = store.slices.start_ns.begin();
  std::uint32_t row =
      static_cast<std::uint32_t>(std::upper_bound(first + range.first, first + range.second, time) - first);
  if (next) {
    while (row < range.second && !is_record(store.slices.kind[row])) ++row;
    return row < range.second ? store.slices.name[row] : StringId(0);
  }
  while (row > range.first && !is_record(store.slices.kind[row - 1])) --row;
  return row > range.first ? store.slices.name[row - 1] : StringId(0);
}

struct Place {
  SliceId slice;  // what the time is put on; invalid: nothing recorded
  std::uint32_t thread = 0;
};

// What the launching threads were in: the activity that began last is the one that runs, the others wait for it.
Place place_at(const TraceStore& store, const std::vector<std::uint32_t>& threads, std::int64_t time) {
  Place best;
  bool found = false;
  for (const std::uint32_t thread : threads) {
    const SliceId id = innermost_at(store, store.thread_ranges[thread], time);
    if (!id.valid()) continue;
    if (!found || store.slices.start_ns[id.value] > store.slices.start_ns[best.slice.value]) best = {id, thread};
    found = true;
  }
  if (!found && !threads.empty()) best.thread = threads.front();
  return best;
}

bool launches_inside(const TraceStore& store, const Launching& launching, SliceId op) {
  const std::int64_t end = store.slice_end_ns(op);
  const std::uint32_t last = store.thread_ranges[store.slices.thread[op.value].value].second;
  for (std::uint32_t row = op.value + 1; row < last && store.slices.start_ns[row] < end; ++row) {
    if (launching.slice[row]) return true;
  }
  return false;
}

// Something else than host work: a call, the loader, communication, garbage collection, the recorder.
bool has_another_cause(const TraceStore& store, SliceId id) {
  for (bool innermost = true; id.valid(); id = store.slices.parent[id.value], innermost = false) {
    const SliceKind kind = store.slices.kind[id.value];
    const std::string_view name = store.text(store.slices.name[id.value]);
    if (kind == SliceKind::overhead) return true;
    if (innermost && (kind == SliceKind::runtime_call || kind == SliceKind::driver_call)) return true;
    if (is_loader(name) || is_communication(name)) return true;
    if (kind == SliceKind::frame && (contains(name, "gc.collect") || contains(name, "built-in function collect")))
      return true;
  }
  return false;
}

struct Key {
  std::uint32_t name = 0;
  SliceKind kind = SliceKind::other;
  std::uint32_t before = 0;
  std::uint32_t after = 0;
  auto operator<=>(const Key&) const = default;
};

struct Found {
  HostWorkGroup group;
  bool cpu_op = false;
};

std::optional<Key> key_of(const TraceStore& store, const Launching& launching, const Place& place, std::int64_t time) {
  if (has_another_cause(store, place.slice)) return std::nullopt;
  const auto range = store.thread_ranges[place.thread];
  Key key;
  if (place.slice.valid()) {
    key.kind = store.slices.kind[place.slice.value];
    key.name = store.slices.name[place.slice.value].value;
    if (key.kind == SliceKind::op) {
      if (launches_inside(store, launching, place.slice)) return std::nullopt;
      return key;
    }
    if (store.text(StringId(key.name)).starts_with("ProfilerStep#")) key.name = 0;
    // The function of the user's that was running, whichever built-in of which object it had just called.
    if (key.kind == SliceKind::frame) {
      const SliceId user = user_frame_of(store, place.slice);
      if (user.valid()) key.name = store.slices.name[user.value].value;
    }
  }
  key.before = neighbour(store, range, time, false).value;
  key.after = neighbour(store, range, time, true).value;
  return key;
}

// Of the step that goes on at `time`; steps that the graph leaves out are taken as they are.
double pace_at(const StepGraph& graph, std::int64_t time) {
  const auto after = std::upper_bound(graph.steps.begin(), graph.steps.end(), time,
                                      [](std::int64_t at, const StepGraph::Range& step) { return at < step.start_ns; });
  if (after == graph.steps.begin() || (after - 1)->end_ns <= time) return 1;
  return (after - 1)->pace;
}

// Places that bear one name are shown as one.
void merge_into(std::vector<HostWorkGroup>& groups, const HostWorkGroup& more) {
  for (HostWorkGroup& group : groups) {
    if (group.name != more.name || group.kind != more.kind) continue;
    group.ns_per_step += more.ns_per_step;
    group.count += more.count;
    if (more.longest_ns > group.longest_ns) {
      group.longest_ns = more.longest_ns;
      group.example = more.example;
      group.before = more.before;
      group.after = more.after;
    }
    return;
  }
  groups.push_back(more);
}

}  // namespace

HostWork find_host_work(const TraceStore& store, const AnalysisResults& results, const StepView& view,
                        const IntervalSet& other_causes) {
  HostWork result;
  if (view.windows.empty()) return result;
  const Launching launching = find_launching(store);
  const IntervalSet windows = IntervalSet::from_sorted(view.windows);
  const Interval whole{view.windows.front().start_ns, view.windows.back().end_ns};

  std::vector<std::uint32_t> threads;
  IntervalSet silent = windows;
  for (std::uint32_t thread = 0; thread < store.threads.size(); ++thread) {
    if (!launching.thread[thread]) continue;
    threads.push_back(thread);
    silent = silent.intersected(silence_of_thread(store, store.thread_ranges[thread], whole));
  }
  if (threads.empty()) return result;

  std::vector<Interval> device;
  const TraceStore::DeviceRange range = device_range_of(store, view.device);
  for (std::uint32_t row = range.first; row < range.last; ++row) {
    if (store.device_events.flags[row] & kDeviceNoTiming) continue;
    device.push_back(
        {store.device_events.start_ns[row], store.device_events.start_ns[row] + store.device_events.dur_ns[row]});
  }
  const IntervalSet idle = silent.minus(IntervalSet::from_sorted(device)).minus(other_causes);

  const RecordingCost cost = recording_cost(*results.distortion);
  std::map<Key, Found> places;
  for (const Interval& stretch : idle.intervals()) {
    if (stretch.length_ns() < kSilentStretchNs) continue;
    const std::int64_t middle = stretch.start_ns + stretch.length_ns() / 2;
    const Place place = place_at(store, threads, middle);
    const std::optional<Key> key = key_of(store, launching, place, middle);
    if (!key) continue;
    Found& found = places[*key];
    found.cpu_op = key->kind == SliceKind::op;
    HostWorkGroup& group = found.group;
    group.name = StringId(key->name);
    group.kind = key->kind;
    group.before = StringId(key->before);
    group.after = StringId(key->after);
    group.ns_per_step += without_recording(store, store.thread_ranges[place.thread], stretch, cost,
                                           pace_at(*results.step_graph, middle));
    ++group.count;
    if (stretch.length_ns() > group.longest_ns) {
      group.longest_ns = stretch.length_ns();
      group.example = place.slice;
    }
  }

  const double steps = static_cast<double>(view.windows.size());
  const double all_windows = view.measured.window_ns * steps;
  for (auto& [key, found] : places) {
    const bool comes_again = found.group.count >= 2 || found.group.ns_per_step >= kSingleStretchShare * all_windows;
    found.group.ns_per_step /= steps;
    const bool large = found.cpu_op || found.group.ns_per_step >= kPlainPythonShare * view.step_ns;
    if (!comes_again || !large) continue;
    result.ns_per_step += found.group.ns_per_step;
    merge_into(result.groups, found.group);
  }
  std::stable_sort(result.groups.begin(), result.groups.end(),
                   [](const HostWorkGroup& a, const HostWorkGroup& b) { return a.ns_per_step > b.ns_per_step; });
  return result;
}

}  // namespace accel

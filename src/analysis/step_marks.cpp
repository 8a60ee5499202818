#include "analysis/step_marks.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace accel {
namespace {

std::int64_t number_of(std::string_view name, std::int64_t otherwise) {
  const std::size_t hash = name.find('#');
  if (hash == std::string_view::npos) return otherwise;
  std::int64_t number = otherwise;
  std::from_chars(name.data() + hash + 1, name.data() + name.size(), number);
  return number;
}

bool is_range(SliceKind kind) {
  return kind == SliceKind::annotation || kind == SliceKind::op || kind == SliceKind::other;
}

// Ranges for which `wanted` holds, of the one thread that has most of them, outermost ones alone, by start.
template <typename Wanted>
std::vector<SliceId> ranges_of_busiest_thread(const TraceStore& store, Wanted wanted) {
  std::vector<SliceId> best;
  for (const auto& [first, last] : store.thread_ranges) {
    std::vector<SliceId> found;
    std::int64_t covered = kNotRecorded;
    for (std::uint32_t i = first; i < last; ++i) {
      if (!is_range(store.slices.kind[i]) || !wanted(i)) continue;
      if (store.slices.start_ns[i] < covered) continue;
      covered = store.slice_end_ns(SliceId(i));
      found.push_back(SliceId(i));
    }
    if (found.size() > best.size()) best = std::move(found);
  }
  return best;
}

// The step is the mark itself.
std::vector<Step> steps_of_marks(const TraceStore& store, const std::vector<SliceId>& marks) {
  std::vector<Step> steps;
  for (const SliceId mark : marks) {
    Step step;
    step.number = number_of(store.text(store.slices.name[mark.value]), static_cast<std::int64_t>(steps.size()));
    step.slice = mark;
    step.host = {store.slices.start_ns[mark.value], store.slice_end_ns(mark)};
    step.complete = (store.slices.flags[mark.value] & kSliceUnfinished) == 0;
    // A step that the recording cut still holds its events: it lasts until the next one or the end of the trace.
    if (!step.complete) step.host.end_ns = std::max(step.host.end_ns, store.time_range.end_ns);
    if (!steps.empty()) steps.back().host.end_ns = std::min(steps.back().host.end_ns, step.host.start_ns);
    steps.push_back(step);
  }
  return steps;
}

// Steps between successive boundaries; what lies before the first and after the last one is cut.
std::vector<Step> steps_between(const std::vector<std::int64_t>& boundaries, Interval trace) {
  std::vector<Step> steps;
  const auto add = [&](std::int64_t start, std::int64_t end, bool complete) {
    if (end <= start) return;
    Step step;
    step.number = static_cast<std::int64_t>(steps.size());
    step.host = {start, end};
    step.complete = complete;
    steps.push_back(step);
  };
  add(trace.start_ns, boundaries.front(), false);
  for (std::size_t i = 1; i < boundaries.size(); ++i) add(boundaries[i - 1], boundaries[i], true);
  add(boundaries.back(), trace.end_ns, false);
  return steps;
}

StepMarks from_profiler_steps(const TraceStore& store, const EventIndex& index) {
  const auto marks = ranges_of_busiest_thread(
      store, [&](std::uint32_t i) { return index.class_of(store, i) == NameClass::profiler_step; });
  return {StepSource::profiler_step, steps_of_marks(store, marks), false};
}

StepMarks from_named_range(const TraceStore& store, std::string_view name, StepSource source) {
  const auto named = [&](std::uint32_t i) {
    const std::string_view text = store.text(store.slices.name[i]);
    return text == name || (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '#');
  };
  return {source, steps_of_marks(store, ranges_of_busiest_thread(store, named)), false};
}

// An optimizer ends a step. With several optimizers the one seen most often counts, the first in case of a tie.
StepMarks from_optimizer(const TraceStore& store, const EventIndex& index) {
  const auto marks = ranges_of_busiest_thread(
      store, [&](std::uint32_t i) { return index.class_of(store, i) == NameClass::optimizer_step; });
  std::map<StringId, std::vector<std::int64_t>> ends;
  for (const SliceId mark : marks) ends[store.slices.name[mark.value]].push_back(store.slice_end_ns(mark));
  const std::vector<std::int64_t>* best = nullptr;
  for (const auto& [name, list] : ends) {
    if (best == nullptr || list.size() > best->size() || (list.size() == best->size() && list.front() < best->front()))
      best = &list;
  }
  if (best == nullptr || best->size() < 2) return {};
  return {StepSource::optimizer_step, steps_between(*best, store.time_range), false};
}

StepMarks from_loader(const TraceStore& store, const EventIndex& index) {
  const auto marks = ranges_of_busiest_thread(
      store, [&](std::uint32_t i) { return index.class_of(store, i) == NameClass::dataloader_next; });
  if (marks.size() < 2) return {};
  std::vector<std::int64_t> starts;
  for (const SliceId mark : marks) starts.push_back(store.slices.start_ns[mark.value]);
  return {StepSource::dataloader_next, steps_between(starts, store.time_range), false};
}

// -- a repeating kernel pattern

struct Anchor {
  StringId name;
  std::vector<std::uint32_t> places;  // positions in the sequence
};

// How much of the sequence repeats after `period` events.
double repeated_share(const std::vector<StringId>& sequence, std::size_t from, std::size_t period) {
  if (sequence.size() <= from + period) return 0;
  std::size_t same = 0;
  for (std::size_t i = from; i + period < sequence.size(); ++i) same += sequence[i] == sequence[i + period] ? 1 : 0;
  return static_cast<double>(same) / static_cast<double>(sequence.size() - from - period);
}

std::size_t usual_distance(const std::vector<std::uint32_t>& places) {
  std::vector<std::uint32_t> distances;
  for (std::size_t i = 1; i < places.size(); ++i) distances.push_back(places[i] - places[i - 1]);
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  return *middle;
}

std::size_t first_at_distance(const std::vector<std::uint32_t>& places, std::size_t distance) {
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i] - places[i - 1] == distance) return places[i - 1];
  }
  return places.front();
}

// Kernel names seen a few times at even distances, rarest first: those mark the step rather than one of its layers.
std::vector<Anchor> anchors_of(const std::vector<StringId>& sequence) {
  std::map<StringId, std::vector<std::uint32_t>> places;
  for (std::uint32_t i = 0; i < sequence.size(); ++i) places[sequence[i]].push_back(i);
  std::vector<Anchor> anchors;
  for (auto& [name, list] : places) {
    if (list.size() >= 3) anchors.push_back({name, std::move(list)});
  }
  std::sort(anchors.begin(), anchors.end(), [](const Anchor& a, const Anchor& b) {
    return a.places.size() != b.places.size() ? a.places.size() < b.places.size() : a.places.front() < b.places.front();
  });
  return anchors;
}

StepMarks from_kernels(const TraceStore& store) {
  constexpr std::size_t kMostKernels = 1'000'000;  // longer sequences have marks or are not worth the search
  constexpr std::size_t kMostAnchors = 16;
  constexpr double kRepeats = 0.9;
  const auto busiest =
      std::max_element(store.device_ranges.begin(), store.device_ranges.end(),
                       [](const auto& a, const auto& b) { return a.last - a.first < b.last - b.first; });
  if (busiest == store.device_ranges.end()) return {};
  std::vector<StringId> sequence;
  std::vector<std::uint32_t> rows;
  bool any_launch = false;
  for (std::uint32_t i = busiest->first; i < busiest->last; ++i) {
    if (store.device_events.kind[i] != DeviceEventKind::kernel || (store.device_events.flags[i] & kDeviceNoTiming) != 0)
      continue;
    any_launch |= store.device_events.launch[i].valid();
    sequence.push_back(store.device_events.name[i]);
    rows.push_back(i);
  }
  if (sequence.size() < 6 || sequence.size() > kMostKernels) return {};
  const std::vector<Anchor> anchors = anchors_of(sequence);
  for (std::size_t a = 0; a < std::min(anchors.size(), kMostAnchors); ++a) {
    const std::vector<std::uint32_t>& places = anchors[a].places;
    // The first pass often differs (warm-up, lazy work): the pattern holds from the first place at the usual distance
    // on.
    const std::size_t period = usual_distance(places);
    const std::size_t from = first_at_distance(places, period);
    if (period < 2 || repeated_share(sequence, from, period) < kRepeats) continue;
    std::vector<std::int64_t> boundaries;
    for (const std::uint32_t place : places) {
      const SliceId launch = store.device_events.launch[rows[place]];
      if (any_launch && !launch.valid()) continue;
      const std::int64_t at =
          launch.valid() ? store.slices.start_ns[launch.value] : store.device_events.start_ns[rows[place]];
      if (boundaries.empty() || at > boundaries.back()) boundaries.push_back(at);
    }
    if (boundaries.size() < 3) continue;
    return {StepSource::kernel_pattern, steps_between(boundaries, store.time_range), !any_launch};
  }
  return {};
}

StepMarks whole_window(const TraceStore& store) {
  StepMarks marks;
  marks.by_device_start = true;
  if (store.time_range.length_ns() <= 0) return marks;
  Step step;
  // Device events launched before the window belong to the one step too, so does the last event's end.
  step.host = {store.time_range.start_ns, store.time_range.end_ns};
  marks.steps.push_back(step);
  return marks;
}

}  // namespace

StepMarks find_step_marks(const TraceStore& store, const EventIndex& index, std::string_view step_annotation) {
  if (!step_annotation.empty()) {
    StepMarks chosen = from_named_range(store, step_annotation, StepSource::user_annotation);
    if (!chosen.steps.empty()) return chosen;
  }
  StepMarks marks = from_profiler_steps(store, index);
  if (marks.steps.empty()) marks = from_named_range(store, "accel::step", StepSource::native_mark);
  if (marks.steps.empty()) marks = from_optimizer(store, index);
  if (marks.steps.empty()) marks = from_loader(store, index);
  if (marks.steps.empty()) marks = from_kernels(store);
  if (marks.steps.empty()) marks = whole_window(store);
  return marks;
}

bool shows_training(const TraceStore& store, const EventIndex& index) {
  for (const NameClass c : index.name_class) {
    if (c == NameClass::backward || c == NameClass::optimizer_step) return true;
  }
  std::vector<std::uint8_t> seen(store.strings.size(), 0);
  for (std::size_t i = 0; i < store.device_events.size(); ++i) {
    const StringId id = store.device_events.name[i];
    if (store.device_events.kind[i] != DeviceEventKind::kernel || seen[id.value] != 0) continue;
    seen[id.value] = 1;
    const std::string_view name = store.text(id);
    for (const std::string_view sign : {"ackward", "Adam", "adam", "_bwd", "_bw_", "dgrad", "wgrad", "Momentum"}) {
      if (name.find(sign) != std::string_view::npos) return true;
    }
  }
  return false;
}

}  // namespace accel

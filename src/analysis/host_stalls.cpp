#include "analysis/host_stalls.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "trace/processor.h"

namespace accel {
namespace {

// Shorter gaps are ordinary work; a scheduler takes a core away for milliseconds.
constexpr std::int64_t kLongGapNs = 1'000'000;
// A place stalls where it takes this many times what it usually does. A place seen less often has no usual.
constexpr std::int64_t kUsualFactor = 20;
constexpr std::size_t kSeenOften = 4;
constexpr std::size_t kMedianFrom = 8;
// A scheduler does not choose the same place in three steps of four: what stops there is work of that place.
constexpr double kInMostSteps = 0.75;
constexpr double kFewestSteps = 4;
// Python hands its lock to another thread after 5 ms; with two or three threads a gap is a small multiple of it, and a
// little more. A third of all durations up to the fourth multiple lie there by chance.
constexpr std::int64_t kSwitchNs = 5'000'000;
constexpr std::int64_t kSwitchSlackNs = 600'000;
constexpr std::int64_t kMostSwitches = 4;
constexpr std::size_t kSwitchGaps = 10;
constexpr double kSwitchShare = 0.8;

struct Gap {
  std::uint64_t place = 0;  // the records and ends on both sides
  Interval time;
  std::uint32_t before = 0;               // row of the record before it
  std::uint32_t inside = SliceId::kNone;  // innermost record open during it
  std::int32_t step = -1;
};

bool is_record(SliceKind kind) {
  return kind == SliceKind::op || kind == SliceKind::runtime_call || kind == SliceKind::driver_call;
}

// Calls visit(gap) for every gap between two boundaries of records of a thread, in time order, inside one step.
template <typename Visit>
void for_each_gap(const TraceStore& store, const StepSegmentation& segmentation, ThreadIndex thread, Visit&& visit) {
  struct Open {
    std::int64_t end_ns;
    std::uint32_t row;
  };
  std::vector<Open> open;
  bool any = false;
  std::int64_t last_time = 0;
  std::uint64_t last_side = 0;
  std::uint32_t last_row = 0;
  std::int32_t step = -1;
  const auto boundary = [&](std::int64_t time, std::uint32_t row, bool is_start) {
    const std::uint64_t side = (static_cast<std::uint64_t>(store.slices.name[row].value) << 1) | (is_start ? 1U : 0U);
    if (any && time > last_time)
      visit(Gap{last_side * 0x9E3779B97F4A7C15ULL ^ side,
                {last_time, time},
                last_row,
                open.empty() ? SliceId::kNone : open.back().row,
                step});
    any = true;
    last_time = std::max(last_time, time);
    last_side = side;
    last_row = row;
  };
  const auto [first, last] = store.thread_ranges[thread.value];
  for (std::uint32_t row = first; row < last; ++row) {
    if (!is_record(store.slices.kind[row])) continue;
    const std::int64_t start = store.slices.start_ns[row];
    while (!open.empty() && open.back().end_ns <= start) {
      boundary(open.back().end_ns, open.back().row, false);
      open.pop_back();
    }
    const std::int32_t own = segmentation.step_at(start);
    if (own != step) any = false;  // from one step to the next other things happen
    step = own;
    if (step < 0 || !segmentation.steps[static_cast<std::size_t>(step)].complete) {
      any = false;
      continue;
    }
    boundary(start, row, true);
    open.push_back({start + store.slices.dur_ns[row], row});
  }
}

bool is_switch(std::int64_t ns) {
  for (std::int64_t k = 1; k <= kMostSwitches; ++k) {
    if (ns >= k * kSwitchNs && ns <= k * (kSwitchNs + kSwitchSlackNs)) return true;
  }
  return false;
}

std::int64_t usual_of(std::vector<std::int64_t>& durations) {
  if (durations.size() < kMedianFrom) return *std::min_element(durations.begin(), durations.end());
  const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
  std::nth_element(durations.begin(), middle, durations.end());
  return *middle;
}

// An op that launches nothing (or whose processor is the device) and is more than a view may compute: that is work, not
// a stall.
bool may_compute(const TraceStore& store, const EventIndex& index, std::uint32_t row) {
  if (row == SliceId::kNone || store.slices.kind[row] != SliceKind::op) return false;
  const bool launches = (index.slice_flags[row] & kLaunchesInside) != 0 && !runs_on_processor(store);
  return !launches && !is_metadata_op(store.text(store.slices.name[row]));
}

// Places that take long in most steps.
std::unordered_set<std::uint64_t> work_of_places(const std::vector<Gap>& gaps, const StepSegmentation& segmentation) {
  std::unordered_map<std::uint64_t, std::unordered_set<std::int32_t>> steps_of;
  for (const Gap& gap : gaps) steps_of[gap.place].insert(gap.step);
  const auto steps = static_cast<double>(std::count_if(segmentation.steps.begin(), segmentation.steps.end(),
                                                       [](const Step& step) { return step.complete; }));
  std::unordered_set<std::uint64_t> places;
  for (const auto& [place, in] : steps_of) {
    if (steps >= kFewestSteps && static_cast<double>(in.size()) >= kInMostSteps * steps) places.insert(place);
  }
  return places;
}

}  // namespace

bool is_metadata_op(std::string_view name) {
  constexpr std::string_view kViews[] = {
      "as_strided",    "view",         "_unsafe_view", "reshape",        "t",         "transpose",  "permute",
      "select",        "slice",        "expand",       "detach",         "squeeze",   "unsqueeze",  "flatten",
      "narrow",        "chunk",        "split",        "unbind",         "alias",     "empty",      "empty_like",
      "empty_strided", "expand_as",    "view_as",      "numpy_T",        "movedim",   "lift_fresh", "detach_",
      "result_type",   "resolve_conj", "resolve_neg",  "_reshape_alias", "unflatten", "swapaxes",   "diagonal"};
  if (name.starts_with("aten::")) name.remove_prefix(6);
  return std::find(std::begin(kViews), std::end(kViews), name) != std::end(kViews);
}

HostStalls find_stalls(const TraceStore& store, const EventIndex& index, const StepSegmentation& segmentation) {
  HostStalls stalls;
  if (!index.main_thread.valid()) return stalls;
  std::vector<Gap> gaps;
  for_each_gap(store, segmentation, index.main_thread, [&](const Gap& gap) {
    // A call that waits for the device, or for room in its queue, does not stall.
    const bool in_call = store.is_call(SliceId(gap.before)) && gap.time.start_ns == store.slices.start_ns[gap.before];
    if (gap.time.length_ns() >= kLongGapNs && !in_call && !may_compute(store, index, gap.inside)) gaps.push_back(gap);
  });
  if (gaps.empty()) return stalls;
  std::unordered_map<std::uint64_t, std::vector<std::int64_t>> by_place;
  for (const Gap& gap : gaps) by_place[gap.place];
  for_each_gap(store, segmentation, index.main_thread, [&](const Gap& gap) {
    const auto known = by_place.find(gap.place);
    if (known != by_place.end()) known->second.push_back(gap.time.length_ns());
  });

  std::size_t short_enough = 0, switches = 0;
  for (const Gap& gap : gaps) {
    if (gap.time.length_ns() < kSwitchNs / 2 || gap.time.length_ns() > (kMostSwitches + 1) * kSwitchNs) continue;
    ++short_enough;
    switches += is_switch(gap.time.length_ns()) ? 1 : 0;
  }
  stalls.interpreter =
      switches >= kSwitchGaps && static_cast<double>(switches) >= kSwitchShare * static_cast<double>(short_enough);

  std::unordered_map<std::uint64_t, std::int64_t> usual;
  for (auto& [place, durations] : by_place)
    usual[place] = durations.size() >= kSeenOften ? usual_of(durations) : std::numeric_limits<std::int64_t>::max();
  const std::unordered_set<std::uint64_t> works = work_of_places(gaps, segmentation);
  std::vector<Interval> times;
  std::unordered_set<std::uint64_t> places;
  for (const Gap& gap : gaps) {
    const std::int64_t ns = gap.time.length_ns();
    const std::int64_t usually = usual[gap.place];
    const bool rare = usually < ns / kUsualFactor && !works.contains(gap.place);
    if (!rare && !(stalls.interpreter && is_switch(ns))) continue;
    times.push_back(gap.time);
    places.insert(gap.place);
    ++stalls.count;
    if (ns > stalls.longest_ns) {
      stalls.longest_ns = ns;
      stalls.example = SliceId(gap.before);
    }
  }
  stalls.places = places.size();
  stalls.time = IntervalSet::from_unsorted(std::move(times));
  return stalls;
}

}  // namespace accel

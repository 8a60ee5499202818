#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analysis/device_timeline.h"
#include "analysis/event_index.h"
#include "analysis/idle_attribution.h"
#include "analysis/kernel_table.h"
#include "fusion/digest/segments.h"

namespace accel::fusion {
namespace {

constexpr std::size_t kMostKernels = 32;      // of one segment, largest first
constexpr std::size_t kMostShapeBytes = 160;  // longer shapes are lists of many tensors: their start tells them apart

class DeviceWork {
 public:
  DeviceWork(const TraceStore& store, const AnalysisResults& results, NameRows& names, RankDigest& digest)
      : store_(store), results_(results), names_(names), digest_(digest) {}

  void segments() {
    for (std::size_t d = 0; d < store_.device_ranges.size(); ++d) {
      const auto& range = store_.device_ranges[d];
      std::vector<std::uint32_t> order;
      for (std::uint32_t i = 0; i < digest_.events.size(); ++i) {
        if (digest_.events[i].place == EventPlace::device && digest_.events[i].device == range.device)
          order.push_back(i);
      }
      const auto start = [&](std::uint32_t i) { return digest_.events[i].start_ns; };
      std::stable_sort(order.begin(), order.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return start(a) < start(b); });
      std::uint32_t row = range.first;
      std::int64_t from = range.first < range.last ? store_.device_events.start_ns[range.first] : 0;
      bool whole = false;
      for (const std::uint32_t i : order) {
        Segment& segment = digest_.segments[i];
        segment.whole = whole;
        const Interval time{from, std::max(from, start(i))};
        measure(d, time, segment);
        std::map<Key, KernelShare> kernels;
        for (; row < range.last && store_.device_events.start_ns[row] < time.end_ns; ++row) {
          if (store_.device_events.start_ns[row] >= time.start_ns) count(row, kernels);
        }
        keep_largest(kernels, segment.kernels);
        from = std::max(from, digest_.events[i].end_ns);
        whole = true;
      }
    }
  }

  void steps() {
    const StepSegmentation& segmentation = *results_.step_segmentation;
    const std::int64_t device = primary_device(store_, digest_);
    for (std::size_t d = 0; d < store_.device_ranges.size(); ++d) {
      if (store_.device_ranges[d].device != device || d >= segmentation.devices.size()) continue;
      const std::vector<DeviceStep>& of_device = segmentation.devices[d].steps;
      for (std::size_t k = 0; k < digest_.steps.size(); ++k) {
        if (of_device[k].first_start_ns == kNotRecorded) continue;
        const Interval own{of_device[k].first_start_ns, of_device[k].last_end_ns};
        const bool followed = k + 1 < of_device.size() && of_device[k + 1].first_start_ns > own.start_ns;
        const Interval time{own.start_ns, followed ? of_device[k + 1].first_start_ns : own.end_ns};
        digest_.steps[k].device = own;
        measure(d, time, digest_.steps[k].work);
        digest_.steps[k].communication_exposed_ns =
            results_.device_timeline->devices[d].communication_exposed.clipped(time).total_ns();
      }
    }
    std::vector<std::map<Key, KernelShare>> kernels(digest_.steps.size());
    for (std::uint32_t row = 0; row < store_.device_events.size(); ++row) {
      const std::int32_t step = segmentation.step_of_device_event[row];
      if (step >= 0 && static_cast<std::size_t>(step) < kernels.size()) count(row, kernels[step]);
    }
    for (std::size_t k = 0; k < kernels.size(); ++k) keep_largest(kernels[k], digest_.steps[k].work.kernels);
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;

  void measure(std::size_t device, Interval time, Segment& segment) const {
    const DeviceTimeline::Device& timeline = results_.device_timeline->devices[device];
    segment.device_ns = time.length_ns();
    segment.compute_ns = timeline.compute.clipped(time).total_ns();
    segment.memory_ns = timeline.memory_exposed.clipped(time).total_ns();
    const std::vector<IdleStretch>& stretches = results_.idle_attribution->devices[device].stretches;
    auto at = std::partition_point(stretches.begin(), stretches.end(),
                                   [&](const IdleStretch& s) { return s.time.end_ns <= time.start_ns; });
    for (; at != stretches.end() && at->time.start_ns < time.end_ns; ++at) {
      const std::int64_t length = std::min(at->time.end_ns, time.end_ns) - std::max(at->time.start_ns, time.start_ns);
      segment.idle[static_cast<std::size_t>(at->cause)] += std::max<std::int64_t>(0, length);
    }
  }

  void count(std::uint32_t row, std::map<Key, KernelShare>& kernels) {
    const DeviceEventTable& events = store_.device_events;
    if ((events.flags[row] & kDeviceNoTiming) != 0) return;
    if (events.kind[row] == DeviceEventKind::kernel &&
        results_.event_index->communication_name[events.name[row].value] != 0)
      return;
    const Key key{name_of(row), shape_of(row)};
    KernelShare& share = kernels[key];
    share.name = key.first;
    share.shape = key.second;
    ++share.count;
    share.ns += events.dur_ns[row];
  }

  std::uint32_t name_of(std::uint32_t row) {
    const StringId name = store_.device_events.name[row];
    const auto [at, is_new] = short_names_.try_emplace(name.value, kNoRow);
    if (is_new) {
      const bool kernel = store_.device_events.kind[row] == DeviceEventKind::kernel;
      at->second = names_.row(kernel ? short_kernel_name(store_.text(name)) : store_.text(name));
    }
    return at->second;
  }

  std::uint32_t shape_of(std::uint32_t row) {
    const SliceId launch = store_.device_events.launch[row];
    if (!launch.valid()) return kNoRow;
    const SliceId op = store_.enclosing_op(launch);
    if (!op.valid() || !store_.slices.detail[op.value].valid()) return kNoRow;
    const ArgsId args = store_.op_details.args[store_.slices.detail[op.value].value];
    if (!args.valid()) return kNoRow;
    const auto [at, is_new] = shapes_.try_emplace(args.value, kNoRow);
    if (is_new) at->second = names_.row(store_.text(store_.op_args.dims[args.value]).substr(0, kMostShapeBytes));
    return at->second;
  }

  static void keep_largest(const std::map<Key, KernelShare>& kernels, std::vector<KernelShare>& into) {
    for (const auto& [key, share] : kernels) into.push_back(share);
    std::stable_sort(into.begin(), into.end(), [](const KernelShare& a, const KernelShare& b) { return a.ns > b.ns; });
    if (into.size() > kMostKernels) into.resize(kMostKernels);
  }

  const TraceStore& store_;
  const AnalysisResults& results_;
  NameRows& names_;
  RankDigest& digest_;
  std::unordered_map<std::uint32_t, std::uint32_t> short_names_;
  std::unordered_map<std::uint32_t, std::uint32_t> shapes_;
};

}  // namespace

std::int64_t primary_device(const TraceStore& store, const RankDigest& digest) {
  std::map<std::int64_t, std::size_t> collectives;
  for (const CommunicationEvent& event : digest.events)
    if (event.place == EventPlace::device) ++collectives[event.device];
  std::int64_t best = -1;
  std::pair<std::size_t, std::size_t> most{0, 0};
  for (const auto& range : store.device_ranges) {
    const std::pair<std::size_t, std::size_t> work{collectives[range.device], range.last - range.first};
    if (work <= most) continue;
    most = work;
    best = range.device;
  }
  return best;
}

void fill_device_work(const TraceStore& store, const AnalysisResults& results, NameRows& names, RankDigest& digest) {
  digest.segments.resize(digest.events.size());
  DeviceWork work(store, results, names, digest);
  work.segments();
  work.steps();
}

}  // namespace accel::fusion

#include "analysis/efficiency/efficiency.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/distortion.h"
#include "analysis/efficiency/growth.h"
#include "analysis/efficiency/kernel_kinds.h"
#include "analysis/efficiency/work_cache.h"
#include "analysis/event_index.h"
#include "analysis/kernel_table.h"
#include "analysis/step_segmentation.h"
#include "analysis/time_breakdown.h"

namespace accel {
namespace {

// Ops between a launch and the op whose formula covers it: torch nests three deep at most.
constexpr int kLevels = 4;
// Matrix kernels without shapes make an MFU a lower bound; beyond this share it is no longer stated.
constexpr double kCoverage = 0.95;

// One kernel and the op call that it ran for.
struct Launch {
  std::uint32_t owner = SliceId::kNone;  // slice, else none
  std::uint32_t event = 0;
};

struct GroupKey {
  std::uint32_t op, args, kernel, config;
  bool operator==(const GroupKey&) const = default;
};

struct GroupKeyHash {
  std::size_t operator()(const GroupKey& key) const {
    std::uint64_t h = key.op;
    for (const std::uint64_t part : {key.args, key.kernel, key.config})
      h = h * 0x9E3779B97F4A7C15ULL + part + (h >> 29U);
    return h;
  }
};

class Builder {
 public:
  Builder(const TraceStore& store, const AnalysisResults& results)
      : store_(store),
        results_(results),
        cache_(store),
        tensor_name_(store.strings.size(), 2),
        layout_name_(store.strings.size(), 2) {}

  Efficiency build() {
    sum_op_flops();
    result_.owner_of_event.resize(store_.device_events.size());
    for (const TraceStore::DeviceRange& range : store_.device_ranges) build_device(range);
    finish_kernels();
    return std::move(result_);
  }

 private:
  void sum_op_flops() {
    for (std::uint32_t i = 0; i < store_.slices.size(); ++i) {
      if (store_.slices.kind[i] != SliceKind::op) continue;
      const WorkCache::Entry* entry = cache_.of_slice(SliceId(i));
      if (entry == nullptr) continue;
      result_.shapes_recorded = true;
      if (!entry->work.flops) continue;
      const SliceId parent = store_.slices.parent[i];
      const StringId name = store_.slices.name[i];
      if (parent.valid() && store_.slices.name[parent.value] == name) continue;  // one op to the reader
      result_.op_flops[name.value] += *entry->work.flops;
    }
  }

  bool rearranges(std::uint32_t event) {
    std::uint8_t& known = layout_name_[store_.device_events.name[event].value];
    if (known == 2) known = changes_layout(store_.text(store_.device_events.name[event])) ? 1 : 0;
    return known == 1;
  }

  bool uses_tensor(StringId name) {
    std::uint8_t& known = tensor_name_[name.value];
    if (known == 2) known = uses_tensor_cores(store_.text(name)) ? 1 : 0;
    return known == 1;
  }

  // The op call whose work the launch does: the innermost one if it has a formula, else the next around it that is no
  // mere wrapper, else the innermost one.
  SliceId owner_of(std::uint32_t event) {
    const SliceId launch = store_.device_events.launch[event];
    if (!launch.valid()) return {};
    const SliceId innermost = store_.enclosing_op(launch);
    if (!innermost.valid() || store_.slices.kind[innermost.value] != SliceKind::op) return {};
    SliceId at = innermost;
    for (int level = 0; level < kLevels && at.valid(); ++level) {
      if (store_.slices.kind[at.value] == SliceKind::op) {
        const WorkCache::Entry* entry = cache_.of_slice(at);
        if (entry != nullptr && entry->work.kind != WorkKind::none && (at == innermost || !entry->work.composite))
          return at;
      }
      at = store_.slices.parent[at.value];
    }
    return innermost;
  }

  bool in_step(std::uint32_t event) const {
    const StepSegmentation& segmentation = *results_.step_segmentation;
    const std::int32_t step = segmentation.step_of_device_event[event];
    return step >= 0 && segmentation.steps[static_cast<std::size_t>(step)].complete;
  }

  const DeviceProperties* properties_of(std::int64_t device) const {
    for (const DeviceProperties& properties : store_.process.devices) {
      if (properties.index == device) return &properties;
    }
    return nullptr;
  }

  void build_device(const TraceStore::DeviceRange& range) {
    DeviceEfficiency& device = result_.devices.emplace_back();
    device.device = range.device;
    device.properties = properties_of(range.device);
    device.steps = results_.step_segmentation->complete_count;
    find_device_peaks(device);

    std::vector<Launch> launches;
    for (std::uint32_t i = range.first; i < range.last; ++i) {
      if (store_.device_events.kind[i] != DeviceEventKind::kernel) continue;
      if ((store_.device_events.flags[i] & kDeviceNoTiming) != 0 || store_.device_events.dur_ns[i] <= 0) continue;
      const SliceId owner = owner_of(i);
      result_.owner_of_event[i] = owner;
      launches.push_back({owner.valid() ? owner.value : SliceId::kNone, i});
    }
    std::stable_sort(launches.begin(), launches.end(),
                     [](const Launch& a, const Launch& b) { return a.owner < b.owner; });
    groups_.clear();
    for (std::size_t first = 0; first < launches.size();) {
      std::size_t last = first + 1;
      // Launches of no op are calls of their own.
      while (last < launches.size() && launches[first].owner != SliceId::kNone &&
             launches[last].owner == launches[first].owner)
        ++last;
      add_call(device, std::span(launches).subspan(first, last - first));
      first = last;
    }
    finish_device(device);
  }

  void find_device_peaks(DeviceEfficiency& device) const {
    if (device.properties == nullptr || device.properties->name.empty()) {
      device.why_no_peaks = "the capture does not name the device";
      return;
    }
    device.peaks = find_peaks(device.properties->name, device.properties->sms);
    if (device.peaks == nullptr)
      device.why_no_peaks = "the peaks of " + device.properties->name + " are not in this version's table";
  }

  LaunchConfigId config_of(std::uint32_t event) const {
    const DetailId detail = store_.device_events.detail[event];
    return detail.valid() ? store_.kernel_details.config[detail.value] : LaunchConfigId();
  }

  void add_call(DeviceEfficiency& device, std::span<const Launch> launches) {
    std::uint32_t main = launches.front().event;
    double ns = 0;
    for (const Launch& launch : launches) {
      const std::int64_t dur = store_.device_events.dur_ns[launch.event];
      ns += static_cast<double>(dur);
      // What computes stands for the call, not what rearranges its tensors.
      const bool better =
          rearranges(main) == rearranges(launch.event) ? dur > store_.device_events.dur_ns[main] : rearranges(main);
      if (better) main = launch.event;
    }
    const SliceId owner(launches.front().owner);
    const ArgsId args = owner.valid() ? cache_.args_of(owner) : ArgsId();
    const StringId op = owner.valid() ? store_.slices.name[owner.value] : StringId();
    const StringId kernel = store_.device_events.name[main];
    const LaunchConfigId config = config_of(main);
    const auto [at, added] =
        groups_.try_emplace({op.value, args.value, kernel.value, config.value}, device.groups.size());
    if (added) device.groups.push_back(new_group(device, owner, op, args, main, config));
    WorkGroup& group = device.groups[at->second];
    ++group.calls;
    group.kernels += launches.size();
    group.device_ns += ns;
    if (in_step(main)) {
      ++group.calls_in_steps;
      group.ns_in_steps += ns;
    }
    for (const Launch& launch : launches) {
      if (rearranges(launch.event)) group.layout_ns += static_cast<double>(store_.device_events.dur_ns[launch.event]);
      add_kernel(device, launch.event, group);
    }
  }

  WorkGroup new_group(const DeviceEfficiency& device, SliceId owner, StringId op, ArgsId args, std::uint32_t main,
                      LaunchConfigId config) {
    WorkGroup group;
    group.op = op;
    group.args = args;
    group.kernel = store_.device_events.name[main];
    group.config = config;
    group.example = DeviceEventId(main);
    group.example_call = owner;
    group.communication = results_.event_index->communication_name[group.kernel.value] != 0;
    group.tensor_core = uses_tensor(group.kernel);
    if (const WorkCache::Entry* entry = owner.valid() ? cache_.of_slice(owner) : nullptr) {
      group.work = entry->work;
      group.input_elements = entry->largest_elements;
    }
    if (group.work.type == TensorType::unknown) group.work.type = type_in_kernel_name(store_.text(group.kernel));
    if (config.valid() && device.properties != nullptr)
      group.fill = fill_of(*device.properties, store_.launch_configs.row(config.value));
    return group;
  }

  void add_kernel(const DeviceEfficiency& device, std::uint32_t event, const WorkGroup& group) {
    const StringId name = store_.device_events.name[event];
    KernelSum& sum = kernels_[name.value];
    const double ns = static_cast<double>(store_.device_events.dur_ns[event]);
    sum.ns += ns;
    sum.types.insert(group.work.type);
    const LaunchConfigId config = config_of(event);
    if (!config.valid() || device.properties == nullptr) return;
    auto& fill = fills_[{static_cast<std::uint32_t>(result_.devices.size()), config.value}];
    if (!fill) fill = fill_of(*device.properties, store_.launch_configs.row(config.value));
    if (!fill) return;
    sum.ns_filled += ns;
    sum.occupancy += ns * fill->occupancy;
    sum.waves += ns * fill->waves;
    sum.multiprocessor_share += ns * fill->multiprocessor_share;
    sum.by_limit[static_cast<std::size_t>(fill->limit)] += ns;
  }

  void finish_device(DeviceEfficiency& device) {
    for (WorkGroup& group : device.groups) {
      group.roofline = place_under_roof(device.peaks, group.work, group.tensor_core, group.ns_per_call());
      add_to_kernel_roof(group);
    }
    std::sort(device.groups.begin(), device.groups.end(), [](const WorkGroup& a, const WorkGroup& b) {
      if (a.ns_in_steps != b.ns_in_steps) return a.ns_in_steps > b.ns_in_steps;
      if (a.device_ns != b.device_ns) return a.device_ns > b.device_ns;
      return a.example < b.example;
    });
    sum_steps(device);
    if (device.groups.empty()) return;
    std::vector<SizeGrowth> growth = growth_of(device.groups);
    if (result_.growth.empty()) result_.growth = std::move(growth);
  }

  // The kernel's roof is that of the calls which it is the main kernel of.
  void add_to_kernel_roof(const WorkGroup& group) {
    KernelSum& sum = kernels_[group.kernel.value];
    const double calls = static_cast<double>(group.calls);
    if (group.roofline.tflops) {
      sum.flops += *group.work.flops * calls;
      sum.flops_ns += group.device_ns;
    }
    if (!group.roofline.roof_share) return;
    sum.roof_ns += group.roofline.roof_ns * calls;
    sum.placed_ns += group.device_ns;
    sum.by_bound[static_cast<std::size_t>(group.roofline.bound)] += group.device_ns;
  }

  void sum_steps(DeviceEfficiency& device) {
    if (device.steps <= 0) return;
    std::map<TensorType, double> by_type;
    for (const WorkGroup& group : device.groups) {
      if (group.communication || group.ns_in_steps <= 0) continue;
      const double ns = group.ns_in_steps / device.steps;
      const double calls = static_cast<double>(group.calls_in_steps) / device.steps;
      device.kernel_ns += ns;
      if (group.tensor_core) device.tensor_ns += ns;
      if (group.work.flops) device.flops += calls * *group.work.flops;
      if (group.work.is_matrix() || group.tensor_core) {
        device.matrix_ns += ns;
        if (group.work.is_matrix() && group.work.flops) {
          device.matrix_known_ns += ns;
          device.matrix_flops += calls * *group.work.flops;
          by_type[group.work.type] += calls * *group.work.flops;
        }
      }
      if (group.fill) {
        device.filled_ns += ns;
        device.multiprocessor_ns += ns * group.fill->multiprocessor_share;
      }
      if (!group.roofline.roof_share) continue;
      const bool compute = group.roofline.bound == RoofBound::compute;
      device.roof_known_ns += ns;
      device.roof_ns += ns * *group.roofline.roof_share;
      (compute ? device.compute_bound_ns : device.memory_bound_ns) += ns;
      (compute ? device.compute_roof_ns : device.memory_roof_ns) += ns * *group.roofline.roof_share;
    }
    for (const auto& [type, flops] : by_type) {
      if (device.main_type == TensorType::unknown || flops > by_type[device.main_type]) device.main_type = type;
    }
    set_step(device);
    set_mfu(device);
  }

  void set_step(DeviceEfficiency& device) const {
    for (const DeviceBreakdown& breakdown : results_.time_breakdown->devices) {
      if (breakdown.device != device.device || breakdown.count == 0) continue;
      const std::int64_t window =
          breakdown.undisturbed.window_ns > 0 ? breakdown.undisturbed.window_ns : breakdown.measured.window_ns;
      device.step_ns = static_cast<double>(window) / breakdown.count;
    }
  }

  void set_mfu(DeviceEfficiency& device) const {
    if (device.peaks != nullptr) {
      // fp32 work is measured against what the device offers it: TF32 where there is such a unit.
      device.mfu_peak_tflops = device.peaks->matrix(device.main_type, device.main_type != TensorType::f64);
    }
    if (!result_.shapes_recorded) {
      device.why_no_mfu = "needs recorded shapes: record with record_shapes=True";
    } else if (device.matrix_ns <= 0) {
      device.why_no_mfu = "no matrix product ran in a complete step";
    } else if (device.matrix_known_ns < kCoverage * device.matrix_ns) {
      device.why_no_mfu =
          "the matrix kernels' shapes are not all recorded: graph replays and custom kernels carry none";
    } else if (device.mfu_peak_tflops <= 0) {
      device.why_no_mfu = device.peaks == nullptr ? device.why_no_peaks : "the device states no peak for that type";
    } else if (device.step_ns <= 0) {
      device.why_no_mfu = "no complete step";
    } else {
      device.mfu = device.matrix_flops / device.step_ns / 1e3 / device.mfu_peak_tflops;
    }
  }

  struct KernelSum {
    std::set<TensorType> types;
    double ns = 0, ns_filled = 0, occupancy = 0, waves = 0, multiprocessor_share = 0;
    double flops = 0, flops_ns = 0, roof_ns = 0, placed_ns = 0;
    std::array<double, 5> by_limit{};
    std::array<double, 4> by_bound{};
  };

  template <std::size_t N>
  static std::size_t largest(const std::array<double, N>& values) {
    return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
  }

  void finish_kernels() {
    for (const auto& [name, sum] : kernels_) {
      KernelEfficiency& kernel = result_.kernels[name];
      kernel.ns = sum.ns;
      kernel.ns_filled = sum.ns_filled;
      const TensorType stated = type_in_kernel_name(store_.text(StringId(name)));
      if (stated != TensorType::unknown) {
        kernel.types = short_type_name(stated);
      } else {
        for (const TensorType type : sum.types) {
          if (type == TensorType::unknown) continue;
          if (!kernel.types.empty()) kernel.types += ", ";
          kernel.types += short_type_name(type);
        }
      }
      if (sum.ns_filled > 0) {
        kernel.occupancy = sum.occupancy / sum.ns_filled;
        kernel.waves = sum.waves / sum.ns_filled;
        kernel.multiprocessor_share = sum.multiprocessor_share / sum.ns_filled;
        kernel.limit = static_cast<OccupancyLimit>(largest(sum.by_limit));
      }
      if (sum.flops_ns > 0) kernel.roofline.tflops = sum.flops / sum.flops_ns / 1e3;
      if (sum.placed_ns <= 0) continue;
      kernel.roofline.roof_share = sum.roof_ns / sum.placed_ns;
      kernel.roofline.bound = static_cast<RoofBound>(largest(sum.by_bound));
    }
  }

  const TraceStore& store_;
  const AnalysisResults& results_;
  WorkCache cache_;
  std::vector<std::uint8_t> tensor_name_;  // by StringId: 0, 1, 2 = not asked yet
  std::vector<std::uint8_t> layout_name_;
  std::unordered_map<GroupKey, std::size_t, GroupKeyHash> groups_;
  std::map<std::uint32_t, KernelSum> kernels_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::optional<LaunchFill>> fills_;
  Efficiency result_;
};

Result<void> run(const TraceStore& store, AnalysisResults& results, const AnalysisOptions&) {
  auto efficiency = std::make_shared<Efficiency>(Builder(store, results).build());
  efficiency->input = find_step_input(store, results);
  results.efficiency = std::move(efficiency);
  return {};
}

}  // namespace

const DeviceEfficiency* Efficiency::of_device(std::int64_t device) const {
  for (const DeviceEfficiency& candidate : devices) {
    if (candidate.device == device) return &candidate;
  }
  return nullptr;
}

AnalysisDescriptor describe_efficiency() {
  return {
      "efficiency",
      "Efficiency",
      "效率",
      {"event_index", "step_segmentation", "time_breakdown", "distortion", "kernel_table"},
      "Operations and least bytes of every op call from its recorded shapes and types, the kernels' time for it, and "
      "the place of that under the roofline of the device (published dense peaks). How the launches fill the device. "
      "MFU: operations of matrix products, convolutions and attention per undisturbed step over the peak of their "
      "type; recomputed work counts, causal attention counts half. "
      "Samples and tokens per complete step, of this rank: the input is the first tensor copied to the device in a "
      "step, or what its first convolution or embedding reads where nothing is copied; further copies of that shape "
      "count when backward work lies between them (accumulated gradients). Samples: the batch dimension, when a "
      "convolution reads the input, labels of that length come with it, or attention shows which dimension is the "
      "batch. Tokens: its elements, when an embedding reads it and attention runs over it. All else is not known.",
      run};
}

}  // namespace accel

// Why a heavy kernel is not faster, by hardware counters that were measured beside the capture. Made by
// add_counter_reasons(): a capture alone has no such counters.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/kernel_table.h"
#include "analysis/step_segmentation.h"
#include "diagnosis/counter_reasons.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/kernel_counters/translation.h"
#include "diagnosis/step_view.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kHeavy{"heavy kernel", 0.02, "share of the kernels' time in the steps",
                           "below it even a kernel twice as fast changes the step by less than its noise"};
constexpr Threshold kMost{"most findings", 5, "kernels", "the rest is in accel-profiler kernels counters"};

std::string extent(std::int32_t x, std::int32_t y, std::int32_t z) {
  return x == kNotRecorded32 ? std::string() : fmt::format("{}x{}x{}", x, y, z);
}

// One kernel with one launch configuration, in complete steps.
struct Heavy {
  std::string name;
  std::string grid;
  std::string block;
  double ns = 0;
  double count = 0;
  DeviceEventId longest;
  std::int64_t longest_ns = 0;
};

std::vector<Heavy> heavy_kernels(const TraceStore& store, const AnalysisResults& results, const StepView& view) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Heavy> sums;
  double all_ns = 0;
  const auto& events = store.device_events;
  std::vector<std::uint8_t> communicates(store.strings.size());
  for (const KernelRow& row : results.kernel_table->kernels) communicates[row.name.value] = row.communication ? 1 : 0;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (events.kind[i] != DeviceEventKind::kernel || communicates[events.name[i].value] != 0) continue;
    const auto after = std::partition_point(view.windows.begin(), view.windows.end(), [&](const Interval& window) {
      return window.start_ns <= events.start_ns[i];
    });
    const bool inside = after != view.windows.begin() && events.start_ns[i] < (after - 1)->end_ns;
    if (!inside) continue;
    const LaunchConfigId config =
        events.detail[i].valid() ? store.kernel_details.config[events.detail[i].value] : LaunchConfigId();
    Heavy& sum = sums[{events.name[i].value, config.value}];
    sum.ns += static_cast<double>(events.dur_ns[i]);
    sum.count += 1;
    all_ns += static_cast<double>(events.dur_ns[i]);
    if (!sum.longest.valid() || events.dur_ns[i] > sum.longest_ns) {
      sum.longest = DeviceEventId(i);
      sum.longest_ns = events.dur_ns[i];
    }
  }
  std::vector<Heavy> heavy;
  for (auto& [key, sum] : sums) {
    if (sum.ns < kHeavy.value * all_ns) continue;
    sum.name = store.text(StringId(key.first));
    const LaunchConfigId config(key.second);
    if (config.valid()) {
      const auto& configs = store.launch_configs;
      sum.grid = extent(configs.grid_x[config.value], configs.grid_y[config.value], configs.grid_z[config.value]);
      sum.block = extent(configs.block_x[config.value], configs.block_y[config.value], configs.block_z[config.value]);
    }
    heavy.push_back(std::move(sum));
  }
  std::stable_sort(heavy.begin(), heavy.end(), [](const Heavy& a, const Heavy& b) { return a.ns > b.ns; });
  return heavy;
}

Finding finding_of(const Heavy& kernel, const KernelCounters& counters, const StepView& view) {
  const double steps = std::max<double>(1, static_cast<double>(view.windows.size()));
  const std::vector<CounterReading> readings = read_counters(counters.values());
  const auto why = reasons(readings, kernel.name);
  Finding finding = new_finding(view, "kernel_limits", 0);
  const std::string name = short_name(short_kernel_name(kernel.name));
  finding.title = why.empty() ? fmt::format("No counter says why {} would be slow", name)
                              : fmt::format("Why {} is not faster: {}", name, why.front()->row->because);
  add_evidence(finding, fmt::format("device time of this kernel per {}", view.unit), kernel.ns / steps / 1e6, "ms",
               kernel.longest);
  add_evidence(finding, fmt::format("launches of this kernel per {}", view.unit), kernel.count / steps, "count");
  for (const CounterReading* reason : why) {
    add_evidence(finding, std::string(reason->row->because), reason->value, reason->row->unit);
    add_evidence(finding, "from this value on it is said", reason->row->limit, reason->row->unit);
  }
  for (const CounterReading& reading : readings) {
    const bool said = std::any_of(why.begin(), why.end(), [&](const auto* one) { return one->row == reading.row; });
    if (!said) add_evidence(finding, std::string(reading.row->phrase), reading.value, reading.row->unit);
  }
  Location where;
  where.kind = "kernel";
  where.name = kernel.name;
  finding.where.push_back(std::move(where));
  finding.action.title = "Change what the counters name, in this kernel or in what chooses it";
  finding.action.detail =
      why.empty() ? "The counters that were measured show no limit; measure the reasons for waiting and the memory "
                    "tables too."
                  : fmt::format("Try: {}.", why.front()->row->suggests);
  finding.action.command =
      "accel-profiler kernels record trace.json.gz --counters ncu.csv\n"
      "accel-profiler kernels show\n";
  finding.action.side_effects = "none: counters only explain";
  finding.action.not_when = "the counters were taken on other shapes or on another device than the capture";
  return finding;
}

}  // namespace

CounterMatch add_counter_reasons(Diagnosis& diagnosis, const TraceStore& store, const AnalysisResults& results,
                                 const std::vector<KernelCounters>& counters) {
  CounterMatch match;
  const StepView view = make_step_view(store, results);
  if (!view.usable || !results.kernel_table) return match;
  const CounterIndex index(counters);
  std::size_t made = 0;
  for (const Heavy& kernel : heavy_kernels(store, results, view)) {
    ++match.kernels;
    const KernelCounters* found = index.find(kernel.name, kernel.grid, kernel.block);
    if (found == nullptr) continue;
    ++match.matched;
    if (static_cast<double>(made) >= kMost.value) continue;
    Finding finding = finding_of(kernel, *found, view);
    if (++made > 1) finding.id += fmt::format("#{}", made);
    diagnosis.findings.push_back(std::move(finding));
  }
  return match;
}

RuleDescriptor kernel_limits_rule() {
  RuleDescriptor rule;
  rule.id = "kernel_limits";
  rule.title = "Why a heavy kernel is not faster";
  rule.title_zh = "耗时核函数为何不能更快";
  rule.meaning =
      "Hardware counters that Nsight Compute measured on the same job say which unit of the device holds a heavy "
      "kernel "
      "up: a full memory or matrix unit, scattered accesses, bank conflicts, spilled registers, split warps, or what "
      "its "
      "warps wait for.";
  rule.meaning_zh =
      "Nsight Compute 在同一作业上测得的硬件计数器说明设备的哪个单元拖住了耗时的核函数：内存或矩阵单元已满、访问分散、"
      "bank 冲突、寄存器溢出、线程束分化，或线程束在等待什么。";
  rule.how_we_know =
      "analyze --counters FILE reads the output of ncu --csv. A kernel is matched by its name and launch "
      "configuration; "
      "each metric is translated by a table (accel-profiler kernels counters shows it), and what crosses its limit is "
      "a "
      "reason. Ways of working that waste a unit come before units that are full, and these before what warps wait "
      "for.";
  rule.how_we_know_zh =
      "analyze --counters FILE 读取 ncu --csv 的输出。按名称与启动配置匹配核函数；每个指标由一张表翻译（accel-profiler "
      "kernels counters 可查看），超过其界限者即为原因。浪费单元的方式先于已满的单元，后者先于线程束的等待。";
  rule.what_to_do = "What the first reason suggests; kernels of libraries change by shape, type, layout and version.";
  rule.what_to_do_zh = "按第一条原因的建议处理；库中的核函数随形状、类型、布局与版本而变。";
  rule.when_wrong = "When the counters were taken on other shapes, another device, or a lower clock than the capture.";
  rule.when_wrong_zh = "当计数器取自其他形状、其他设备或比采集更低的时钟时，此结论不成立。";
  rule.thresholds = {kHeavy, kMost};
  rule.needs = {"step_segmentation", "time_breakdown", "kernel_table"};
  return rule;
}

}  // namespace accel

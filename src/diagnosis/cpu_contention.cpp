// The launching thread does not get its core, or the interpreter.
#include <fmt/format.h>

#include "analysis/host_activity.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/host_idle.h"
#include "diagnosis/host_work.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kWorthSaying{"finding", 0.05, "share of the undisturbed step",
                                 "the operating system takes every core away now and then"};
constexpr Threshold kPlaces{"fewest places", static_cast<double>(kStallPlaces), "distinct places",
                            "what always stops in the same place is work of that place"};

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  const HostActivity& activity = *input.results.host_activity;
  const HostStalls& stalls = activity.stalls;
  if (static_cast<double>(stalls.places) < kPlaces.value) return {};
  const IntervalSet named = activity.garbage_collection.time.united(activity.compilation.time)
                                .united(activity.checkpoint.time)
                                .united(activity.data_loading.time)
                                .united(activity.module_load.time);
  Claim claim;
  const double cost_ns =
      claim_host_idle(claim, view, earlier, input.facts.host_idle.inside_ns(stalls.time.minus(named)));
  if (view.share(cost_ns) < kWorthSaying.value) return {};

  Finding finding = new_finding(view, "cpu_contention", cost_ns);
  const double steps = std::max<double>(1, activity.steps);
  finding.title = stalls.interpreter
                      ? fmt::format("Another Python thread holds the interpreter for {} {} while the device waits ({})",
                                    ms_text(cost_ns), view.a_unit, percent_text(finding.share_of_step))
                      : fmt::format("The launching thread does not run for {} {} while the device waits ({})",
                                    ms_text(cost_ns), view.a_unit, percent_text(finding.share_of_step));
  add_evidence(finding, fmt::format("idle device time in such stalls per {}", view.unit), cost_ns / 1e6, "ms",
               stalls.example);
  add_evidence(finding, fmt::format("stalls of 1 ms or more per {}", view.unit),
               static_cast<double>(stalls.count) / steps, "count", stalls.example);
  add_evidence(finding, "distinct places in which they happen", static_cast<double>(stalls.places), "count");
  add_evidence(finding, "longest stall", static_cast<double>(stalls.longest_ns) / 1e6, "ms", stalls.example);
  if (stalls.interpreter) add_evidence(finding, "they last whole multiples of Python's switch interval", 5, "ms");
  if (stalls.example.valid()) finding.where.push_back(locate(input.store, stalls.example));
  finding.claim = claim;
  if (stalls.interpreter) {
    finding.action.title = "Move the busy Python thread into a process of its own";
    finding.action.detail =
        "Every time the training thread lets go of the interpreter's lock, which each op does, it gets it back only "
        "when "
        "the other thread hands it on, 5 ms later. A process has a lock of its own; a shorter switch interval helps at "
        "once and costs the other thread.";
    finding.action.command =
        "import sys\n"
        "import threading\n"
        "\n"
        "print([thread.name for thread in threading.enumerate()])  # which threads there are\n"
        "sys.setswitchinterval(0.0005)  # until the busy one is a multiprocessing.Process\n";
    finding.action.side_effects =
        "with a short switch interval the other thread becomes slower, and both lose some time to switching";
    finding.action.not_when = "the other thread does the work that the step waits for";
  } else {
    finding.action.title = "Give the training process cores of its own";
    finding.action.detail =
        "The thread that launches stood still in many different places, each time for milliseconds: its core was given "
        "to something else. Compare the cores that the process may use with what runs on them: loader workers, OpenMP "
        "threads of other ranks, a neighbour, a CPU limit of the container.";
    finding.action.command =
        "import os\n"
        "import torch\n"
        "\n"
        "print(len(os.sched_getaffinity(0)), \"cores;\", os.getloadavg(), \"load;\", torch.get_num_threads(), "
        "\"threads\")\n"
        "torch.set_num_threads(1)  # CPU ops of this process stop competing; loader workers have one each already\n"
        "# throttled by the container? cat /sys/fs/cgroup/cpu.stat: nr_throttled\n";
    finding.action.side_effects = "CPU ops of the main process take longer with one thread";
    finding.action.not_when = "the machine was busy with something else only while the capture was taken";
  }
  set_gain(finding, view, cost_ns, 0.5 * cost_ns);
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor cpu_contention_rule() {
  RuleDescriptor rule;
  rule.id = "cpu_contention";
  rule.title = "The launching thread does not get to run";
  rule.title_zh = "下发线程得不到运行（CPU 或解释器争用）";
  rule.meaning =
      "Something else uses the core of the thread that launches, or holds Python's global lock. The thread stands "
      "still "
      "for milliseconds in the middle of code that takes microseconds.";
  rule.meaning_zh = "其他任务占用了下发线程的核，或持有 Python 全局锁。线程在本来只需几微秒的代码中停顿数毫秒。";
  rule.how_we_know =
      "Gaps of a millisecond or more on the main thread, in at least four different places, each twenty times as long "
      "as "
      "the same place usually takes, and not in the same place of most steps. Gaps of whole multiples of 5 ms are the "
      "interpreter's lock changing hands.";
  rule.how_we_know_zh =
      "主线程上至少四处不同位置出现 1 "
      "毫秒以上、且达到该处通常时长二十倍的间隙，并排除在多数步的同一处都出现的间隙。间隙为 5 "
      "毫秒整数倍则说明解释器锁在易手。";
  rule.what_to_do =
      "Give the process enough cores, bind ranks to their own, limit threads; move busy Python threads into processes.";
  rule.what_to_do_zh = "给进程足够的核，各进程绑定各自的核，限制线程数；把繁忙的 Python 线程移到独立进程。";
  rule.when_wrong =
      "When the machine was disturbed during the capture alone. Collections that Python starts by itself look alike "
      "when "
      "they come in many places.";
  rule.when_wrong_zh =
      "当机器只在采集期间受到干扰时，此结论不成立。Python 自动触发的垃圾回收若出现在许多位置，看起来相同。";
  rule.thresholds = {kWorthSaying, kPlaces};
  rule.needs = {"host_activity", "step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel

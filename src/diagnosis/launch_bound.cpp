// The host cannot launch as fast as the device works. Generic: takes what the specific rules leave.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/idle_attribution.h"
#include "analysis/kernel_table.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/ledger.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"
#include "trace/processor.h"

namespace accel {
namespace {

constexpr Threshold kLaunchIdle{
    "warning", 0.20, "share of the undisturbed step",
    "what the recording cost is known to a fifth of the step at best: below it a device-bound job that only looks idle "
    "because it was recorded cannot be told apart"};
constexpr Threshold kWorthSaying{"finding", 0.05, "share of the undisturbed step",
                                 "short gaps between kernels are normal, and less than the estimate can tell"};
constexpr Threshold kIdlePerLaunch{"most idle per launch", 200'000, "ns",
                                   "an eager framework launches every 5 to 50 us, slow Python every 100; where a "
                                   "launch stands for more idle than this, "
                                   "the host does something else"};

constexpr Threshold kFewestLaunches{
    "fewest launches", 20, "per step",
    "so few cannot keep a host busy: it waits for something else, or the window is too short to tell"};

constexpr std::array kCauses{IdleCause::host_compute, IdleCause::launch_latency};

double launches_per_step(const StepSegmentation& segmentation) {
  double launches = 0, steps = 0;
  for (const Step& step : segmentation.steps) {
    if (!step.complete) continue;
    launches += step.kernel_launches;
    steps += 1;
  }
  return steps > 0 ? launches / steps : 0;
}

// Idle of the undisturbed step in which the host was launching, or on its way to the next launch.
double launch_idle_ns(const DiagnosisInput& input, std::span<const Finding> earlier) {
  double idle = 0;
  for (const IdleCause cause : kCauses) idle += idle_left_ns(input.facts.view, earlier, cause);
  double host_work = input.facts.host_work.ns_per_step;
  for (const Finding& finding : earlier) {  // host work has no stalls in it
    if (finding.rule != "cpu_contention") host_work -= finding.claim.idle(IdleCause::host_compute);
  }
  return std::max(0.0, idle - std::max(0.0, host_work));
}

void claim(Finding& finding, const StepView& view, std::span<const Finding> earlier, double cost_ns) {
  double available = 0;
  for (const IdleCause cause : kCauses) available += idle_left_ns(view, earlier, cause);
  if (available <= 0) return;
  for (const IdleCause cause : kCauses)
    finding.claim.idle(cause) = cost_ns * idle_left_ns(view, earlier, cause) / available;
}

Action action_for(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  Action action;
  action.title = view.training ? "Capture the step into a CUDA graph, or compile the model so that it is"
                               : "Capture the model's call into a CUDA graph";
  action.detail = fmt::format(
      "A graph replays all launches of {} with one call, so the host no longer sets the pace. "
      "torch.compile(mode=\"reduce-overhead\") fuses kernels and "
      "replays graphs where it can.",
      view.a_unit);
  if (view.training) action.detail += " Capturing by hand covers the optimizer too.";
  const auto waits = std::find_if(earlier.begin(), earlier.end(),
                                  [](const Finding& finding) { return finding.rule == "implicit_sync"; });
  if (waits != earlier.end())
    action.detail += " A graph cannot hold a wait for the device: remove those first (implicit_sync).";
  action.command =
      view.training ? "model = torch.compile(model, mode=\"reduce-overhead\")\n"
                      "\n"
                      "# or by hand, with inputs of one shape that stay at one address:\n"
                      "side = torch.cuda.Stream()\n"
                      "side.wait_stream(torch.cuda.current_stream())\n"
                      "with torch.cuda.stream(side):\n"
                      "    for _ in range(3):  # warm up: allocations, autotuning, optimizer state (capturable=True)\n"
                      "        train_step(static_batch)\n"
                      "torch.cuda.current_stream().wait_stream(side)\n"
                      "graph = torch.cuda.CUDAGraph()\n"
                      "with torch.cuda.graph(graph):\n"
                      "    static_loss = train_step(static_batch)\n"
                      "\n"
                      "for batch in loader:\n"
                      "    static_batch.copy_(batch, non_blocking=True)\n"
                      "    graph.replay()\n"
                    : "model = torch.compile(model, mode=\"reduce-overhead\")\n"
                      "\n"
                      "# or by hand, with inputs of one shape that stay at one address:\n"
                      "with torch.inference_mode():\n"
                      "    for _ in range(3):\n"
                      "        model(static_input)\n"
                      "    torch.cuda.synchronize()\n"
                      "    graph = torch.cuda.CUDAGraph()\n"
                      "    with torch.cuda.graph(graph):\n"
                      "        static_output = model(static_input)\n"
                      "static_input.copy_(request, non_blocking=True)\n"
                      "graph.replay()\n";
  action.side_effects =
      "shapes and addresses are fixed; the graph keeps its memory; code on the host inside the captured region runs "
      "once, at capture";
  action.not_when =
      view.training
          ? "shapes or control flow change from step to step; then larger batches, fused optimizers and fewer, larger "
            "ops are the way"
          : "shapes or control flow change from call to call; then pad to a few fixed shapes, or use fewer, larger ops";
  return action;
}

void add_places(Finding& finding, const DiagnosisInput& input) {
  for (const IdleOfDevice& idle : input.results.idle_attribution->devices) {
    if (idle.device != input.facts.view.device) continue;
    for (const IdleCulprit& culprit : idle.culprits) {
      const bool ours = std::find(kCauses.begin(), kCauses.end(), culprit.cause) != kCauses.end();
      if (!ours || !culprit.example.valid() || culprit.kind == SliceKind::annotation) continue;
      const SliceId op = input.store.enclosing_op(culprit.example);
      Location place = locate(input.store, op.valid() ? op : culprit.example);
      place.device = input.facts.view.device;
      const bool known = std::any_of(finding.where.begin(), finding.where.end(),
                                     [&](const Location& other) { return other.name == place.name; });
      if (!known) finding.where.push_back(std::move(place));
      if (finding.where.size() == 3) return;
    }
  }
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding> earlier) {
  const StepView& view = input.facts.view;
  if (runs_on_processor(input.store)) return {};  // small_ops
  const KernelTable& kernels = *input.results.kernel_table;
  const double cost_ns = launch_idle_ns(input, earlier);
  const double launches = launches_per_step(*input.results.step_segmentation);
  if (view.share(cost_ns) < kWorthSaying.value || launches < kFewestLaunches.value) return {};
  if (cost_ns / launches > kIdlePerLaunch.value) return {};

  Finding finding = new_finding(view, "launch_bound", cost_ns);
  if (finding.share_of_step < kLaunchIdle.value) finding.severity = FindingSeverity::info;
  finding.title = fmt::format("The device waits {} {} for the host to launch its {} kernels ({})", ms_text(cost_ns),
                              view.a_unit, count_text(kernels.kernels_per_step), percent_text(finding.share_of_step));
  add_evidence(
      finding,
      fmt::format("idle device time while the host launches, per {}, as it would be without the recording", view.unit),
      cost_ns / 1e6, "ms");
  add_evidence(finding, fmt::format("idle device time of all causes in the recorded {}", view.unit),
               view.measured.idle_ns / 1e6, "ms");
  add_evidence(finding, fmt::format("device busy per {}", view.unit),
               (view.undisturbed.window_ns - view.undisturbed.idle_ns) / 1e6, "ms");
  add_evidence(finding, fmt::format("launch calls per {}", view.unit), launches, "count");
  add_evidence(finding, "idle device time per launch", cost_ns / launches / 1e3, "us");
  add_evidence(finding, fmt::format("kernels per {}", view.unit), kernels.kernels_per_step, "count");
  add_evidence(finding, "mean kernel duration", kernels.mean_kernel_ns / 1e3, "us");
  add_evidence(finding, "kernels shorter than 5 us", 100 * kernels.share_below_5us, "%");
  add_evidence(finding, fmt::format("undisturbed {}, estimated", view.unit), view.step_ns / 1e6, "ms");
  add_evidence(finding, fmt::format("{} as recorded", view.unit), view.measured.window_ns / 1e6, "ms");
  add_places(finding, input);
  claim(finding, view, earlier, cost_ns);
  finding.action = action_for(input, earlier);
  finding.remedies = {remedy(TransformationKind::graph)};
  // Replayed launches leave no gaps at best. Compiling alone, or a graph of a part, takes away about half.
  set_gain(finding, view, cost_ns, cost_ns / 2);
  // How much the recording cost does not matter for the upper end: replayed launches take that idle away as well.
  finding.gain.step_high_ms = (view.step_ns - cost_ns / 2) / 1e6;
  // If the undisturbed step is at the low end of its band, this much of the idle was the recording's.
  if (view.share(cost_ns) >= kLaunchIdle.value && view.idle_share_at(view.step_low_ns) < kLaunchIdle.value / 2) {
    finding.confidence *= 0.7;
    add_evidence(finding, "less sure: idle share if the recording cost as much as it may have",
                 100 * view.idle_share_at(view.step_low_ns), "%");
  }
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor launch_bound_rule() {
  RuleDescriptor rule;
  rule.id = "launch_bound";
  rule.title = "The host launches too slowly";
  rule.title_zh = "主机下发速度不足（launch bound）";
  rule.meaning =
      "The device finishes each kernel before the host has launched the next. Many small kernels, each with its "
      "Python, dispatch and launch "
      "cost, keep the device waiting.";
  rule.meaning_zh =
      "设备总在主机下发下一个核函数之前就已完成当前的。大量小核函数各自带有 Python、分发与下发的开销，设备因此等待。";
  rule.how_we_know =
      "Idle device time while the launching threads are in ops, launch calls or the Python between them, in the "
      "undisturbed step: the time "
      "that the recording itself added is taken out first. What other rules explain, and host work that is plainly not "
      "launching (a CPU "
      "op, one long stretch of Python), is left out.";
  rule.how_we_know_zh =
      "统计下发线程处于算子、下发调用或其间的 Python "
      "代码时设备的空闲时间，且先扣除采集本身带来的开销。其他规则已解释的部分，以及明显不是下发的主机工作（CPU "
      "算子、一段很长的 Python）都不计入。";
  rule.what_to_do =
      "Replay launches from a CUDA graph (by hand or by torch.compile with reduce-overhead), fuse small ops, use fused "
      "optimizers, or give "
      "the device more work per launch.";
  rule.what_to_do_zh =
      "用 CUDA graph 重放下发（手工捕获或 torch.compile 的 reduce-overhead "
      "模式），融合小算子，使用融合优化器，或让每次下发承担更多计算。";
  rule.when_wrong =
      "When the host is slow for another reason: too few cores, other threads that hold the interpreter, a debugger or "
      "a second profiler. "
      "And when the cost of the recording was judged too low: then the idle share in truth is smaller.";
  rule.when_wrong_zh =
      "当主机变慢另有原因（核数不足、其他线程占用解释器、调试器或另一个分析器），或低估了采集开销时，真实的空闲比例会更"
      "小。";
  rule.thresholds = {kWorthSaying, kLaunchIdle, kIdlePerLaunch, kFewestLaunches};
  rule.needs = {"step_segmentation", "idle_attribution", "time_breakdown", "kernel_table"};
  rule.generic = true;
  rule.run = run;
  return rule;
}

}  // namespace accel

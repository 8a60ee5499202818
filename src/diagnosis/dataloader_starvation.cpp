// The device waits for the data loader.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "analysis/event_index.h"
#include "analysis/idle_attribution.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/loader_action.h"
#include "diagnosis/loader_stacks.h"
#include "diagnosis/loader_work.h"
#include "diagnosis/rule.h"
#include "diagnosis/source_location.h"
#include "diagnosis/wording.h"

namespace accel {
namespace {

constexpr Threshold kMostWorkersSuggested{
    "most workers suggested", kMostWorkers, "processes",
    "more workers than that rarely find cores of their own; past it the work itself must shrink"};
constexpr double kPartShown = 0.05;      // of the loader's time: smaller parts are not shown
constexpr double kFunctionShown = 0.10;  // of the samples
constexpr std::size_t kFunctionsShown = 5;
constexpr Threshold kWaitingStep{"a step counts as waiting", 0.10, "share of the step idle in the loader",
                                 "shorter waits are the hand-over of a batch that was ready"};

struct Loader {
  LoaderKind kind = LoaderKind::none;
  SliceId longest;
  double host_ns = 0;  // per step, in __next__
  double calls = 0;    // per step
  std::vector<SliceId> fetches;
};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

LoaderKind kind_of(std::string_view name, NameClass name_class) {
  if (name_class == NameClass::data_range) return LoaderKind::other;
  if (name_class != NameClass::dataloader_next) return LoaderKind::none;
  if (contains(name, "_SingleProcess")) return LoaderKind::single_process;
  return contains(name, "_MultiProcessing") ? LoaderKind::multi_process : LoaderKind::other;
}

bool starts_in(const std::vector<Interval>& steps, std::int64_t time) {
  return std::any_of(steps.begin(), steps.end(),
                     [&](const Interval& step) { return step.start_ns <= time && time < step.end_ns; });
}

Loader find_loader(const DiagnosisInput& input) {
  const TraceStore& store = input.store;
  const StepView& view = input.facts.view;
  Loader loader;
  const double steps = std::max<double>(1, static_cast<double>(view.host_steps.size()));
  std::int64_t open_until = store.time_range.start_ns;  // ranges within ranges count once
  ThreadIndex thread;
  for (std::uint32_t row = 0; row < store.slices.size(); ++row) {
    if (store.is_call(SliceId(row))) continue;
    const StringId name = store.slices.name[row];
    const LoaderKind kind = kind_of(store.text(name), input.results.event_index->class_of(store, row));
    if (kind == LoaderKind::none || !starts_in(view.host_steps, store.slices.start_ns[row])) continue;
    if (!loader.longest.valid() || store.slices.dur_ns[row] > store.slices.dur_ns[loader.longest.value]) {
      loader.longest = SliceId(row);
    }
    // A frame around torch's own range does not tell which kind of loader it is; the range does.
    if (loader.kind == LoaderKind::none || kind != LoaderKind::other) loader.kind = kind;
    if (store.slices.thread[row] == thread && store.slices.start_ns[row] < open_until) continue;
    thread = store.slices.thread[row];
    open_until = store.slice_end_ns(SliceId(row));
    loader.host_ns += static_cast<double>(store.slices.dur_ns[row]) / steps;
    loader.calls += 1 / steps;
    loader.fetches.push_back(SliceId(row));
  }
  return loader;
}

const IdleOfDevice* idle_of(const DiagnosisInput& input) {
  for (const IdleOfDevice& idle : input.results.idle_attribution->devices) {
    if (idle.device == input.facts.view.device) return &idle;
  }
  return nullptr;
}

// Before what the recording made of it was taken out.
double recorded_idle_ns(const IdleOfDevice& idle, IdleCause cause) {
  const double windows = std::max<double>(1, static_cast<double>(idle.by_step.size()));
  return static_cast<double>(idle.total[static_cast<std::size_t>(cause)]) / windows;
}

std::string_view part_words(LoaderPart part) {
  switch (part) {
    case LoaderPart::decode:
      return "making samples (__getitem__)";
    case LoaderPart::collate:
      return "collating";
    case LoaderPart::storage:
      return "reading from storage";
    case LoaderPart::lock:
      return "waiting for locks";
    case LoaderPart::unpickle:
      return "unpacking what workers sent";
    case LoaderPart::pinning:
      return "pinning";
    case LoaderPart::sampler:
      return "drawing indices";
    case LoaderPart::worker_wait:
      return "waiting for workers";
    case LoaderPart::other:
      break;
  }
  return "other work of the loader";
}

// "data.py:12"
std::string short_place(const LoaderFunction& function) {
  const std::size_t slash = function.file.rfind('/');
  return function.file.substr(slash == std::string::npos ? 0 : slash + 1) + ':' + std::to_string(function.line);
}

Location place_of(const TraceStore& store, const LoaderFunction& function) {
  Location place;
  place.kind = "frame";
  place.name = fmt::format("{}({}): {}", function.file, function.line, function.name);
  place.file = function.file;
  place.line = function.line;
  place.rank = store.process.rank;
  place.host = store.process.host;
  return place;
}

// The functions in which sampled stacks were seen, with their shares of the wait.
void add_stacks(Finding& finding, const TraceStore& store, const LoaderStacks& stacks, LoaderFacts& facts) {
  const double all = stacks.samples;
  std::size_t shown = 0;
  for (const LoaderFunction& function : stacks.functions) {
    if (function.samples < kFunctionShown * all || ++shown > kFunctionsShown) break;
    add_evidence(finding,
                 fmt::format("share of the wait in {} ({}), {} of {} samples", function.name, short_place(function),
                             function.samples, stacks.samples),
                 100 * function.samples / all, "%");
    finding.where.push_back(place_of(store, function));
  }
  if (stacks.in_workers) add_evidence(finding, "worker processes seen making batches", stacks.workers, "count");
  const LoaderFunction* main = stacks.main();
  if (main == nullptr) return;
  facts.part = LoaderPart::decode;
  facts.place = place_of(store, *main);
  facts.waiting = static_cast<double>(main->waiting) / main->samples;
  add_evidence(
      finding,
      fmt::format("share of the time in {} in which it waited, neither on a processor nor ready for one", main->name),
      100 * *facts.waiting, "%");
}

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  const double cost_ns = view.undisturbed.idle(IdleCause::data_loading);
  const double share = view.share(cost_ns);
  const IdleOfDevice* idle = idle_of(input);
  if (share < kFindingShare || idle == nullptr) return {};
  const Loader loader = find_loader(input);
  if (loader.kind == LoaderKind::none) return {};
  const double load_ns = std::max(loader.host_ns, cost_ns);
  const double rest_ns = std::max(0.0, view.step_ns - cost_ns);

  Finding finding = new_finding(view, "dataloader_starvation", cost_ns);
  finding.title = fmt::format("The device waits {} {} for the data loader ({})", ms_text(cost_ns), view.a_unit,
                              percent_text(share));
  add_evidence(
      finding,
      fmt::format("idle device time inside the loader per {}, as it would be without the recording", view.unit),
      cost_ns / 1e6, "ms", loader.longest);
  add_evidence(finding, fmt::format("the same as recorded, per {}", view.unit),
               recorded_idle_ns(*idle, IdleCause::data_loading) / 1e6, "ms");
  if (loader.host_ns > 0) {
    add_evidence(finding, fmt::format("host time in the loader per {}", view.unit), loader.host_ns / 1e6, "ms",
                 loader.longest);
  }
  const auto waiting = std::count_if(idle->by_step.begin(), idle->by_step.end(), [&](const IdleByCause& causes) {
    return static_cast<double>(causes[static_cast<std::size_t>(IdleCause::data_loading)]) >
           kWaitingStep.value * view.measured.window_ns;
  });
  add_evidence(finding, fmt::format("{}s that wait for data, of {} in the capture", view.unit, idle->by_step.size()),
               static_cast<double>(waiting), "count");
  finding.where.push_back(locate(input.store, loader.longest));
  const LoaderWork work = look_into_fetches(input.store, view, loader.fetches);
  LoaderFacts facts;
  facts.kind = loader.kind;
  facts.part = work.main();
  facts.load_ns = load_ns;
  facts.rest_ns = rest_ns;
  if (work.example(facts.part).valid()) facts.place = locate(input.store, work.example(facts.part));
  for (std::size_t p = 0; p < kLoaderParts; ++p) {
    if (work.ns[p] < kPartShown * work.total_ns) continue;
    const auto part = static_cast<LoaderPart>(p);
    if (part == LoaderPart::other && !work.frames) continue;
    add_evidence(finding, fmt::format("of it {} per {}", part_words(part), view.unit), work.ns[p] / 1e6, "ms",
                 work.example(part));
    if (part != LoaderPart::other && work.example(part).valid())
      finding.where.push_back(locate(input.store, work.example(part)));
  }
  const bool multi = loader.kind == LoaderKind::multi_process;
  const LoaderStacks stacks = look_into_stacks(input.store, loader.fetches, multi);
  if (multi) {
    facts.workers = workers_in_turn(input.store, loader.fetches);
    if (facts.part == LoaderPart::other) facts.part = LoaderPart::worker_wait;
    add_evidence(finding,
                 stacks.samples > 0
                     ? fmt::format("batches fetched from workers per {}", view.unit)
                     : fmt::format("worker processes are not in this file; batches fetched per {}", view.unit),
                 loader.calls, "count");
    if (facts.workers > 0) add_evidence(finding, "workers that take turns, as the waits tell", facts.workers, "count");
  }
  if (stacks.samples >= kFewestStacks.value) add_stacks(finding, input.store, stacks, facts);
  const std::string doing = loader_part_words(facts);
  if (const LoaderFunction* main = stacks.main(); main != nullptr) {
    finding.title = fmt::format("The device waits {} {} for the data loader, {} of it in {} ({})", ms_text(cost_ns),
                                view.a_unit, percent_text(static_cast<double>(main->samples) / stacks.samples),
                                main->name + " at " + short_place(*main), percent_text(share));
  } else if (!doing.empty()) {
    finding.title = fmt::format("The device waits {} {} for the data loader, {} ({})", ms_text(cost_ns), view.a_unit,
                                doing, percent_text(share));
  }

  const int workers = workers_needed(facts);
  finding.action = loader_action(view, facts);
  finding.remedies = {remedy(TransformationKind::data_ready)};
  finding.claim.idle(IdleCause::data_loading) = cost_ns;
  // Hidden completely at best; at worst the workers share the loading among them and still set the pace.
  const double shared = loader.kind == LoaderKind::single_process ? load_ns / workers : load_ns / 2;
  set_gain(finding, view, cost_ns, std::min(cost_ns, std::max(0.0, view.step_ns - std::max(rest_ns, shared))));
  add_doubts(finding, view);
  return {finding};
}

}  // namespace

RuleDescriptor dataloader_starvation_rule() {
  RuleDescriptor rule;
  rule.id = "dataloader_starvation";
  rule.title = "The device waits for data";
  rule.title_zh = "设备在等待数据";
  rule.meaning =
      "The device has nothing to run while the training loop waits for its next batch. Data are read, decoded and "
      "collated too slowly, or in "
      "the main process between two steps.";
  rule.meaning_zh =
      "训练循环等待下一个批次时，设备无事可做：数据的读取、解码和拼批太慢，或者在两步之间由主进程自己完成。";
  rule.how_we_know =
      "Idle device time while the main thread is inside DataLoader.__next__ (or a range that loads data). The name of "
      "the iterator tells "
      "a loader in the main process from one with workers. Where the recorder sampled Python stacks, the functions in "
      "which they stood during the wait, of workers too, with their share; else workers are not in the capture.";
  rule.how_we_know_zh =
      "统计主线程处于 "
      "DataLoader.__next__"
      "（或加载数据的区间）内时设备的空闲时间。迭代器的名字可区分单进程加载与多进程加载。若记录器对 Python "
      "调用栈采样，则给出等待期间（含工作进程）所在的函数及其占比；否则工作进程不在采集文件中。";
  rule.what_to_do =
      "Use worker processes, keep them alive over epochs, prefetch, and pin the batches; if workers exist, find what "
      "they wait for.";
  rule.what_to_do_zh = "使用工作进程并跨 epoch 保留，预取，并使用锁页内存；若已有工作进程，先查清它们在等什么。";
  rule.when_wrong =
      "When the loader itself waits for the device (it returns device tensors, or a hook synchronises inside it), or "
      "the capture holds the "
      "first batches of an epoch only, in which workers start.";
  rule.when_wrong_zh =
      "当加载器本身在等待设备（返回设备张量或在其中同步），或采集只包含一个 epoch "
      "的最初几个批次（工作进程正在启动）时，此结论不成立。";
  rule.thresholds = {
      {"finding", kFindingShare, "share of the undisturbed step", "less is the hand-over of a ready batch"},
      {"warning", kWarningShare, "share of the undisturbed step", "below it the repair costs more than it brings"},
      kWaitingStep,
      kMostWorkersSuggested,
      kFewestStacks};
  rule.needs = {"event_index", "step_segmentation", "idle_attribution", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel

// Records are missing, so that parts of the job cannot be judged.
#include <fmt/format.h>

#include <array>

#include "analysis/step_segmentation.h"
#include "diagnosis/facts.h"
#include "diagnosis/finding_parts.h"
#include "diagnosis/rule.h"

namespace accel {
namespace {

// What was lost, and not only left out on purpose.
constexpr std::array kLosses{
    NoteCode::truncated,           NoteCode::compressed_stream_cut, NoteCode::malformed_event,
    NoteCode::interleaved_writers, NoteCode::launch_without_device, NoteCode::lost_head,
    NoteCode::dropped_buffers,     NoteCode::device_no_timing,      NoteCode::unmatched_begin_end};

std::vector<Finding> run(const DiagnosisInput& input, std::span<const Finding>) {
  const StepView& view = input.facts.view;
  std::vector<const Note*> losses;
  for (const NoteCode code : kLosses) {
    for (const NoteList* notes : {&input.store.notes, &input.results.notes}) {
      if (const Note* note = notes->find(code)) losses.push_back(note);
    }
  }
  if (losses.empty()) return {};
  Finding finding = new_finding(view, "trace_incomplete", 0);
  const NoteDescriptor& first = describe(losses.front()->code);
  finding.title = fmt::format("The recording is not complete: {}", first.message);
  for (const Note* note : losses)
    add_evidence(finding, std::string(describe(note->code).message), static_cast<double>(note->count), "count");
  std::uint64_t cut = 0;
  for (const Step& step : input.results.step_segmentation->steps) {
    if (!step.complete && step.step_class != StepClass::warmup) ++cut;
  }
  add_evidence(
      finding,
      fmt::format("{}s kept out of averages for it, of {}", view.unit, input.results.step_segmentation->steps.size()),
      static_cast<double>(cut), "count");
  finding.action.title = "Record again, with fewer steps";
  finding.action.detail = fmt::format("{}. What is said here rests on the steps that are whole.", first.remedy);
  finding.action.command =
      "from torch.profiler import ProfilerActivity, profile, schedule\n"
      "\n"
      "prof = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],\n"
      "               schedule=schedule(wait=5, warmup=2, active=3, repeat=1))\n";
  finding.action.side_effects = "none";
  finding.action.not_when = "the missing part does not matter for the question";
  return {finding};
}

}  // namespace

RuleDescriptor trace_incomplete_rule() {
  RuleDescriptor rule;
  rule.id = "trace_incomplete";
  rule.title = "The recording is not complete";
  rule.title_zh = "采集不完整";
  rule.meaning =
      "Events are missing from the file: it was cut, the recorder dropped buffers, or device records were lost.";
  rule.meaning_zh = "文件缺少事件：文件被截断、采集器丢弃了缓冲区，或丢失了设备记录。";
  rule.how_we_know = "The notes on the input: every kind of loss is counted while the file is read and audited.";
  rule.how_we_know_zh = "来自输入说明：读取与审计文件时逐类统计丢失。";
  rule.what_to_do = "Record fewer steps, with warm-up, and let the profiler stop before the process ends.";
  rule.what_to_do_zh = "减少采集步数并预热，让采集在进程结束前正常停止。";
  rule.when_wrong = "When the file was cut on purpose.";
  rule.when_wrong_zh = "当文件是有意截取时，此结论不成立。";
  rule.thresholds = {{"finding", 1, "lost record", "any loss can hide what matters"}};
  rule.needs = {"step_segmentation", "time_breakdown"};
  rule.run = run;
  return rule;
}

}  // namespace accel

#include "report/words.h"

#include "analysis/call_tree/call_tree.h"
#include "analysis/memory_timeline.h"
#include "analysis/step_segmentation.h"
#include "analysis/what_if/critical_path.h"
#include "compare/comparison.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/rule.h"
#include "trace/notes.h"

namespace accel::report {
namespace {

template <typename Enum>
Words words_up_to(Enum last) {
  Words words;
  for (int i = 0; i <= static_cast<int>(last); ++i) words.push_back(to_string(static_cast<Enum>(i)));
  return words;
}

}  // namespace

const Words& job_kinds() {
  static const Words words = {"unknown", "training", "inference"};
  return words;
}

const Words& bound_by_words() {
  static const Words words = words_up_to(BoundBy::unknown);
  return words;
}

const Words& step_classes() {
  static const Words words = words_up_to(StepClass::warmup);
  return words;
}

const Words& step_sources() {
  static const Words words = words_up_to(StepSource::whole_window);
  return words;
}

const Words& paced_by_words() {
  static const Words words = words_up_to(PacedBy::device);
  return words;
}

const Words& gain_bases() {
  static const Words words = {"none", "model", "replay"};  // in the order of GainBasis
  return words;
}

const Words& finding_severities() {
  static const Words words = {"info", "warning", "critical"};  // in the order of FindingSeverity
  return words;
}

const Words& rule_ids() {
  static const Words words = [] {
    Words ids;
    for (const RuleDescriptor& rule : rules()) ids.push_back(rule.id);
    return ids;
  }();
  return words;
}

const Words& note_codes() {
  static const Words words = [] {
    Words ids;
    for (const NoteDescriptor& note : note_catalog()) ids.push_back(note.id);
    return ids;
  }();
  return words;
}

const Words& note_severities() {
  static const Words words = words_up_to(NoteSeverity::error);
  return words;
}

const Words& memory_categories() {
  static const Words words = words_up_to(accel::MemoryCategory::unknown);
  return words;
}

const Words& change_states() {
  static const Words words = words_up_to(compare::Status::vanished);
  return words;
}

const Words& change_verdicts() {
  static const Words words = words_up_to(compare::Verdict::slower);
  return words;
}

const Words& memory_bases() {
  static const Words words = words_up_to(MemoryBasis::rest);
  return words;
}

const Words& call_kinds() {
  static const Words words = words_up_to(CallKind::rest);
  return words;
}

const Words& path_kinds() {
  static const Words words = words_up_to(PathKind::unexplained);
  return words;
}

}  // namespace accel::report

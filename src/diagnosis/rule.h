// What a rule is: a descriptor (id, prose in English and Chinese, thresholds with unit and reason) and one pure
// function Evidence -> Finding -> Action. Rules are listed in catalog.def. All conclusions are about the undisturbed
// job.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/idle_cause.h"
#include "analysis/transformation.h"
#include "trace/trace_store.h"

namespace accel {

enum class FindingSeverity : std::uint8_t { info, warning, critical };
enum class GainBasis : std::uint8_t { none, model, replay };

struct Evidence {
  std::string text;  // what was measured, a phrase: "waits inside aten::item per step"
  double value = 0;
  std::string unit;               // ms, us, count, %, GB/s, bytes
  std::vector<std::string> refs;  // row ids: "slices:1234", "device_events:55"
};

struct Location {
  std::string kind;  // op, kernel, call, frame, annotation, thread, stream
  std::string name;
  std::string file;  // when recorded
  std::optional<std::int64_t> line;
  std::optional<std::int64_t> rank;
  std::string host;
  std::optional<std::int64_t> device;
};

struct Action {
  std::string title;  // imperative: "Capture the step into a CUDA graph"
  std::string detail;
  std::string command;  // code or command to paste
  std::string side_effects;
  std::string not_when;
};

struct Gain {
  std::optional<double> step_ms;  // expected undisturbed step after the action; null: not estimated
  std::optional<double> step_low_ms;
  std::optional<double> step_high_ms;
  std::optional<std::int64_t> memory_bytes;
  std::optional<double> max_possible_speedup;  // upper bound from the time at stake, named as such
  GainBasis basis = GainBasis::none;
};

// The parts of the undisturbed step that a finding explains, in ns per step: idle time by cause, and time in which the
// device worked. The engine keeps the sum over all findings within what exists.
struct Claim {
  std::array<double, kIdleCauseCount> idle_ns{};
  double compute_ns = 0;
  double copy_ns = 0;           // exposed copies and sets
  double communication_ns = 0;  // exposed

  double& idle(IdleCause cause) { return idle_ns[static_cast<std::size_t>(cause)]; }
  double idle(IdleCause cause) const { return idle_ns[static_cast<std::size_t>(cause)]; }
  double total_ns() const;
};

struct Finding {
  std::string id;  // rule id, with "#2" ... when a rule fires more than once
  std::string rule;
  std::string title;  // one line with the number: "The device waits 83.1 ms a step for the DataLoader"
  FindingSeverity severity = FindingSeverity::info;
  double confidence = 1;        // 0..1, lowered by doubtful data; the reason stands in the evidence
  double cost_ms_per_step = 0;  // of the undisturbed step
  double share_of_step = 0;
  std::vector<Evidence> evidence;
  std::vector<Location> where;
  Action action;
  Gain gain;
  // What the action means for the step, as changes to its dependency graph: analysis/transformation.h says how to fill
  // it. With remedies the engine replaces the rule's own gain by a replay of the undisturbed step, and the plan by
  // replays of what stands in it so far; empty: the rule's own gain stands.
  std::vector<Transformation> remedies;
  // What of the step this finding explains, so that findings that share time never promise more than exists; a generic
  // rule takes only what earlier findings left. claimed_ns is its sum, per step, after the engine has capped it.
  Claim claim;
  std::int64_t claimed_ns = 0;
  // Rules whose action needs this one's to be done first: in the plan this finding then stands before theirs, although
  // it saves less by itself.
  std::vector<std::string_view> prerequisite_of;
};

struct Threshold {
  std::string_view name;
  double value;
  std::string_view unit;
  std::string_view reason;
};

struct Facts;
namespace fusion {
struct Job;
}

struct DiagnosisInput {
  const TraceStore& store;
  const AnalysisResults& results;
  const Facts& facts;  // what several rules need, computed once: diagnosis/facts.h
};

// What the rules about many ranks conclude from: the fused job and a mean step of it.
struct JobInput {
  const fusion::Job& job;
  double step_ns = 0;  // undisturbed
  double step_low_ns = 0;
  double step_high_ns = 0;
  double trust = 1;  // goes into the confidence of every finding

  double share(double ns) const { return step_ns > 0 ? ns / step_ns : 0; }
};

// A rule fires on cost, not on presence. Shares of the undisturbed step.
inline constexpr double kFindingShare = 0.005;  // below: nothing to say
inline constexpr double kWarningShare = 0.02;   // below: info
inline constexpr double kCriticalShare = 0.25;  // from here: critical
FindingSeverity severity_of(double share_of_step);
std::string_view to_string(FindingSeverity severity);
std::string_view to_string(GainBasis basis);

struct RuleDescriptor {
  std::string_view id;
  std::string_view title;
  std::string_view title_zh;
  std::string_view meaning;  // what it means (docs page)
  std::string_view meaning_zh;
  std::string_view how_we_know;
  std::string_view how_we_know_zh;
  std::string_view what_to_do;
  std::string_view what_to_do_zh;
  std::string_view when_wrong;  // when it is wrong
  std::string_view when_wrong_zh;
  std::vector<Threshold> thresholds;
  std::vector<std::string_view> needs;  // analyses
  bool generic = false;                 // runs after the specific rules and takes only what they leave
  // `earlier` holds the findings of the rules that ran before (specific ones first).
  // Null for a rule about many ranks.
  std::vector<Finding> (*run)(const DiagnosisInput& input, std::span<const Finding> earlier) = nullptr;
  // Of the fused ranks of a job; null for a rule about one rank.
  std::vector<Finding> (*run_job)(const JobInput& input, std::span<const Finding> earlier) = nullptr;
};

const std::vector<RuleDescriptor>& rules();

}  // namespace accel

#include "report/build_document.h"

#include <algorithm>

#include "analysis/step_segmentation.h"
#include "base/version.h"
#include "report/build_parts.h"
#include "report/not_measured.h"
#include "trace/python_stacks.h"

namespace accel::report {
namespace {

constexpr std::size_t kMissingRanks = 1000;

Text text_or_null(const std::string& text) { return text.empty() ? Text{} : Text{valid_utf8(text)}; }

std::string_view severity_word(FindingSeverity severity) {
  return finding_severities()[static_cast<std::size_t>(severity)];
}

void build_inputs(Build& build) {
  const TraceStore& store = build.store;
  Document& document = build.document;
  document.tool = {"accel-profiler", std::string(kVersion)};
  document.schema_version = kSchemaVersion;
  document.time_origin_ns = std::to_string(store.time_range.start_ns);
  const Integer rank = store.process.rank;
  document.inputs.push_back(
      {valid_utf8(store.input.path), valid_utf8(store.input.format), rank, store.input.bytes, store.input.events});
}

Rank rank_entry(const TraceStore& store) {
  Rank rank;
  rank.rank = store.process.rank;
  rank.host = text_or_null(store.process.host);
  for (const TraceStore::DeviceRange& range : store.device_ranges) {
    Device device;
    device.index = range.device;
    for (const DeviceProperties& properties : store.process.devices) {
      if (properties.index == range.device) device.name = text_or_null(properties.name);
    }
    rank.devices.push_back(std::move(device));
  }
  return rank;
}

void build_job(Build& build) {
  const ProcessInfo& process = build.store.process;
  Job& job = build.document.job;
  job.kind = std::string_view("unknown");
  if (const auto& steps = build.results.step_segmentation) {
    if (!steps->training) job.kind = std::string_view("inference");
    if (steps->training && steps->source != StepSource::whole_window) job.kind = std::string_view("training");
  }
  job.world_size = process.world_size;
  if (process.rank) job.ranks_present.push_back(*process.rank);
  if (process.world_size && process.rank) {
    std::vector<std::int64_t> missing;
    const std::int64_t listed =
        build.options.full ? *process.world_size : std::min<std::int64_t>(*process.world_size, kMissingRanks + 1);
    for (std::int64_t rank = 0; rank < listed; ++rank) {
      if (rank != *process.rank) missing.push_back(rank);
    }
    job.ranks_missing = std::move(missing);
  }
  job.ranks.push_back(rank_entry(build.store));
  for (const auto& [key, value] : process.versions) job.versions[valid_utf8(key)] = valid_utf8(value);
  for (const auto& [key, value] : process.options) {
    if (key != "topology" && key != kPythonStacks)
      job.environment[valid_utf8(key)] = valid_utf8(value);  // a text of many lines
  }
  if (!process.backend.empty()) job.environment["backend"] = valid_utf8(process.backend);
  build.reasons["job.world_size"] = "the input does not state it";
  build.reasons["job.ranks"] = "the input does not state it";
  build.reasons["inputs[].rank"] = "the input does not state it; --rank sets it";
}

void build_verdict(Build& build) {
  const accel::Verdict& verdict = build.diagnosis.verdict;
  build.document.verdict = {to_string(verdict.bound_by), valid_utf8(verdict.sentence),
                            number_or(verdict.confidence, 0)};
  for (const HealthMeasure& measure : build.diagnosis.health) {
    build.document.health.push_back({valid_utf8(measure.measure), number(measure.value), number_or(measure.bound, 0),
                                     measure.at_least, measure.ok});
  }
}

Evidence evidence_entry(const accel::Evidence& evidence) {
  Evidence entry{valid_utf8(evidence.text), number(evidence.value), valid_utf8(evidence.unit), {}};
  for (const std::string& ref : evidence.refs) entry.refs.push_back(valid_utf8(ref));
  return entry;
}

// A step of no length and a speedup from nothing mean "not estimated".
Number speedup(const Number& before_ms, const Number& after_ms) {
  if (!before_ms || !after_ms || *after_ms <= 0) return std::nullopt;
  return number(std::round(*before_ms / *after_ms * 1e3) / 1e3);
}

Gain gain_entry(const accel::Gain& gain, const Number& undisturbed_ms) {
  Gain entry;
  entry.step_ms = number(gain.step_ms);
  entry.step_low_ms = number(gain.step_low_ms);
  entry.step_high_ms = number(gain.step_high_ms);
  entry.speedup_low = speedup(undisturbed_ms, entry.step_high_ms);
  entry.speedup = speedup(undisturbed_ms, entry.step_ms);
  entry.speedup_high = speedup(undisturbed_ms, entry.step_low_ms);
  entry.memory_bytes = gain.memory_bytes;
  entry.max_possible_speedup = number(gain.max_possible_speedup);
  if (entry.max_possible_speedup) entry.max_possible_speedup = std::round(*entry.max_possible_speedup * 1e3) / 1e3;
  entry.basis = gain_bases()[static_cast<std::size_t>(gain.basis)];
  return entry;
}

void build_findings(Build& build) {
  add_findings(build.document, build.diagnosis);
  build.reasons["findings[].where[].file"] = "the input does not say where in the source; record with with_stack=True";
  build.reasons["findings[].where[].line"] = build.reasons["findings[].where[].file"];
  build.reasons["findings[].where"] = "the input does not state it";
  build.reasons["findings[].gain"] = "no estimate is possible from this capture";
  build.reasons["findings[].gain.memory_bytes"] = "the action is not about memory";
  build.reasons["plan"] = "no estimate is possible from this capture";
}

void build_notes(Build& build) {
  NoteList notes;
  notes.add_all(build.store.notes);
  notes.add_all(build.results.notes);
  if (build.cut_rows > 0) notes.add(NoteCode::output_capped, build.cut_rows, build.cut_lists);
  // Errors first, then losses: what matters must not hide below what is good to know. Within that, by the catalogue.
  for (const NoteSeverity severity : {NoteSeverity::error, NoteSeverity::data_loss, NoteSeverity::info}) {
    for (const accel::Note& note : notes.notes()) {
      if (describe(note.code).severity == severity) add_note(build.document, note);
    }
  }
}

// Lists that are empty because nobody has looked, not because nothing was found.
void name_empty_lists(Document& document) {
  const auto name = [&](bool empty, const char* path, const char* reason) {
    if (empty) document.not_measured.push_back({path, reason});
  };
  // Empty with enough steps means that there are none.
  name(document.step_time.count < 4, "step_time.outliers", "fewer than 4 complete steps");
  name(document.step_time.count < 10, "step_time.change_points", "fewer than 10 complete steps");
  name(document.memory.devices.empty(), "memory.devices",
       "the recording holds no events of the allocator; record with profile_memory=True");
  name(document.modules.empty(), "modules",
       "the recording holds no calls of modules in a complete step; record with with_stack=True");
  name(document.frames.empty(), "frames",
       "the recording holds no Python frames in a complete step; record with with_stack=True");
  name(document.communication.collectives.empty(), "communication.collectives",
       "one rank alone cannot tell waiting from transfer");
  name(document.communication.groups.empty(), "communication.groups",
       "one rank alone cannot tell waiting from transfer");
  name(document.counters.empty(), "counters", "the recording holds no counters");
  name(document.communication.steps.empty(), "communication.steps", "one rank alone cannot tell waiting from transfer");
  name(document.critical_path.empty(), "critical_path", "there is no complete step to replay");
  name(document.critical_path.empty() && document.slack.empty(), "slack", "there is no complete step to replay");
  name(document.what_if.empty(), "what_if", "nobody asked; analyze --what-if does");
  name(document.clock.empty(), "clock", "one rank needs no common clock");
}

}  // namespace

void add_findings(Document& document, const Diagnosis& diagnosis) {
  const Number undisturbed_ms = document.step_time.undisturbed_ms;
  for (const accel::Finding& finding : diagnosis.findings) {
    Finding entry;
    entry.id = valid_utf8(finding.id);
    entry.rule = std::string_view(finding.rule);
    entry.title = valid_utf8(finding.title);
    entry.severity = severity_word(finding.severity);
    entry.confidence = number_or(finding.confidence, 0);
    entry.cost_ms_per_step = number(finding.cost_ms_per_step);
    entry.share_of_step = number(finding.share_of_step);
    for (const accel::Evidence& evidence : finding.evidence) entry.evidence.push_back(evidence_entry(evidence));
    for (const accel::Location& location : finding.where) entry.where.push_back(location_entry(location));
    const accel::Action& action = finding.action;
    entry.action = {valid_utf8(action.title), valid_utf8(action.detail), valid_utf8(action.command),
                    valid_utf8(action.side_effects), valid_utf8(action.not_when)};
    entry.gain = gain_entry(finding.gain, undisturbed_ms);
    document.findings.push_back(std::move(entry));
  }
  for (const accel::PlanStep& step : diagnosis.plan) {
    Number cumulative = number(step.cumulative_speedup);
    if (cumulative) cumulative = std::round(*cumulative * 1e3) / 1e3;
    document.plan.push_back({step.order, valid_utf8(step.finding_id), std::string_view(step.rule),
                             valid_utf8(step.title), number(step.expected_step_ms), number(step.expected_step_low_ms),
                             number(step.expected_step_high_ms), cumulative});
  }
}

void add_note(Document& document, const accel::Note& note) {
  const NoteDescriptor& descriptor = describe(note.code);
  std::string message(descriptor.message);
  if (!note.detail.empty()) message += " (" + valid_utf8(note.detail) + ")";
  document.notes.push_back({descriptor.id, to_string(descriptor.severity), note.count, valid_utf8(note.where),
                            std::move(message), std::string(descriptor.remedy)});
}

Location location_entry(const accel::Location& location) {
  return {valid_utf8(location.kind),
          valid_utf8(location.name),
          text_or_null(location.file),
          location.line,
          location.rank,
          text_or_null(location.host),
          location.device};
}

Document build_document(const TraceStore& store, const AnalysisResults& results, const Diagnosis& diagnosis,
                        const BuildOptions& options) {
  Build build{store, results, diagnosis, options, {}, {}, 0, {}};
  build_inputs(build);
  build_job(build);
  build_verdict(build);
  build_steps(build);
  build_step_time(build);
  build_throughput(build);
  build_breakdown(build);
  build_distortion(build);
  build_host(build);
  build_findings(build);
  build_operators(build);
  build_kernels(build);
  build_what_if(build);
  build_memory(build);
  build_efficiency(build);
  build_op_kernels(build);
  build_scopes(build);
  build_run(build);
  build_counters(build);
  build_notes(build);
  build.reasons["topology"] = "a capture of one rank shows no link; give the ranks of a job together";
  build.reasons["compare"] = "one run only";
  build.document.not_measured = explain_unmeasured(build.document, build.reasons);
  name_empty_lists(build.document);
  return std::move(build.document);
}

}  // namespace accel::report

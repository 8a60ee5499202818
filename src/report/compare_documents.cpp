#include "report/compare_documents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "compare/comparison.h"
#include "compare/tree_alignment.h"
#include "report/document_json.h"
#include "report/module_paths.h"
#include "report/not_measured.h"
#include "report/number_at.h"
#include "report/plain_text.h"

namespace accel::report {
namespace {

constexpr std::size_t kRows = 200;
constexpr std::array<const char*, 14> kNumbers = {"step_time.mean_ms",
                                                  "step_time.undisturbed_ms",
                                                  "step_time.cv",
                                                  "distortion.cost_ms",
                                                  "utilisation.device_busy",
                                                  "utilisation.mfu",
                                                  "kernel_summary.per_step",
                                                  "kernel_summary.mean_us",
                                                  "throughput.samples_s",
                                                  "throughput.tokens_s",
                                                  "memory.peak_bytes",
                                                  "memory.reserved_peak_bytes",
                                                  "memory.driver.allocations_per_step",
                                                  "memory.driver.frees_per_step"};

double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }
std::int64_t ns(double ms) { return std::llround(ms * 1e6); }
Number rounded(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  return std::round(value * 1e6) / 1e6;
}

compare::StepForm form_of(const TimeParts& parts) {
  compare::StepForm form;
  form.step_ns = ns(parts.window_ms);
  form.parts = {{"compute", ns(parts.compute_ms)},
                {"copies", ns(parts.memcpy_ms)},
                {"communication", ns(parts.communication_exposed_ms)}};
  IdleCauses::fields(parts.idle_causes, [&](std::string_view name, double value, std::string_view) {
    form.parts.push_back({"idle." + std::string(name), ns(value)});
  });
  return form;
}

std::vector<std::string> device_names(const Document& document) {
  std::vector<std::string> names;
  for (const Rank& rank : document.job.ranks) {
    for (const Device& device : rank.devices) {
      if (device.name) names.push_back(*device.name);
    }
  }
  return names;
}

std::vector<std::int64_t> step_list(const Document& document) {
  std::vector<std::int64_t> steps;
  for (const Step& step : document.steps) {
    if (step.complete && step.duration_ms) steps.push_back(ns(*step.duration_ms));
  }
  return steps;
}

void add_scopes(const Document& document, compare::RunFigures& run) {
  const std::vector<std::string> paths = module_paths(document.modules);
  for (std::size_t i = 0; i < document.modules.size(); ++i) {
    const Scope& module = document.modules[i];
    run.modules.push_back(
        {paths[i], module.count, (module.device_self_ms + module.backward_self_ms.value_or(0)) * 1e6});
    run.host_modules.push_back({paths[i], module.count, module.host_self_ms * 1e6});
  }
  for (const Scope& scope : document.annotations) {
    run.annotations.push_back({scope.name, scope.count, scope.device_self_ms * 1e6});
    run.host_annotations.push_back({scope.name, scope.count, scope.host_self_ms * 1e6});
  }
}

compare::RunFigures figures_of(const Document& document) {
  compare::RunFigures run;
  run.steps_ns = step_list(document);
  if (document.time_breakdown) run.measured = form_of(*document.time_breakdown);
  run.recording_cost_known = document.distortion.cost_ms.has_value();
  if (document.time_breakdown_undisturbed) run.undisturbed = form_of(*document.time_breakdown_undisturbed);
  const StepTime& step = document.step_time;
  if (step.undisturbed_low_ms) run.undisturbed_low_ns = *step.undisturbed_low_ms * 1e6;
  if (step.undisturbed_high_ms) run.undisturbed_high_ns = *step.undisturbed_high_ms * 1e6;
  for (const OpKernel& row : document.op_kernels)
    run.work.push_back({row.op, row.dims, row.types, row.work, row.count, row.device_ms * 1e6});
  add_scopes(document, run);
  if (step.host_ms) run.host_step_ns = ns(*step.host_ms);
  run.environment = document.job.versions;
  run.environment.insert(document.job.environment.begin(), document.job.environment.end());
  // Names of the recording, not of what is around the job.
  for (const char* name : {"trace_id", "traceName", "trace_name"}) run.environment.erase(name);
  std::string devices;
  for (const std::string& name : device_names(document)) devices += (devices.empty() ? "" : ", ") + name;
  if (!devices.empty()) run.environment["device"] = devices;
  if (document.job.world_size) run.environment["world_size"] = std::to_string(*document.job.world_size);
  run.step_source = step.source.text;
  return run;
}

ComparedPart part_of(const compare::Change& change, bool counted) {
  ComparedPart part;
  part.name = change.name;
  part.status = to_string(change.status);
  part.before_ms = ms(change.before_ns);
  part.after_ms = ms(change.after_ns);
  part.delta_ms = ms(change.delta_ns());
  if (counted) {
    part.before_count = rounded(change.before_count);
    part.after_count = rounded(change.after_count);
  }
  return part;
}

ComparedStep step_of(const compare::StepChange& change) {
  ComparedStep step;
  step.before_ms = ms(change.before_ns);
  step.after_ms = ms(change.after_ns);
  step.delta_ms = ms(change.delta());
  if (change.before_ns > 0)
    step.ratio = rounded(static_cast<double>(change.after_ns) / static_cast<double>(change.before_ns));
  if (change.delta_ns) {
    step.delta_low_ms = rounded(change.delta_ns->low / 1e6);
    step.delta_high_ms = rounded(change.delta_ns->high / 1e6);
  }
  step.verdict = to_string(change.verdict);
  for (const compare::Change& part : change.parts) step.parts.push_back(part_of(part, false));
  return step;
}

ComparedWork work_of(const compare::Split& split) {
  ComparedWork work;
  std::int64_t others = 0;
  for (const compare::Change& row : split.rows) {
    if (work.rows.size() < kRows) {
      work.rows.push_back(part_of(row, true));
    } else {
      others += row.delta_ns();
    }
  }
  work.others_ms = ms(others);
  work.rest_ms = ms(split.rest_ns);
  return work;
}

ComparedTree tree_of(const compare::TreeSplit& split) {
  ComparedTree tree;
  tree.host_delta_ms = ms(split.host_delta_ns);
  tree.device_delta_ms = ms(split.device_delta_ns);
  std::int64_t host_others = 0;
  std::int64_t device_others = 0;
  for (const compare::TreeChange& row : split.rows) {
    if (tree.rows.size() == kRows) {
      host_others += row.host_delta_ns();
      device_others += row.device_delta_ns();
      continue;
    }
    ComparedNode node;
    for (const std::string& name : row.path) node.path.push_back(valid_utf8(name));
    node.kind = to_string(row.kind);
    node.status = to_string(row.status);
    if (!row.before_name.empty()) node.before_name = valid_utf8(row.before_name);
    node.before_host_ms = ms(row.before_host_ns);
    node.after_host_ms = ms(row.after_host_ns);
    node.host_delta_ms = ms(row.host_delta_ns());
    node.before_device_ms = ms(row.before_device_ns);
    node.after_device_ms = ms(row.after_device_ns);
    node.device_delta_ms = ms(row.device_delta_ns());
    node.before_count = rounded(row.before_count).value_or(0);
    node.after_count = rounded(row.after_count).value_or(0);
    tree.rows.push_back(std::move(node));
  }
  tree.host_others_ms = ms(host_others);
  tree.device_others_ms = ms(device_others);
  tree.host_rest_ms = ms(split.host_rest_ns);
  tree.device_rest_ms = ms(split.device_rest_ns);
  tree.nodes_same = split.same;
  tree.nodes_renamed = split.renamed;
  tree.nodes_appeared = split.appeared;
  tree.nodes_vanished = split.vanished;
  tree.without_frames = split.without_frames;
  return tree;
}

std::vector<ComparedNumber> numbers_of(const Document& before, const Document& after) {
  const auto first = to_json(before);
  const auto second = to_json(after);
  std::vector<ComparedNumber> numbers;
  for (const char* path : kNumbers) {
    const auto a = number_at(first, path);
    const auto b = number_at(second, path);
    if (!a || !b || (!*a && !*b)) continue;
    ComparedNumber entry;
    entry.path = path;
    entry.before = *a;
    entry.after = *b;
    if (*a && *b) {
      entry.delta = rounded(**b - **a);
      if (**a != 0) entry.ratio = rounded(**b / **a);
    }
    numbers.push_back(std::move(entry));
  }
  return numbers;
}

std::vector<ComparedFinding> findings_of(const Document& before, const Document& after) {
  std::vector<ComparedFinding> list;
  std::set<std::string> seen;
  const auto cost = [](const Document& document, const std::string& rule) {
    for (const Finding& finding : document.findings) {
      if (finding.rule.text == rule && finding.severity.text != "info")
        return Number{finding.cost_ms_per_step.value_or(0)};
    }
    return Number{};
  };
  for (const Document* document : {&before, &after}) {
    for (const Finding& finding : document->findings) {
      if (finding.severity.text == "info" || !seen.insert(finding.rule.text).second) continue;
      ComparedFinding entry;
      entry.rule = std::string_view(finding.rule.text);
      entry.before_ms = cost(before, finding.rule.text);
      entry.after_ms = cost(after, finding.rule.text);
      entry.status = to_string(!entry.before_ms  ? compare::Status::appeared
                               : !entry.after_ms ? compare::Status::vanished
                                                 : compare::Status::both);
      list.push_back(std::move(entry));
    }
  }
  return list;
}

ComparedRun run_of(const Document& document) {
  ComparedRun run;
  if (!document.inputs.empty()) run.file = document.inputs.front().file;
  run.steps = document.step_time.count;
  run.devices = device_names(document);
  return run;
}

}  // namespace

Document compare_documents(const Document& before, Document after, const CallTree* before_tree,
                           const CallTree* after_tree) {
  const compare::Comparison result = compare::compare_runs(figures_of(before), figures_of(after));
  Compare entry;
  entry.before = run_of(before);
  entry.after = run_of(after);
  if (result.measured) entry.measured = step_of(*result.measured);
  if (result.undisturbed) entry.undisturbed = step_of(*result.undisturbed);
  entry.busy_delta_ms = ms(result.busy_delta_ns);
  entry.work = work_of(result.work);
  entry.ops = work_of(result.ops);
  entry.modules = work_of(result.modules);
  entry.annotations = work_of(result.annotations);
  entry.host_delta_ms = ms(result.host_delta_ns);
  entry.host_modules = work_of(result.host_modules);
  entry.host_annotations = work_of(result.host_annotations);
  const bool trees =
      before_tree != nullptr && after_tree != nullptr && !before_tree->nodes.empty() && !after_tree->nodes.empty();
  if (trees) entry.tree = tree_of(compare::compare_trees(*before_tree, *after_tree, kRows));
  for (const compare::Implementation& changed : result.implementations) {
    if (entry.implementations.size() == kRows) break;
    entry.implementations.push_back({changed.op, changed.dims, changed.before_types, changed.after_types,
                                     changed.before, changed.after, ms(changed.before_ns), ms(changed.after_ns),
                                     ms(changed.after_ns - changed.before_ns)});
  }
  entry.numbers = numbers_of(before, after);
  entry.findings = findings_of(before, after);
  const auto text = [](const std::string& value) { return value.empty() ? Text{} : Text{value}; };
  for (const compare::Difference& difference : result.environment)
    entry.environment.push_back(
        {difference.key, text(difference.before), text(difference.after), text(difference.meaning)});
  entry.not_comparable = result.not_comparable;
  after.compare = std::move(entry);
  std::erase_if(after.not_measured, [](const NotMeasured& known) { return known.path == "compare"; });
  const std::map<std::string, std::string> reasons = {
      {"compare.measured", "a run has no complete step with device work"},
      {"compare.undisturbed", "a run does not show what its recording cost"},
      {"compare.tree", "a run is a report or baseline, or has no complete step: compare traces"},
      {"compare.tree.rows[].before_name", "the same name, or not there"},
      {"compare.before.file", "the report does not name it"},
      {"compare.after.file", "the report does not name it"},
      {"compare.measured.delta_low_ms", "a run has fewer than two complete steps"},
      {"compare.measured.delta_high_ms", "a run has fewer than two complete steps"},
      {"compare.measured.ratio", "the step before took no time"},
      {"compare.measured.parts[].before_count", "parts of a step are not launches"},
      {"compare.measured.parts[].after_count", "parts of a step are not launches"},
      {"compare.undisturbed.delta_low_ms", "a run has no band of its undisturbed step"},
      {"compare.undisturbed.delta_high_ms", "a run has no band of its undisturbed step"},
      {"compare.undisturbed.ratio", "the step before took no time"},
      {"compare.undisturbed.parts[].before_count", "parts of a step are not launches"},
      {"compare.undisturbed.parts[].after_count", "parts of a step are not launches"},
      {"compare.numbers[].before", "not measured in BEFORE"},
      {"compare.numbers[].after", "not measured in AFTER"},
      {"compare.numbers[].delta", "not measured in both"},
      {"compare.numbers[].ratio", "not measured in both, or 0 before"},
      {"compare.findings[].before_ms", "the rule was silent"},
      {"compare.findings[].after_ms", "the rule is silent"},
      {"compare.environment[].before", "not stated in BEFORE"},
      {"compare.environment[].after", "not stated in AFTER"},
      {"compare.environment[].may_explain", "no known consequence"}};
  for (NotMeasured& missing : explain_unmeasured(after, reasons)) {
    if (missing.path.starts_with("compare.")) after.not_measured.push_back(std::move(missing));
  }
  return after;
}

std::optional<compare::Interval> step_delta_ns(const Document& before, const Document& after) {
  return compare::difference_of_means(step_list(before), step_list(after));
}

}  // namespace accel::report

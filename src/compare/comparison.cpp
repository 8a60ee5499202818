#include "compare/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

namespace accel::compare {
namespace {

constexpr std::string_view kIdle = "idle.";

bool larger(const Change& a, const Change& b) { return std::llabs(a.delta_ns()) > std::llabs(b.delta_ns()); }

void set_status(Change& change) {
  if (change.before_count == 0 && change.after_count > 0) change.status = Status::appeared;
  if (change.after_count == 0 && change.before_count > 0) change.status = Status::vanished;
}

StepChange change_of(const StepForm& before, const StepForm& after) {
  StepChange change;
  change.before_ns = before.step_ns;
  change.after_ns = after.step_ns;
  // Both forms name all parts; one that a run lacks is 0 there.
  std::vector<std::string> order;
  std::map<std::string, Change> parts;
  for (const StepForm* form : {&before, &after}) {
    for (const Part& part : form->parts) {
      if (parts.try_emplace(part.name).second) order.push_back(part.name);
      (form == &before ? parts[part.name].before_ns : parts[part.name].after_ns) += part.ns;
    }
  }
  for (const std::string& name : order) {
    parts[name].name = name;
    change.parts.push_back(parts[name]);
  }
  return change;
}

Verdict verdict_of(const Interval& delta) {
  if (delta.low > 0) return Verdict::slower;
  return delta.high < 0 ? Verdict::faster : Verdict::same;
}

StepChange measured_change(const RunFigures& before, const RunFigures& after) {
  StepChange change = change_of(*before.measured, *after.measured);
  change.delta_ns = difference_of_means(before.steps_ns, after.steps_ns);
  if (change.delta_ns) change.verdict = verdict_of(*change.delta_ns);
  return change;
}

// The estimates have bands: what the bands leave open is the interval.
StepChange undisturbed_change(const RunFigures& before, const RunFigures& after) {
  StepChange change = change_of(*before.undisturbed, *after.undisturbed);
  if (before.undisturbed_low_ns && before.undisturbed_high_ns && after.undisturbed_low_ns &&
      after.undisturbed_high_ns) {
    change.delta_ns = Interval{*after.undisturbed_low_ns - *before.undisturbed_high_ns,
                               *after.undisturbed_high_ns - *before.undisturbed_low_ns};
    change.verdict = verdict_of(*change.delta_ns);
    // Bands that touch do not say that nothing changed.
    if (change.verdict == Verdict::same) change.verdict = Verdict::unknown;
  }
  return change;
}

std::int64_t busy_ns(const StepForm& form) {
  std::int64_t busy = 0;
  for (const Part& part : form.parts) busy += part.name.starts_with(kIdle) ? 0 : part.ns;
  return busy;
}

template <typename Row, typename KeyOf>
Split split_by(const std::vector<Row>& before, const std::vector<Row>& after, std::int64_t whole_ns, KeyOf key_of) {
  struct Sums {
    double before_ns = 0, after_ns = 0, before_count = 0, after_count = 0;
  };
  std::map<std::string, Sums> sums;
  for (const Row& work : before) {
    Sums& sum = sums[key_of(work)];
    sum.before_ns += work.ns;
    sum.before_count += work.count;
  }
  for (const Row& work : after) {
    Sums& sum = sums[key_of(work)];
    sum.after_ns += work.ns;
    sum.after_count += work.count;
  }
  Split split;
  split.rest_ns = whole_ns;
  for (const auto& [name, sum] : sums) {
    Change change{
        name, Status::both, std::llround(sum.before_ns), std::llround(sum.after_ns), sum.before_count, sum.after_count};
    set_status(change);
    split.rest_ns -= change.delta_ns();
    split.rows.push_back(std::move(change));
  }
  std::stable_sort(split.rows.begin(), split.rows.end(), larger);
  return split;
}

// Where one of the runs has not recorded such rows, nothing of the difference is theirs.
template <typename Row, typename KeyOf>
Split split_known(const std::vector<Row>& before, const std::vector<Row>& after, std::int64_t whole_ns, KeyOf key_of) {
  if (before.empty() || after.empty()) return {{}, whole_ns};
  return split_by(before, after, whole_ns, key_of);
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() || word.empty() ? "" : " | ") + word;
  return text;
}

std::vector<Implementation> implementations(const RunFigures& before, const RunFigures& after) {
  struct Side {
    std::set<std::string> names;
    std::set<std::string> types;
    double ns = 0;
  };
  std::map<std::pair<std::string, std::string>, std::array<Side, 2>> sides;
  for (std::size_t i = 0; i < 2; ++i) {
    for (const Work& work : (i == 0 ? before : after).work) {
      // Without its shapes an op is many ops: what differs is not its implementation.
      if (work.op.empty() || work.dims.empty()) continue;
      Side& side = sides[{work.op, work.dims}][i];
      side.names.insert(work.name);
      side.types.insert(work.types);
      side.ns += work.ns;
    }
  }
  std::vector<Implementation> changed;
  for (const auto& [key, side] : sides) {
    if (side[0].names.empty() || side[1].names.empty() || side[0].names == side[1].names) continue;
    Implementation entry;
    std::tie(entry.op, entry.dims) = key;
    entry.before_types = joined(side[0].types);
    entry.after_types = joined(side[1].types);
    entry.before.assign(side[0].names.begin(), side[0].names.end());
    entry.after.assign(side[1].names.begin(), side[1].names.end());
    entry.before_ns = std::llround(side[0].ns);
    entry.after_ns = std::llround(side[1].ns);
    changed.push_back(std::move(entry));
  }
  std::stable_sort(changed.begin(), changed.end(), [](const Implementation& a, const Implementation& b) {
    return std::llabs(a.after_ns - a.before_ns) > std::llabs(b.after_ns - b.before_ns);
  });
  return changed;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_recording_option(std::string_view key) {
  return has(key, "with_") || has(key, "record_shapes") || has(key, "profile_memory");
}

std::string meaning_of(std::string_view key) {
  if (is_recording_option(key)) return "what recording costs: measured host times; not the undisturbed step";
  if (has(key, "device")) return "every time on the device, and which kernels are chosen";
  if (has(key, "driver")) return "launch latency and the choice of kernels";
  if (has(key, "cupti")) return "what recording costs";
  if (has(key, "cuda") || has(key, "hip") || has(key, "roc") || has(key, "torch"))
    return "the choice of kernels and what the framework does between them";
  if (has(key, "world") || has(key, "backend") || has(key, "nccl")) return "communication";
  if (has(key, "core") || has(key, "cpu")) return "data loading and host time";
  return "";
}

std::vector<Difference> environment(const RunFigures& before, const RunFigures& after) {
  std::map<std::string, Difference> all;
  for (const auto& [key, value] : before.environment) all[key].before = value;
  for (const auto& [key, value] : after.environment) all[key].after = value;
  std::vector<Difference> differences;
  for (auto& [key, difference] : all) {
    if (difference.before == difference.after) continue;
    difference.key = key;
    difference.meaning = meaning_of(key);
    differences.push_back(std::move(difference));
  }
  return differences;
}

bool shapes_known(const RunFigures& run) {
  return std::any_of(run.work.begin(), run.work.end(), [](const Work& work) { return !work.dims.empty(); });
}

std::vector<std::string> limits(const RunFigures& before, const RunFigures& after, const Comparison& result) {
  std::vector<std::string> list;
  const auto lacking = [&](bool first, bool second, std::string_view what) {
    if (first && second) return;
    list.push_back(std::string(what) + (first    ? " is not known of AFTER"
                                        : second ? " is not known of BEFORE"
                                                 : " is not known of either"));
  };
  lacking(before.measured.has_value(), after.measured.has_value(), "the step and its parts");
  lacking(before.undisturbed.has_value(), after.undisturbed.has_value(), "the undisturbed step");
  if (before.modules.empty() != after.modules.empty())
    lacking(!before.modules.empty(), !after.modules.empty(), "the time of modules (with_stack=True)");
  lacking(before.steps_ns.size() >= 2, after.steps_ns.size() >= 2, "the noise of the steps (two complete steps)");
  lacking(before.recording_cost_known, after.recording_cost_known,
          "what the recording cost (its undisturbed step is the recorded one, with a band)");
  lacking(shapes_known(before), shapes_known(after), "the shapes of ops (record_shapes=True)");
  if (before.step_source != after.step_source) {
    list.push_back("steps were found in different ways (" + before.step_source + ", " + after.step_source +
                   "): they may not be the same stretch of work");
  }
  if (std::any_of(result.environment.begin(), result.environment.end(),
                  [](const Difference& d) { return is_recording_option(d.key); })) {
    list.push_back(
        "the runs were recorded with different options: measured host times differ for that alone; the undisturbed "
        "step "
        "and device times can be compared");
  }
  return list;
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  constexpr std::array<std::string_view, 4> kNames = {"unknown", "same", "faster", "slower"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view to_string(Status status) {
  constexpr std::array<std::string_view, 3> kNames = {"both", "appeared", "vanished"};
  return kNames[static_cast<std::size_t>(status)];
}

Comparison compare_runs(const RunFigures& before, const RunFigures& after) {
  Comparison result;
  if (before.measured && after.measured) {
    result.measured = measured_change(before, after);
    result.busy_delta_ns = busy_ns(*after.measured) - busy_ns(*before.measured);
    const std::int64_t whole_ns = result.busy_delta_ns;
    const auto name_of = [](const auto& row) { return row.name; };
    result.work = split_by(before.work, after.work, whole_ns, name_of);
    result.ops = split_by(before.work, after.work, whole_ns, [](const Work& work) { return work.op; });
    result.modules = split_known(before.modules, after.modules, whole_ns, name_of);
    result.annotations = split_known(before.annotations, after.annotations, whole_ns, name_of);
  }
  if (before.host_step_ns && after.host_step_ns) {
    result.host_delta_ns = *after.host_step_ns - *before.host_step_ns;
    const auto name_of = [](const ScopeWork& row) { return row.name; };
    result.host_modules = split_known(before.host_modules, after.host_modules, result.host_delta_ns, name_of);
    result.host_annotations =
        split_known(before.host_annotations, after.host_annotations, result.host_delta_ns, name_of);
  }
  if (before.undisturbed && after.undisturbed) result.undisturbed = undisturbed_change(before, after);
  result.implementations = implementations(before, after);
  result.environment = environment(before, after);
  result.not_comparable = limits(before, after, result);
  return result;
}

}  // namespace accel::compare

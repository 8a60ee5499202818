// The whole run as few points, and the counters of the window.
#include <algorithm>
#include <cmath>

#include "analysis/counter_values.h"
#include "analysis/step_segmentation.h"
#include "report/build_parts.h"

namespace accel::report {
namespace {

constexpr std::size_t kPoints = 1000;
constexpr std::size_t kCounters = 200;

// Sums over the rows of one point. A figure that some rows lack is the mean over those that have it.
class Point {
 public:
  void add(const RunStepRow& row) {
    const std::int64_t time = row.end_ns - row.start_ns;
    if (steps_ == 0) first_ = row;
    steps_ += row.steps;
    time_ns_ += time;
    longest_ns_ = std::max(longest_ns_, row.longest_ns >= 0 ? row.longest_ns : time);
    if (row.loader_wait_ns >= 0) {
      wait_ns_ += static_cast<double>(row.loader_wait_ns);
      wait_steps_ += row.steps;
    }
    if (std::isfinite(row.loss)) {
      loss_ += row.loss * row.steps;
      loss_steps_ += row.steps;
    }
    if (std::isfinite(row.samples) && time > 0) {
      samples_ += row.samples;
      samples_ns_ += time;
    }
    if (row.epoch >= 0) epoch_ = row.epoch;
  }
  bool empty() const { return steps_ == 0; }
  std::uint64_t steps() const { return steps_; }
  RunPoint entry(std::int64_t origin_ns) const {
    RunPoint point;
    point.step = first_.step;
    point.steps = steps_;
    point.start_s = number_or(static_cast<double>(first_.start_ns - origin_ns) / 1e9, 0);
    point.step_ms = ms_of(static_cast<double>(time_ns_) / static_cast<double>(steps_));
    point.longest_ms = ms_of(longest_ns_);
    if (wait_steps_ > 0) point.loader_wait_ms = ms_of(wait_ns_ / static_cast<double>(wait_steps_));
    if (loss_steps_ > 0) point.loss = number(loss_ / static_cast<double>(loss_steps_));
    if (samples_ns_ > 0) point.samples_s = number(samples_ * 1e9 / static_cast<double>(samples_ns_));
    if (epoch_ >= 0) point.epoch = epoch_;
    return point;
  }

 private:
  RunStepRow first_;
  std::uint64_t steps_ = 0;
  std::int64_t time_ns_ = 0;
  std::int64_t longest_ns_ = 0;
  double wait_ns_ = 0;
  std::uint64_t wait_steps_ = 0;
  double loss_ = 0;
  std::uint64_t loss_steps_ = 0;
  double samples_ = 0;
  std::int64_t samples_ns_ = 0;
  std::int64_t epoch_ = kNotRecorded;
};

// Rows in the order of steps. A cut file may hold a row twice (a part and the capture that follows it): the first
// counts.
std::vector<RunStepRow> ordered_rows(const RunStepTable& table) {
  std::vector<RunStepRow> rows;
  rows.reserve(table.size());
  for (std::size_t i = 0; i < table.size(); ++i) rows.push_back(table.row(i));
  std::stable_sort(rows.begin(), rows.end(), [](const RunStepRow& a, const RunStepRow& b) { return a.step < b.step; });
  std::vector<RunStepRow> kept;
  for (const RunStepRow& row : rows) {
    if (kept.empty() || row.step >= kept.back().step + static_cast<std::int64_t>(kept.back().steps))
      kept.push_back(row);
  }
  return kept;
}

std::string clock_reason_words(std::uint64_t bits) {
  struct Reason {
    std::uint64_t bit;
    std::string_view words;
  };
  // NVML's clock event reasons.
  constexpr Reason kReasons[] = {
      {0x1, "idle"},
      {0x2, "application clocks set"},
      {0x4, "at the power limit"},
      {0x8, "hardware slow-down"},
      {0x10, "kept in step with other devices"},
      {0x20, "too hot (software limit)"},
      {0x40, "too hot (hardware limit)"},
      {0x80, "power brake of the rack"},
      {0x100, "display clock"},
  };
  std::string text;
  for (const Reason& reason : kReasons) {
    if ((bits & reason.bit) == 0) continue;
    if (!text.empty()) text += ", ";
    text += reason.words;
  }
  return text.empty() ? "none" : text;
}

}  // namespace

void build_run(Build& build) {
  build.reasons["run"] =
      "the input holds no record of the whole run: the recorder keeps one while it has rules or ACCEL_WATCH is set";
  build.reasons["run.points[].loader_wait_ms"] = "the step mark was not given it";
  build.reasons["run.points[].loss"] = build.reasons["run.points[].loader_wait_ms"];
  build.reasons["run.points[].samples_s"] = build.reasons["run.points[].loader_wait_ms"];
  build.reasons["run.points[].epoch"] = build.reasons["run.points[].loader_wait_ms"];
  build.reasons["run.window_s"] = "the input holds no window of steps";
  const std::vector<RunStepRow> rows = ordered_rows(build.store.run_steps);
  if (rows.empty()) return;
  RunCurve run;
  for (const RunStepRow& row : rows) run.steps += row.steps;
  run.first_step = rows.front().step;
  run.last_step = rows.back().step + static_cast<std::int64_t>(rows.back().steps) - 1;
  run.missing = static_cast<std::uint64_t>(run.last_step - run.first_step + 1) - run.steps;
  const std::int64_t origin = rows.front().start_ns;
  run.seconds = number_or(static_cast<double>(rows.back().end_ns - origin) / 1e9, 0);
  const auto& steps = build.results.step_segmentation;
  if (steps && steps->source != StepSource::whole_window && !steps->steps.empty())
    run.window_s = number(static_cast<double>(steps->steps.front().host.start_ns - origin) / 1e9);
  const std::uint64_t per_point = std::max<std::uint64_t>(1, (run.steps + kPoints - 1) / kPoints);
  Point point;
  for (const RunStepRow& row : rows) {
    if (!point.empty() && point.steps() + row.steps > per_point) {
      run.points.push_back(point.entry(origin));
      point = Point();
    }
    point.add(row);
  }
  run.points.push_back(point.entry(origin));
  build.document.run = std::move(run);
}

void build_counters(Build& build) {
  build.reasons["counters[].unit"] = "the input does not state it";
  build.reasons["counters[].source"] = build.reasons["counters[].unit"];
  build.reasons["counters[].refresh_ms"] = build.reasons["counters[].unit"];
  build.reasons["counters[].mean"] = "the counter is a sum or bits, or the window is shorter than it takes to change";
  build.reasons["counters[].lowest"] = build.reasons["counters[].mean"];
  build.reasons["counters[].highest"] = build.reasons["counters[].mean"];
  build.reasons["counters[].increase"] = "the counter is no sum";
  build.reasons["counters[].words"] = "the counter is no set of bits";
  const CounterValues values(build.store);
  const Interval window = build.store.time_range;
  const std::size_t shown = build.shown(values.counters().size(), kCounters, "counters");
  for (const CounterValues::Counter& counter : values.counters()) {
    if (build.document.counters.size() == shown) break;
    // The range ends with the last sample, which belongs to it.
    const CounterFigures figures = values.over(counter, {window.start_ns, window.end_ns + 1});
    CounterSummary entry;
    entry.name = build.text(counter.name);
    if (counter.unit.valid() && !build.text(counter.unit).empty()) entry.unit = build.text(counter.unit);
    if (counter.source.valid() && !build.text(counter.source).empty()) entry.source = build.text(counter.source);
    if (counter.refresh_ns > 0) entry.refresh_ms = ms_of(counter.refresh_ns);
    entry.samples = figures.samples;
    entry.mean = number(figures.mean);
    entry.lowest = number(figures.lowest);
    entry.highest = number(figures.highest);
    entry.increase = number(figures.increase);
    if (entry.name == "gpu_clock_reasons" && figures.samples > 0) entry.words = clock_reason_words(figures.bits);
    build.document.counters.push_back(std::move(entry));
  }
  // What NVML and its GPM counters measured in the window.
  const auto measured = [&](const char* name, Number& to) {
    const CounterValues::Counter* counter = values.find(name);
    if (counter == nullptr || !counter->source.valid() || build.store.text(counter->source) != "nvml") return;
    to = number(values.over(*counter, {window.start_ns, window.end_ns + 1}).mean);
  };
  measured("gpu_utilization", build.document.utilisation.nvml);
  measured("sm_active", build.document.utilisation.sm_active);
  measured("tensor_active", build.document.utilisation.tensor_active);
}

}  // namespace accel::report

#include "history/regressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace accel::history {
namespace {

const RunRow* find_run(const Content& content, std::int64_t id) {
  const auto found =
      std::find_if(content.runs.begin(), content.runs.end(), [&](const RunRow& row) { return row.id == id; });
  return found == content.runs.end() ? nullptr : &*found;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

class Comparison {
 public:
  Comparison(const Content& content, RunComparison& result) : result_(result) {
    for (const KernelRow& row : content.kernels) kernels_[row.id] = &row;
    for (std::size_t i = 0; i < result.earlier.size(); ++i) order_[result.earlier[i]->id] = i;
    for (const SampleRow& row : content.samples) take(row);
  }

  void run() {
    for (const auto& [id, now] : now_) same_kernel(id, *now);
    for (const auto& [work, now] : work_now_) other_kernel(work, now);
    std::stable_sort(result_.changes.begin(), result_.changes.end(), [](const Regression& a, const Regression& b) {
      if (a.worse() != b.worse()) return a.worse();
      return lost(a) > lost(b);
    });
    result_.kernels = static_cast<std::int64_t>(now_.size());
  }

 private:
  // What one run did for one work.
  struct WorkTime {
    const SampleRow* main = nullptr;  // the kernel of most time
    double total_ns = 0;
    double per_call() const { return main->count > 0 ? total_ns / static_cast<double>(main->count) : 0; }
  };

  static double lost(const Regression& one) {
    return one.now_ns > 0 ? one.total_ns * (1 - one.before_ns / one.now_ns) : 0;
  }

  void take(const SampleRow& row) {
    const auto kernel = kernels_.find(row.kernel);
    if (kernel == kernels_.end() || row.count == 0 || row.median_ns <= 0) return;
    const bool now = row.run == result_.run->id;
    const auto before = order_.find(row.run);
    if (!now && before == order_.end()) return;
    if (now)
      now_[row.kernel] = &row;
    else
      history_[row.kernel].push_back(static_cast<double>(row.median_ns));
    if (kernel->second->identity.work.op.empty() || kernel->second->identity.work.dims.empty()) return;
    WorkTime& work = now ? work_now_[kernel->second->work] : work_before_[kernel->second->work][before->second];
    work.total_ns += static_cast<double>(row.total_ns);
    if (work.main == nullptr || row.total_ns > work.main->total_ns) work.main = &row;
  }

  void same_kernel(std::int64_t id, const SampleRow& now) {
    const auto history = history_.find(id);
    if (history == history_.end()) return;
    ++result_.known_kernels;
    Regression one;
    one.kernel = kernels_.at(id);
    one.before_ns = median(history->second);
    one.highest_before_ns = *std::max_element(history->second.begin(), history->second.end());
    one.now_ns = static_cast<double>(now.median_ns);
    one.total_ns = static_cast<double>(now.total_ns);
    one.earlier_runs = static_cast<std::int64_t>(history->second.size());
    // It was as slow before: then this is how it varies.
    if (one.worse() && one.now_ns > one.highest_before_ns) {
      one.change = Change::slower;
      result_.changes.push_back(one);
    } else if (one.before_ns >= kSlower.value * one.now_ns && one.before_ns - one.now_ns >= kWorthSaying.value &&
               one.now_ns < *std::min_element(history->second.begin(), history->second.end())) {
      one.change = Change::faster;
      result_.changes.push_back(one);
    }
  }

  // The last time that this work was done, something else ran for it, and what runs now never did.
  void other_kernel(std::int64_t work, const WorkTime& now) {
    const auto before = work_before_.find(work);
    if (before == work_before_.end()) return;
    std::vector<double> times;
    for (const auto& [run, time] : before->second) {
      if (time.main->kernel == now.main->kernel) return;
      times.push_back(time.per_call());
    }
    Regression one;
    one.change = Change::other_kernel;
    one.kernel = kernels_.at(now.main->kernel);
    one.before = kernels_.at(before->second.rbegin()->second.main->kernel);
    one.before_ns = median(times);
    one.highest_before_ns = *std::max_element(times.begin(), times.end());
    one.now_ns = now.per_call();
    one.total_ns = now.total_ns;
    one.earlier_runs = static_cast<std::int64_t>(times.size());
    result_.changes.push_back(one);
  }

  RunComparison& result_;
  std::unordered_map<std::int64_t, const KernelRow*> kernels_;
  std::unordered_map<std::int64_t, std::size_t> order_;  // of earlier runs
  std::map<std::int64_t, const SampleRow*> now_;
  std::map<std::int64_t, std::vector<double>> history_;
  std::map<std::int64_t, WorkTime> work_now_;
  std::map<std::int64_t, std::map<std::size_t, WorkTime>> work_before_;
};

std::vector<VersionChange> version_changes(const RunRow& before, const RunRow& now) {
  std::set<std::string> keys;
  for (const auto& [key, value] : before.versions) keys.insert(key);
  for (const auto& [key, value] : now.versions) keys.insert(key);
  const auto value_of = [](const RunRow& run, const std::string& key) {
    const auto found = run.versions.find(key);
    return found == run.versions.end() ? std::string() : found->second;
  };
  std::vector<VersionChange> changes;
  for (const std::string& key : keys) {
    VersionChange change{key, value_of(before, key), value_of(now, key)};
    if (change.before != change.now) changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace

Result<Content> read_content(Database& database) {
  Content content;
  auto runs = database.runs();
  if (!runs) return runs.error();
  auto kernels = database.kernels();
  if (!kernels) return kernels.error();
  auto samples = database.samples();
  if (!samples) return samples.error();
  return Content{std::move(*runs), std::move(*kernels), std::move(*samples)};
}

Result<RunComparison> compare_run(const Content& content, std::optional<std::int64_t> run,
                                  std::optional<std::int64_t> against) {
  RunComparison result;
  if (content.runs.empty()) return Error{ErrorCode::not_found, "the kernel database holds no run", ""};
  result.run = run ? find_run(content, *run) : &content.runs.back();
  if (result.run == nullptr)
    return Error{ErrorCode::not_found, fmt::format("the kernel database has no run {}", *run), "--run"};
  if (against) {
    const RunRow* other = find_run(content, *against);
    if (other == nullptr || other == result.run) {
      return Error{ErrorCode::not_found,
                   other == nullptr ? fmt::format("the kernel database has no run {}", *against)
                                    : std::string("a run cannot be compared with itself"),
                   "--against"};
    }
    result.earlier.push_back(other);
  } else {
    for (const RunRow& row : content.runs) {
      if (&row == result.run) break;
      if (row.device == result.run->device) result.earlier.push_back(&row);
    }
  }
  Comparison(content, result).run();
  if (!result.earlier.empty()) {
    const RunRow& newest = *result.earlier.back();
    result.versions = version_changes(newest, *result.run);
    if (newest.sm_clock_mhz && result.run->sm_clock_mhz && *newest.sm_clock_mhz > 0)
      result.clock_ratio = *result.run->sm_clock_mhz / *newest.sm_clock_mhz;
  }
  return result;
}

}  // namespace accel::history

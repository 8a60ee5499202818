#include "analysis/analysis.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "base/progress.h"
#include "base/task_pool.h"

namespace accel {

#define FRAMEWORK(name)
#define ANALYSIS(name, Type) AnalysisDescriptor describe_##name();
#include "analysis/catalog.def"
#undef ANALYSIS

namespace {

std::vector<AnalysisDescriptor> collect() {
  std::vector<AnalysisDescriptor> all;
#define ANALYSIS(name, Type) all.push_back(describe_##name());
#include "analysis/catalog.def"
#undef ANALYSIS
  return all;
}

void take_new_slots(AnalysisResults& into, AnalysisResults&& from) {
#define ANALYSIS(name, Type) \
  if (!into.name) into.name = std::move(from.name);
#include "analysis/catalog.def"
#undef ANALYSIS
}
#undef FRAMEWORK

// Hands out analyses whose needs are met, to any number of threads. Each runs on its own copy of the slots, and its
// notes join the others in the order of the catalogue: what comes out does not depend on who was first.
class Schedule {
 public:
  Schedule(const TraceStore& store, const AnalysisOptions& options)
      : store_(store), options_(options), state_(analyses().size(), State::waiting), notes_(analyses().size()) {}

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      const std::optional<std::size_t> next = claim(lock);
      if (!next) return;
      AnalysisResults own = results_;
      own.notes = NoteList();
      lock.unlock();
      Result<void> ran = analyses()[*next].run(store_, own, options_);
      lock.lock();
      if (!ran && !error_) error_ = ran.error();
      notes_[*next] = std::move(own.notes);
      take_new_slots(results_, std::move(own));
      state_[*next] = State::done;
      changed_.notify_all();
    }
  }

  Result<AnalysisResults> finish() {
    if (error_) return *error_;
    for (const NoteList& notes : notes_) results_.notes.add_all(notes);
    return std::move(results_);
  }

 private:
  enum class State : std::uint8_t { waiting, running, done };

  // The next analysis to run; waits for one to become ready. Nothing when all are taken or the work has to end.
  std::optional<std::size_t> claim(std::unique_lock<std::mutex>& lock) {
    while (!error_) {
      bool any_waiting = false;
      for (std::size_t i = 0; i < state_.size(); ++i) {
        if (state_[i] != State::waiting) continue;
        any_waiting = true;
        if (!ready(i)) continue;
        state_[i] = State::running;
        report(i);
        return error_ ? std::nullopt : std::optional(i);
      }
      if (!any_waiting) return std::nullopt;
      changed_.wait(lock);
    }
    changed_.notify_all();
    return std::nullopt;
  }

  bool ready(std::size_t i) const {
    const auto& needs = analyses()[i].needs;
    return std::all_of(needs.begin(), needs.end(), [&](std::string_view need) {
      const auto at =
          std::find_if(analyses().begin(), analyses().end(), [&](const AnalysisDescriptor& a) { return a.id == need; });
      return at != analyses().end() && state_[static_cast<std::size_t>(at - analyses().begin())] == State::done;
    });
  }

  void report(std::size_t i) {
    if (options_.progress == nullptr) return;
    const auto done = static_cast<std::uint64_t>(std::count(state_.begin(), state_.end(), State::done));
    if (options_.progress->report(analyses()[i].id, done, state_.size())) {
      error_ = Error{ErrorCode::cancelled, "stopped on request", std::string(analyses()[i].id)};
      changed_.notify_all();
    }
  }

  const TraceStore& store_;
  const AnalysisOptions& options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<State> state_;
  std::vector<NoteList> notes_;
  AnalysisResults results_;
  std::optional<Error> error_;
};

}  // namespace

const std::vector<AnalysisDescriptor>& analyses() {
  static const std::vector<AnalysisDescriptor> all = collect();
  return all;
}

Result<AnalysisResults> run_analyses(const TraceStore& store, const AnalysisOptions& options) {
  // More threads than this never have something to do at once.
  constexpr unsigned kMostThreads = 4;
  const unsigned threads = std::min(kMostThreads, usable_threads(options.threads));
  Schedule schedule(store, options);
  parallel_for(threads, threads, [&](std::size_t) { schedule.work(); });
  return schedule.finish();
}

}  // namespace accel

#include "diagnosis/loader_stacks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/python_frame.h"
#include "base/interval_set.h"
#include "trace/python_stacks.h"

namespace accel {
namespace {

constexpr double kMain = 0.5;  // of the samples: what most of them go through

// The place of the loader in a stack; what it calls is inside.
enum class Role : unsigned char { none, loader, worker, fetch };

struct Frame {
  Role role = Role::none;
  bool users = false;
  bool loaders = false;  // the loader's own, which says nothing of the data set
  std::string_view file, function;
  std::int64_t line = 0;
};

Role role_of(const SourceLine& line) {
  const auto is = [&](std::string_view file, std::string_view function) {
    return line.function.ends_with(function) && line.file.ends_with(file);
  };
  if (is("torch/utils/data/_utils/worker.py", "_worker_loop")) return Role::worker;
  if (is("torch/utils/data/_utils/fetch.py", "fetch")) return Role::fetch;
  if (is("torch/utils/data/dataloader.py", "__next__")) return Role::loader;
  return Role::none;
}

std::vector<Frame> read_frames(const PythonStacks& stacks) {
  std::vector<Frame> frames(stacks.frames.size());
  for (std::size_t row = 0; row < frames.size(); ++row) {
    const std::string_view name = stacks.frames[row].name;
    const std::optional<SourceLine> line = parse_frame(name);
    if (!line) continue;
    frames[row] = {
        role_of(*line), !is_library_frame(name), line->file.find("torch/utils/data/") != std::string_view::npos,
        line->file,     line->function,          line->line};
  }
  return frames;
}

// The frames inside the loader, from the outside in; whether the stack belongs to it at all.
bool frames_inside(const PythonStacks& stacks, const std::vector<Frame>& frames, std::uint32_t frame, bool worker,
                   std::vector<std::uint32_t>& inside) {
  inside.clear();
  bool fetches = false;
  bool works = false;
  for (; frame != PythonStacks::kNone; frame = stacks.frames[frame].caller) {
    const Role role = frames[frame].role;
    fetches = fetches || role == Role::fetch;
    works = role == (worker ? Role::worker : Role::loader);
    // A worker that waits for indices or hands a batch over makes none. Outside of it stands what started it.
    if (works) break;
    inside.push_back(frame);
  }
  std::reverse(inside.begin(), inside.end());
  return works && (fetches || !worker);
}

struct Tally {
  LoaderFunction function;
  std::map<std::int64_t, std::uint32_t> lines;
};

class Tallies {
 public:
  Tallies(const std::vector<Frame>& frames, bool libraries) : frames_(frames), libraries_(libraries) {}

  void add(const std::vector<std::uint32_t>& inside, bool waits) {
    std::set<std::pair<std::string_view, std::string_view>> seen;
    for (std::size_t depth = inside.size(); depth-- > 0;) {  // a function that calls itself counts once
      const Frame& frame = frames_[inside[depth]];
      if (frame.file.empty() || !(libraries_ ? !frame.loaders : frame.users) ||
          !seen.emplace(frame.file, frame.function).second)
        continue;
      Tally& tally = by_function_[{frame.file, frame.function}];
      LoaderFunction& function = tally.function;
      if (function.samples == 0) {
        function.name = frame.function;
        function.file = frame.file;
        function.depth = static_cast<std::uint32_t>(depth);
      }
      ++function.samples;
      if (waits) ++function.waiting;
      ++tally.lines[frame.line];
    }
  }

  std::vector<LoaderFunction> functions() && {
    std::vector<LoaderFunction> found;
    for (auto& [key, tally] : by_function_) {
      tally.function.line = std::max_element(tally.lines.begin(), tally.lines.end(), [](const auto& a, const auto& b) {
                              return a.second < b.second;
                            })->first;
      found.push_back(std::move(tally.function));
    }
    std::stable_sort(found.begin(), found.end(), [](const LoaderFunction& a, const LoaderFunction& b) {
      return a.samples != b.samples ? a.samples > b.samples : a.depth < b.depth;
    });
    return found;
  }

 private:
  const std::vector<Frame>& frames_;
  bool libraries_;
  std::map<std::pair<std::string_view, std::string_view>, Tally> by_function_;
};

bool inside_any(const std::vector<Interval>& waits, std::int64_t time) {
  const auto after = std::upper_bound(waits.begin(), waits.end(), time,
                                      [](std::int64_t t, const Interval& wait) { return t < wait.start_ns; });
  return after != waits.begin() && time < (after - 1)->end_ns;
}

}  // namespace

const LoaderFunction* LoaderStacks::main() const {
  const LoaderFunction* found = nullptr;
  if (samples < kFewestStacks.value) return found;
  for (const LoaderFunction& function : functions) {
    if (function.samples < kMain * samples) break;
    if (found == nullptr || function.depth > found->depth) found = &function;
  }
  return found;
}

LoaderStacks look_into_stacks(const TraceStore& store, const std::vector<SliceId>& waits, bool workers) {
  LoaderStacks stacks;
  stacks.in_workers = workers;
  const auto text = store.process.options.find(std::string(kPythonStacks));
  if (text == store.process.options.end() || waits.empty()) return stacks;
  const PythonStacks sampled = PythonStacks::from_text(text->second);
  std::vector<Interval> times;
  std::set<std::int64_t> waiting_threads;
  for (const SliceId wait : waits) {
    times.push_back({store.slices.start_ns[wait.value], store.slice_end_ns(wait)});
    waiting_threads.insert(store.threads.tid[store.slices.thread[wait.value].value]);
  }
  std::sort(times.begin(), times.end(), [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  const std::vector<Frame> frames = read_frames(sampled);
  Tallies of_user(frames, false);
  Tallies of_all(frames, true);
  std::set<std::int64_t> processes;
  std::vector<std::uint32_t> inside;
  for (const PythonStacks::Sample& sample : sampled.samples) {
    const bool own = sample.pid == store.process.main_pid;
    if (own == workers || !inside_any(times, sample.time_ns)) continue;
    if (own && !waiting_threads.contains(sample.tid)) continue;
    if (!frames_inside(sampled, frames, sample.frame, workers, inside)) continue;
    processes.insert(sample.pid);
    ++stacks.samples;
    of_user.add(inside, sample.state == 2);
    of_all.add(inside, sample.state == 2);
  }
  stacks.workers = workers ? static_cast<std::uint32_t>(processes.size()) : 0;
  stacks.functions = std::move(of_user).functions();
  if (stacks.functions.empty() || stacks.functions.front().samples < kMain * stacks.samples)
    stacks.functions = std::move(of_all).functions();
  return stacks;
}

}  // namespace accel

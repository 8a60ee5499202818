// The extension module accel.profiler._runtime: the runtime SDK for Python. Calls that may wait release the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "accel/profiler/runtime_c.h"
#include "bindings.h"

namespace nb = nanobind;

namespace accel::python {
namespace {

struct Action {
  std::uint32_t kind;
  std::string text;
  bool global;
};

// What rules asked for, from the control thread (which must never wait for the GIL) to a Python thread.
class ActionQueue {
 public:
  static ActionQueue& of_process() {
    static auto* queue = new ActionQueue();  // the control thread outlives main
    return *queue;
  }

  void put(Action action) {
    constexpr std::size_t kMost = 64;
    const std::scoped_lock lock(mutex_);
    if (actions_.size() >= kMost) return;
    actions_.push_back(std::move(action));
    changed_.notify_one();
  }

  // Nobody waits any more, or may again. A thread that waits while the interpreter ends would be unwound through C++.
  void close(bool closed) {
    const std::scoped_lock lock(mutex_);
    closed_ = closed;
    changed_.notify_all();
  }

  std::optional<Action> take(double seconds) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return closed_ || !actions_.empty(); });
    if (actions_.empty()) return std::nullopt;
    Action first = std::move(actions_.front());
    actions_.pop_front();
    return first;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Action> actions_;
  bool closed_ = false;
};

// The one question of the runtime's agreement thread, and its answer from a Python thread.
class Agreement {
 public:
  struct Question {
    std::int64_t proposed;
    unsigned steps;
    std::string rule;
    unsigned timeout_ms;
  };

  static Agreement& of_process() {
    static auto* agreement = new Agreement();  // the runtime's threads outlive main
    return *agreement;
  }

  std::int64_t ask(const Question& question) {
    std::unique_lock lock(mutex_);
    question_ = question;
    answer_.reset();
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::milliseconds(question.timeout_ms), [&] { return answer_.has_value(); });
    question_.reset();
    return answer_.value_or(0);
  }

  void close(bool closed) {
    const std::scoped_lock lock(mutex_);
    closed_ = closed;
    changed_.notify_all();
  }

  std::optional<Question> take(double seconds) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                      [&] { return closed_ || (question_.has_value() && !answer_); });
    if (closed_ || answer_) return std::nullopt;
    return question_;
  }

  void answer(std::int64_t step) {
    const std::scoped_lock lock(mutex_);
    answer_ = step;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Question> question_;
  std::optional<std::int64_t> answer_;
  bool closed_ = false;
};

std::int64_t ask_ranks(std::int64_t proposed, std::uint32_t steps, const char* rule, std::uint32_t timeout_ms, void*) {
  return Agreement::of_process().ask({proposed, steps, rule == nullptr ? "" : rule, timeout_ms});
}

std::optional<std::tuple<long long, unsigned, std::string, unsigned>> wait_for_agreement(double seconds) {
  std::optional<Agreement::Question> question;
  {
    const nb::gil_scoped_release released;
    question = Agreement::of_process().take(seconds);
  }
  if (!question) return std::nullopt;
  return std::tuple<long long, unsigned, std::string, unsigned>(question->proposed, question->steps, question->rule,
                                                                question->timeout_ms);
}

void take_action(std::uint32_t kind, const char* text, int global, void*) {
  ActionQueue::of_process().put({kind, text == nullptr ? "" : text, global != 0});
}

int enable(const std::string& output, int rank, int world_size, unsigned flags, unsigned max_seconds) {
  accel_options options = ACCEL_OPTIONS_INIT;
  options.flags = flags;
  options.output = output.empty() ? nullptr : output.c_str();
  options.rank = rank;
  options.world_size = world_size;
  options.max_capture_seconds = max_seconds;
  const accel_status status = accel_enable(&options);
  if (status == ACCEL_OK) accel_on_action(take_action, nullptr);
  return status;
}

int step(double loss, double samples, long long loader_wait_ns, long long epoch) {
  accel_step_info info = ACCEL_STEP_INFO_INIT;
  info.loss = loss;
  info.samples = samples;
  info.loader_wait_ns = loader_wait_ns;
  info.epoch = epoch;
  return accel_step(&info);
}

// (status, column, message, remedy)
std::tuple<int, unsigned, std::string, std::string> rule_add(const std::string& text) {
  accel_rule_error error{};
  const accel_status status = accel_rule_add(text.c_str(), &error);
  return {status, error.column, error.message, error.remedy};
}

int capture(unsigned wait, unsigned warmup, unsigned active, unsigned repeat, unsigned level, unsigned steady_wait,
            unsigned start_step) {
  const accel_schedule schedule = {sizeof(accel_schedule), wait, warmup, active, repeat, level, steady_wait, start_step,
                                   ACCEL_DEVICE_BY_SESSION};
  return accel_capture(&schedule);
}

int use_python(bool on) {
  const accel_python python = {sizeof(accel_python), on ? static_cast<std::uint32_t>(PY_VERSION_HEX) : 0U,
                               PyInterpreterState_Main(), &PyCode_Type};
  return accel_python_use(&python);
}

std::string python_stack(long long tid) {
  constexpr std::size_t kRoom = 64 * 1024;
  std::string text(kRoom, '\0');
  if (accel_python_stack(tid, text.data(), text.size()) != ACCEL_OK) return {};
  text.resize(text.find('\0'));
  return text;
}

std::optional<std::string> capture_path() {
  char path[4096];
  if (accel_capture_path(path, sizeof path) != ACCEL_OK) return std::nullopt;
  return std::string(path);
}

std::optional<std::tuple<unsigned, std::string, bool>> wait_for_action(double seconds) {
  std::optional<Action> action;
  {
    const nb::gil_scoped_release released;
    action = ActionQueue::of_process().take(seconds);
  }
  if (!action) return std::nullopt;
  return std::tuple<unsigned, std::string, bool>(action->kind, action->text, action->global);
}

}  // namespace
}  // namespace accel::python

NB_MODULE(_runtime, m) {
  using namespace nb::literals;
  namespace ap = accel::python;
  m.doc() = "The recorder of this process. Statuses are those of accel/profiler/runtime_c.h: 0 is done.";
  if (!ap::add_recording_calls(m.ptr()) || !ap::add_scope(m.ptr())) throw nb::python_error();

  m.attr("NO_SIGNAL") = static_cast<unsigned>(ACCEL_NO_SIGNAL);
  m.attr("NO_SOCKET") = static_cast<unsigned>(ACCEL_NO_SOCKET);
  m.def("enable", ap::enable, "output"_a, "rank"_a = -1, "world_size"_a = -1, "flags"_a = 0U, "max_seconds"_a = 0U,
        "Goes to IDLE. About 100 us.");
  m.def("disable", [] { return static_cast<int>(accel_disable()); }, nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "state", [] { return static_cast<int>(accel_runtime_state()); },
      "0 OFF, 1 IDLE, 2 WATCHING, 3 ARMED, 4 ACTIVE, 5 DRAINING");
  m.def("is_active", [] { return accel_is_active() != 0; });
  m.def(
      "wait", [](unsigned timeout_ms) { return static_cast<int>(accel_wait(timeout_ms)); },
      nb::call_guard<nb::gil_scoped_release>(), "timeout_ms"_a,
      "Waits until no window is armed, open or being written.");
  m.def("step", ap::step, "loss"_a, "samples"_a, "loader_wait_ns"_a, "epoch"_a, "The end of a step.");
  m.def(
      "name_of",
      [](const std::string& category, const std::string& name) {
        return accel_name_of(category.c_str(), name.c_str());
      },
      "category"_a, "name"_a);
  m.def("number_of", [](const std::string& name) { return accel_number_of(name.c_str()); }, "name"_a);
  m.def(
      "record", [](unsigned number, double value) { return static_cast<int>(accel_record(number, value)); }, "number"_a,
      "value"_a);
  m.def("mark", [](const std::string& text) { return static_cast<int>(accel_mark(text.c_str())); }, "text"_a);
  m.def("use_python", ap::use_python, "on"_a,
        "Windows sample Python stacks from now on; 0: the layout of this version is known.");
  m.def("python_stack", ap::python_stack, "tid"_a,
        "The stack of a thread, read from outside, innermost frame first, lines of '  file(line): function'. About 20 "
        "us.");
  m.def(
      "python_worker", [](int pid) { return static_cast<int>(accel_python_worker(pid)); }, "pid"_a,
      "A loader's worker process: looked at too while a window is open.");
  m.def("rule_add", ap::rule_add, "text"_a, "(status, column, message, remedy)");
  m.def("rules_clear", [] { return static_cast<int>(accel_rules_clear()); });
  m.def("capture", ap::capture, "wait"_a, "warmup"_a, "active"_a, "repeat"_a, "level"_a, "steady_wait"_a,
        "start_step"_a = 0U, "Arms a window.");
  m.def("capture_stop", [] { return static_cast<int>(accel_capture_stop()); });
  m.def(
      "window_now",
      [] {
        const accel_window now = accel_window_now();
        return std::tuple<unsigned, unsigned>(now.phase, now.level);
      },
      "(phase, level) of the step that runs now: phase 0 no window, 2 warm-up, 3 kept.");
  m.def("capture_path", ap::capture_path, "The newest capture file.");
  m.def(
      "close_waits",
      [](bool closed) {
        ap::ActionQueue::of_process().close(closed);
        ap::Agreement::of_process().close(closed);
      },
      "closed"_a, "True: wait_for_action and wait_for_agreement return at once from now on.");
  m.def(
      "listen_for_agreements",
      [](bool on) { return static_cast<int>(accel_on_agreement(on ? ap::ask_ranks : nullptr, nullptr)); }, "on"_a,
      "Rules with @global ask wait_for_agreement() from now on.");
  m.def("wait_for_agreement", ap::wait_for_agreement, "seconds"_a,
        "(proposed step, steps, rule, time limit in ms) that a rule asked for, or None.");
  m.def(
      "answer_agreement", [](long long step) { ap::Agreement::of_process().answer(step); }, "step"_a,
      "The first step that all ranks keep; 0: they do not agree.");
  m.def(
      "notify",
      [](const std::string& target, const std::string& message) {
        return static_cast<int>(accel_notify(target.c_str(), message.c_str()));
      },
      "target"_a, "message"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("wait_for_action", ap::wait_for_action, "seconds"_a, "(kind, text, global) that a rule asked for, or None.");
}

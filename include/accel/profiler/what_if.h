// accel-profiler: what a training step would take if something were different. A capture is read and analysed once; its
// dependency graph, without what the recording cost, is then replayed with any list of changes. C++20; link
// accel-profiler::engine. Nothing throws; a Capture may be asked from any thread.
//
//   using namespace accel::profiler::what_if;
//   auto capture = Capture::open("trace.json.gz");
//   if (!capture.ok()) return complain(capture.error());
//   const Change changes[] = {no_sync(), scale("attention", 0.4)};
//   const Answer answer = capture.ask(changes);
//   if (answer.ok()) use(answer.step.expected_ms, answer.step.low_ms, answer.step.high_ms);
//
// docs/design/what-if.md says what each change does to the graph, what the bands mean, and where it stops being true.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#if defined(_WIN32)
#define ACCEL_ENGINE_API
#else
#define ACCEL_ENGINE_API __attribute__((visibility("default")))
#endif

namespace accel::profiler::what_if {

// One change. A list of them composes: they are applied in order and the step is replayed once.
class Change {
 public:
  // As `accel-profiler analyze --what-if` reads it, for example "no_host(collate)". What it means is checked when it is
  // asked about.
  explicit Change(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// NAME is a part of the name of a kernel, or of an op, range, frame or call that launched it or encloses it;
// alternatives are separated by |. Where it may be left out, everything is meant that the change can act on.
ACCEL_ENGINE_API Change no_sync(std::string_view name = {});          // waits for the device return at once
ACCEL_ENGINE_API Change data_ready();                                 // fetching a batch takes no time
ACCEL_ENGINE_API Change pin_overlap();                                // copies block nobody and run beside kernels
ACCEL_ENGINE_API Change graph(std::string_view name = {});            // the launches of a step become one call
ACCEL_ENGINE_API Change fuse(std::string_view name = {});             // runs of element-wise kernels become one each
ACCEL_ENGINE_API Change roofline(std::string_view name);              // kernels as good as others of this capture
ACCEL_ENGINE_API Change no_alloc();                                   // allocating and freeing takes no time
ACCEL_ENGINE_API Change no_host(std::string_view name);               // host time goes away
ACCEL_ENGINE_API Change overlap_comm(std::string_view name = {});     // communication runs beside the kernels after it
ACCEL_ENGINE_API Change scale(std::string_view name, double factor);  // host and device time times the factor
ACCEL_ENGINE_API Change checkpoint(std::string_view name);            // the forward runs again in the backward

struct Step {
  double expected_ms = 0;
  double low_ms = 0;
  double high_ms = 0;
};

struct Answer {
  Step step;
  double speedup = 0;  // undisturbed step over step.expected_ms
  std::string error;   // what was wrong with the changes, or why there is no step to replay
  bool ok() const { return error.empty(); }
};

class Capture {
 public:
  // A capture of one rank, in any format that the command reads. `threads`: 0 = one per core.
  ACCEL_ENGINE_API static Capture open(const std::string& path, unsigned threads = 0);
  ACCEL_ENGINE_API Capture(Capture&&) noexcept;
  ACCEL_ENGINE_API Capture& operator=(Capture&&) noexcept;
  ACCEL_ENGINE_API ~Capture();

  bool ok() const { return error().empty(); }
  ACCEL_ENGINE_API const std::string& error() const;  // why it could not be read, or has no complete step

  ACCEL_ENGINE_API double recorded_step_ms() const;
  ACCEL_ENGINE_API Step undisturbed_step() const;     // what it would take without the recording
  ACCEL_ENGINE_API double replay_error() const;       // |replayed / recorded - 1| of the recorded steps, unchanged
  ACCEL_ENGINE_API double unexplained_share() const;  // of the replayed path on edges of no known cause
  ACCEL_ENGINE_API Answer ask(std::span<const Change> changes) const;

 private:
  struct State;
  explicit Capture(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace accel::profiler::what_if

// The question of Amdahl, asked of a capture: what is each part worth before anybody works on it?
//
//   c++ -std=c++20 what_if.cpp -laccel_profiler_engine -o what_if && ./what_if trace.json.gz
//   what_if trace.json.gz CHANGE...      a question of your own: the changes compose
#include <accel/profiler/what_if.h>

#include <cstdio>
#include <vector>

namespace w = accel::profiler::what_if;

namespace {

int ask(const w::Capture& capture, const char* title, const std::vector<w::Change>& changes) {
  const w::Answer answer = capture.ask(changes);
  if (!answer.ok()) {
    std::fprintf(stderr, "%s\n", answer.error.c_str());
    return 2;
  }
  std::printf("%-34s %8.3f ms (%.3f to %.3f), %.2fx\n", title, answer.step.expected_ms, answer.step.low_ms,
              answer.step.high_ms, answer.speedup);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s TRACE [CHANGE...]\n", words[0]);
    return 2;
  }
  const w::Capture capture = w::Capture::open(words[1]);
  if (!capture.ok()) {
    std::fprintf(stderr, "%s\n", capture.error().c_str());
    return 1;
  }
  const w::Step step = capture.undisturbed_step();
  std::printf("recorded %.3f ms, without the recording %.3f ms (%.3f to %.3f); replayed within %.2f %%\n",
              capture.recorded_step_ms(), step.expected_ms, step.low_ms, step.high_ms, 100 * capture.replay_error());
  if (count > 2) {
    std::vector<w::Change> changes;
    for (int i = 2; i < count; ++i) changes.emplace_back(words[i]);
    return ask(capture, "all of these", changes);
  }
  int status = ask(capture, "no waits for the device", {w::no_sync()});
  status |= ask(capture, "matrix products twice as fast", {w::scale("aten::addmm|aten::mm", 0.5)});
  status |= ask(capture, "element-wise kernels fused", {w::fuse()});
  status |= ask(capture, "one CUDA graph", {w::graph()});
  status |= ask(capture, "a graph of fused kernels", {w::fuse(), w::graph()});
  return status;
}

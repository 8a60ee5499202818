// A small training job whose data loading is slow on purpose, with the recorder asleep inside.
//
//   slow_loader [--output DIR] [--load-ms N] [--work-ms N] [--seconds N] [--rule RULE]
//
// It is woken by a rule (by default when the loss has settled) or by `kill -USR1 PID`. Ends when a capture was taken
// and its time is up; prints the path of the capture.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "accel/profiler/runtime.h"

namespace {

namespace ap = accel::profiler;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kFeatures = 64;
constexpr std::size_t kBatch = 256;

struct Batch {
  std::vector<double> inputs = std::vector<double>(kBatch * kFeatures);
  std::vector<double> targets = std::vector<double>(kBatch);
};

struct Job {
  std::string output;
  std::string rule = "stable(loss, 1e-3, 5) => capture_next_steps(8)";
  int load_ms = 20;
  int work_ms = 10;
  int seconds = 20;
};

// The planted fault: a loader that takes its time for every batch.
std::int64_t load(const Job& job, unsigned step, Batch& batch) {
  static const ap::Name kLoad("load batch", ap::category::kDataLoading);
  const ap::Scope scope(kLoad);
  const Clock::time_point start = Clock::now();
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) batch.inputs[i] = std::sin(static_cast<double>(i + step * 17));
  for (std::size_t row = 0; row < kBatch; ++row)
    batch.targets[row] = batch.inputs[row * kFeatures] * 2 - batch.inputs[row * kFeatures + 1];
  std::this_thread::sleep_until(start + std::chrono::milliseconds(job.load_ms));
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

double forward_backward(const Job& job, const Batch& batch, const std::vector<double>& weights,
                        std::vector<double>& gradient) {
  static const ap::Name kForward("forward and backward", ap::category::kCompute);
  ap::Scope scope(kForward);
  scope.shape("[[256, 64], [64]]", "f64");
  const Clock::time_point until = Clock::now() + std::chrono::milliseconds(job.work_ms);
  double loss = 0;
  do {
    loss = 0;
    gradient.assign(kFeatures, 0);
    for (std::size_t row = 0; row < kBatch; ++row) {
      double error = -batch.targets[row];
      for (std::size_t f = 0; f < kFeatures; ++f) error += weights[f] * batch.inputs[row * kFeatures + f];
      loss += error * error / kBatch;
      for (std::size_t f = 0; f < kFeatures; ++f) gradient[f] += 2 * error * batch.inputs[row * kFeatures + f] / kBatch;
    }
  } while (Clock::now() < until);
  return loss;
}

void update(std::vector<double>& weights, const std::vector<double>& gradient) {
  static const ap::Name kUpdate("update", ap::category::kCompute);
  const ap::Scope scope(kUpdate);
  for (std::size_t f = 0; f < kFeatures; ++f) weights[f] -= 0.02 * gradient[f];
}

bool parse(int argc, char** argv, Job& job) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--output") {
      job.output = value;
    } else if (name == "--rule") {
      job.rule = value;
    } else if (name == "--load-ms") {
      job.load_ms = std::atoi(value);
    } else if (name == "--work-ms") {
      job.work_ms = std::atoi(value);
    } else if (name == "--seconds") {
      job.seconds = std::atoi(value);
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

}  // namespace

int main(int argc, char** argv) {
  Job job;
  if (!parse(argc, argv, job)) {
    std::fprintf(stderr, "usage: slow_loader [--output DIR] [--load-ms N] [--work-ms N] [--seconds N] [--rule RULE]\n");
    return 2;
  }
  ap::Options options;
  if (!job.output.empty()) options.output = job.output.c_str();
  ap::Runtime::enable(options);
  accel_rule_error error{};
  if (!job.rule.empty() && ap::Runtime::rule(job.rule.c_str(), &error) == ACCEL_INVALID_ARGUMENT) {
    std::fprintf(stderr, "column %u: %s; %s\n", error.column, error.message, error.remedy);
    return 2;
  }
  std::printf("pid %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);

  Batch batch;
  std::vector<double> weights(kFeatures, 0);
  std::vector<double> gradient;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(job.seconds);
  for (unsigned step = 0; Clock::now() < end; ++step) {
    ap::Step mark;
    mark.loader_wait_ns = load(job, step, batch);
    mark.loss = forward_backward(job, batch, weights, gradient);
    mark.samples = kBatch;
    update(weights, gradient);
    ap::Runtime::step(mark);
    const bool resting = ap::Runtime::state() == ACCEL_STATE_IDLE || ap::Runtime::state() == ACCEL_STATE_WATCHING;
    if (resting && !ap::Runtime::newest_capture().empty()) break;
  }
  ap::Runtime::disable();
  ap::Runtime::wait(5000);
  std::printf("capture %s\n", ap::Runtime::newest_capture().c_str());
  return ap::Runtime::newest_capture().empty() ? 1 : 0;
}

#include "runtime/python/python_sampler.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "accel/profiler/runtime_c.h"
#include "runtime/buffer/clock.h"
#include "runtime/buffer/detached_thread.h"
#include "runtime/session/mapped.h"

namespace accel::runtime::python {
namespace {

constexpr std::int64_t kShortestNs = 2'000'000;
constexpr std::int64_t kLongestNs = 50'000'000;
constexpr std::int64_t kRestPerCost = 120;  // less than one per cent of a core

std::int64_t thread_cpu_ns() {
  timespec used{};
  return ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0 ? used.tv_sec * 1'000'000'000 + used.tv_nsec : 0;
}

void nap(std::int64_t ns) {
  const timespec pause = {ns / 1'000'000'000, ns % 1'000'000'000};
  ::nanosleep(&pause, nullptr);
}

template <typename T>
void free_mapped(T*& object) {
  if (object != nullptr) ::munmap(object, sizeof(T));
  object = nullptr;
}

constinit PythonSampler g_sampler;

}  // namespace

PythonSampler& python_sampler() { return g_sampler; }

// One thread to look at. Its state is read first: what the scheduler says of it belongs to the place it stands at.
struct PythonSampler::Target {
  std::int32_t pid = 0;
  std::int64_t tid = 0;  // 0: the main thread
  StackReader reader;
  std::uint64_t thread = 0;
  int state_file = -1;
  bool gone = false;
  bool counted_refused = false;

  void begin(const Interpreter& interpreter, std::int32_t of_pid, std::int64_t of_tid) {
    end();
    pid = of_pid;
    tid = of_tid;
    thread = 0;
    gone = false;
    reader = StackReader(interpreter, of_pid);
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/task/%lld/stat", pid, static_cast<long long>(tid == 0 ? pid : tid));
    state_file = ::open(path, O_RDONLY | O_CLOEXEC);
    // /proc may be that of an outer PID namespace, in which this process has another number.
    gone = state_file < 0 && pid != ::getpid();
  }
  void end() {
    if (state_file >= 0) ::close(state_file);
    state_file = -1;
  }
  std::uint8_t state() {
    if (state_file < 0) return 0;
    char text[512];
    const ssize_t got = ::pread(state_file, text, sizeof text - 1, 0);
    if (got <= 0) {
      gone = true;
      return 0;
    }
    text[got] = 0;
    const char* after_name = std::strrchr(text, ')');
    if (after_name == nullptr || after_name[1] == 0) return 0;
    if (after_name[2] == 'Z' || after_name[2] == 'X') gone = true;
    return after_name[2] == 'R' ? 1 : 2;
  }
};

struct PythonSampler::Targets {
  Target own;
  Target workers[kMostWorkers];
  std::uint32_t workers_begun = 0;
  Stack stack;
};

void PythonSampler::use(const Interpreter& interpreter) {
  version_.store(0, std::memory_order_release);
  interpreter_.store(interpreter.interpreter, std::memory_order_relaxed);
  code_type_.store(interpreter.code_type, std::memory_order_relaxed);
  version_.store(interpreter.version, std::memory_order_release);
}

Interpreter PythonSampler::interpreter() const {
  Interpreter found;
  found.version = version_.load(std::memory_order_acquire);
  found.interpreter = interpreter_.load(std::memory_order_relaxed);
  found.code_type = code_type_.load(std::memory_order_relaxed);
  return found;
}

void PythonSampler::add_worker(std::int32_t pid) {
  const std::uint32_t count = worker_count_.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count && i < kMostWorkers; ++i) {
    if (workers_[i].load(std::memory_order_relaxed) == pid) return;
  }
  const std::uint32_t slot = worker_count_.load(std::memory_order_relaxed);
  if (slot >= kMostWorkers) return;
  workers_[slot].store(pid, std::memory_order_relaxed);
  worker_count_.store(slot + 1, std::memory_order_release);
}

bool PythonSampler::start() {
  if (tree_ != nullptr || running_.load(std::memory_order_acquire) || interpreter().version == 0) return false;
  tree_ = make_mapped<StackTree>();
  ring_ = make_mapped<Ring>();
  targets_ = make_mapped<Targets>();
  if (tree_ == nullptr || ring_ == nullptr || targets_ == nullptr) {
    done();
    return false;
  }
  head_.store(0, std::memory_order_relaxed);
  tail_.store(0, std::memory_order_relaxed);
  worker_count_.store(0, std::memory_order_relaxed);
  for (std::atomic<std::uint64_t>* count : {&samples_, &missed_, &dropped_, &cut_})
    count->store(0, std::memory_order_relaxed);
  workers_seen_.store(0, std::memory_order_relaxed);
  refused_.store(0, std::memory_order_relaxed);
  own_refused_.store(false, std::memory_order_relaxed);
  cost_ns_.store(0, std::memory_order_relaxed);
  looked_ns_.store(0, std::memory_order_relaxed);
  wanted_.store(true, std::memory_order_release);
  running_.store(true, std::memory_order_release);
  // Not at a lower priority: on a busy machine it would look only when nobody else runs.
  const bool started =
      start_detached("accel-stacks", 0, [](void* self) { static_cast<PythonSampler*>(self)->loop(); }, this);
  if (started) return true;
  running_.store(false, std::memory_order_release);
  done();
  return false;
}

void PythonSampler::stop() {
  wanted_.store(false, std::memory_order_release);
  for (int i = 0; i < 300 && running_.load(std::memory_order_acquire); ++i) nap(1'000'000);
}

void PythonSampler::done() {
  if (running_.load(std::memory_order_acquire)) return;  // it does not come to an end: its memory stays its own
  free_mapped(tree_);
  free_mapped(ring_);
  free_mapped(targets_);
}

bool PythonSampler::take(StackRecord& record) {
  if (ring_ == nullptr) return false;
  const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
  if (tail == head_.load(std::memory_order_acquire)) return false;
  record = ring_->records[tail % kRecords];
  tail_.store(tail + 1, std::memory_order_release);
  return true;
}

PythonSampler::Figures PythonSampler::figures() const {
  return {samples_.load(std::memory_order_relaxed),      missed_.load(std::memory_order_relaxed),
          dropped_.load(std::memory_order_relaxed),      cut_.load(std::memory_order_relaxed),
          workers_seen_.load(std::memory_order_relaxed), refused_.load(std::memory_order_relaxed),
          own_refused_.load(std::memory_order_relaxed),  cost_ns_.load(std::memory_order_relaxed),
          looked_ns_.load(std::memory_order_relaxed)};
}

void PythonSampler::look(Target& target) {
  if (target.gone || !target.reader.usable()) return;
  const std::uint64_t time = ticks();
  const std::uint8_t state = target.state();
  if (target.gone) return;
  // A thread state may be freed and its memory used again: it is asked for its number, the main thread is looked for.
  if (target.tid == 0 ? target.thread == 0 : !target.reader.is_thread(target.thread, target.tid))
    target.thread = target.reader.find_thread(target.tid);
  Stack& stack = targets_->stack;
  const std::uint32_t frame =
      target.thread != 0 && target.reader.read(target.thread, stack) ? tree_->add(target.reader, target.pid, stack) : 0;
  if (frame == 0) {
    missed_.fetch_add(1, std::memory_order_relaxed);
    target.thread = 0;
    return;
  }
  if (stack.cut) cut_.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t head = head_.load(std::memory_order_relaxed);
  if (head - tail_.load(std::memory_order_acquire) == kRecords) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  ring_->records[head % kRecords] = {time, frame, static_cast<std::uint32_t>(target.pid),
                                     static_cast<std::uint32_t>(target.tid == 0 ? target.pid : target.tid), state};
  head_.store(head + 1, std::memory_order_release);
  samples_.fetch_add(1, std::memory_order_relaxed);
}

std::int64_t PythonSampler::look_at_all(Targets& targets) {
  const std::uint32_t tid = training_tid_.load(std::memory_order_relaxed);
  const auto pid = static_cast<std::int32_t>(::getpid());
  // The main thread's number in the thread state can be that of a parent before a fork.
  const std::int64_t wanted = tid == 0 || tid == static_cast<std::uint32_t>(pid) ? 0 : tid;
  const Interpreter now = interpreter();
  if (now.version == 0) return 0;
  if (targets.own.pid == 0 || targets.own.tid != wanted) targets.own.begin(now, pid, wanted);
  const std::uint32_t workers = worker_count_.load(std::memory_order_acquire);
  for (; targets.workers_begun < workers; ++targets.workers_begun) {
    targets.workers[targets.workers_begun].begin(now, workers_[targets.workers_begun].load(std::memory_order_relaxed),
                                                 0);
    workers_seen_.fetch_add(1, std::memory_order_relaxed);
  }
  const std::int64_t before = thread_cpu_ns();  // what comes once is no measure of a look
  look(targets.own);
  if (targets.own.reader.refused()) own_refused_.store(true, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < workers; ++i) {
    Target& worker = targets.workers[i];
    look(worker);
    if (!worker.counted_refused && worker.reader.refused()) {
      worker.counted_refused = true;
      refused_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return thread_cpu_ns() - before;
}

// The moments are random around their mean distance, so that they do not fall in step with what repeats.
void PythonSampler::loop() {
  auto random = static_cast<std::uint32_t>(ticks()) | 1U;
  std::int64_t usual_ns = 100'000;  // the first look reads what the others remember
  while (wanted_.load(std::memory_order_acquire)) {
    if (accel_is_active() == 0) {
      nap(kShortestNs);
      continue;
    }
    const std::int64_t began = monotonic_ns();
    const std::int64_t cost = look_at_all(*targets_);
    usual_ns += (cost - usual_ns) / 8;
    cost_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
    std::int64_t rest = usual_ns * kRestPerCost;
    if (rest < kShortestNs) rest = kShortestNs;
    if (rest > kLongestNs) rest = kLongestNs;
    random ^= random << 13U;
    random ^= random >> 17U;
    random ^= random << 5U;
    nap(rest / 2 + static_cast<std::int64_t>(random % 1024) * rest / 1024);
    looked_ns_.fetch_add(monotonic_ns() - began, std::memory_order_relaxed);
  }
  targets_->own.end();
  for (Target& worker : targets_->workers) worker.end();
  running_.store(false, std::memory_order_release);
}

}  // namespace accel::runtime::python

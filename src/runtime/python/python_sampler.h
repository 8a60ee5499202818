// PythonSampler: while a window is open, notes at random moments where the training thread and the workers of its data
// loader stand in their Python code. One thread of its own, which reads from outside (stack_reader.h) and costs the
// threads that it looks at nothing but memory traffic; it takes at most one per cent of a core and looks less often
// where stacks are deep or workers many. One in a process; nothing of it runs in the child of a fork.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/python/stack_tree.h"

namespace accel::runtime::python {

struct StackRecord {
  std::uint64_t time = 0;  // ticks
  std::uint32_t frame = 0;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint8_t state = 0;
};

class PythonSampler {
 public:
  static constexpr std::uint32_t kMostWorkers = 64;

  // The interpreter to read; version 0: none any more. Any thread, one call at a time.
  void use(const Interpreter& interpreter);
  // The interpreter in use; version 0: none.
  Interpreter interpreter() const;
  // Another process of the same interpreter that does work for this one; any thread. Known ones are asked about again.
  void add_worker(std::int32_t pid);

  // Window: control thread. False: no interpreter, no memory, or no thread.
  bool start();
  // The thread that marks steps; until it is known the main thread is looked at.
  void training_thread(std::uint32_t tid) { training_tid_.store(tid, std::memory_order_relaxed); }
  bool take(StackRecord& record);
  const StackTree& tree() const { return *tree_; }
  // Waits until the thread has ended, at most 300 ms. What was not taken can be taken still, until done().
  void stop();
  void done();
  bool runs() const { return tree_ != nullptr; }

  struct Figures {
    std::uint64_t samples = 0;
    std::uint64_t missed = 0;   // looks without a stack
    std::uint64_t dropped = 0;  // the window's file was too slow
    std::uint64_t cut = 0;      // inner places changed while they were read
    std::uint32_t workers = 0;
    std::uint32_t refused = 0;  // workers whose memory the system does not show
    bool own_refused = false;
    std::int64_t cost_ns = 0;
    std::int64_t seconds_ns = 0;  // that the thread looked
  };
  Figures figures() const;
  std::int64_t cost_ns() const { return cost_ns_.load(std::memory_order_relaxed); }

 private:
  struct Target;
  struct Targets;
  void loop();
  void look(Target& target);
  std::int64_t look_at_all(Targets& targets);

  static constexpr std::uint32_t kRecords = 8192;
  struct Ring {
    StackRecord records[kRecords];
  };

  std::atomic<std::uint32_t> version_{0};
  std::atomic<std::uint64_t> interpreter_{0};
  std::atomic<std::uint64_t> code_type_{0};
  std::atomic<std::uint32_t> training_tid_{0};
  std::atomic<std::int32_t> workers_[kMostWorkers] = {};
  std::atomic<std::uint32_t> worker_count_{0};
  std::atomic<bool> wanted_{false};
  std::atomic<bool> running_{false};
  std::atomic<std::uint32_t> head_{0};
  std::atomic<std::uint32_t> tail_{0};
  std::atomic<std::uint64_t> samples_{0};
  std::atomic<std::uint64_t> missed_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> cut_{0};
  std::atomic<std::uint32_t> workers_seen_{0};
  std::atomic<std::uint32_t> refused_{0};
  std::atomic<bool> own_refused_{false};
  std::atomic<std::int64_t> cost_ns_{0};
  std::atomic<std::int64_t> looked_ns_{0};
  StackTree* tree_ = nullptr;
  Ring* ring_ = nullptr;
  Targets* targets_ = nullptr;
};

PythonSampler& python_sampler();

}  // namespace accel::runtime::python

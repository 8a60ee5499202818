// FrameRecorder: what the threads of the host did, as fixed records in one ring per thread. The thread alone writes its
// ring, one drainer alone reads it: no lock and no system call on the way. A full ring drops the new record and counts
// it. Rings come from one budget; a thread beyond it records nothing and is counted.
//
// A thread's block (header and ring) is made at its first scope and lives until the process ends; when the thread dies
// it goes to the next new thread. close() gives the rings' pages back to the system and keeps the addresses valid, so a
// scope that ends late writes into memory that exists. The object itself is never destroyed (threads may outlive main).
//
// begin, end: the recording thread, any signal context excepted. drain and close: one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/buffer/clock.h"

namespace accel::runtime {

struct ScopeRecord {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t bytes;
  std::uint32_t name;
  std::uint32_t args;
};
static_assert(sizeof(ScopeRecord) == 32);

// What a running scope carries from begin to end. begin 0 = nothing is recorded.
struct OpenScope {
  std::uint64_t begin;
  std::uint32_t name;
  std::uint32_t depth;
};

class ThreadBlock;

class FrameRecorder {
 public:
  static constexpr std::uint32_t kMaxThreads = 4096;
  static constexpr std::uint32_t kMaxOpen = 64;  // open scopes that a hang dump can show
  static constexpr std::size_t kDefaultBudget = std::size_t{64} << 20;

  // Where records go, in order per thread; thread() comes before the first record of a thread. Numbers of threads are
  // not used twice in a process. Function pointers: virtual functions would need the C++ runtime.
  struct Sink {
    void* context;
    void (*thread)(void* context, std::uint32_t thread, std::uint32_t tid, const char* name);
    void (*scope)(void* context, std::uint32_t thread, const ScopeRecord& record);
  };

  FrameRecorder() = default;
  FrameRecorder(const FrameRecorder&) = delete;
  FrameRecorder& operator=(const FrameRecorder&) = delete;

  void set_budget(std::size_t bytes) { budget_.store(bytes, std::memory_order_relaxed); }

  OpenScope begin(std::uint32_t name);
  void end(const OpenScope& scope, std::uint32_t args, std::uint64_t bytes);

  // A record without a duration, in the same ring.
  void instant(std::uint32_t name, std::uint64_t bytes);

  // Forgets what is in the rings: a new recording begins. False = no memory. Nothing is recorded before the first
  // open().
  bool open();
  // Hands on what the rings hold. `full` in return: some ring was at least half full, so come back sooner.
  bool drain(const Sink& sink);
  // The scopes that are open now on all threads, as records with end = ~0.
  void open_scopes(const Sink& sink) const;
  void close();

  std::uint64_t dropped() const;  // records, since open()
  std::uint64_t refused_threads() const { return refused_.load(std::memory_order_relaxed); }
  std::uint32_t threads() const;
  std::size_t reserved_bytes() const { return reserved_.load(std::memory_order_relaxed); }

  // Records of the busiest thread since the last call, dropped ones included. The drainer's thread.
  std::uint64_t busiest_records();
  // Scopes of this name cost a look at a bit and are not recorded from here on, up to the next open(). False: no
  // memory.
  bool mute(std::uint32_t name);

  // In the child of a fork: its threads are gone and nothing is recorded any more.
  void fall_silent();

 private:
  ThreadBlock* attach();
  static void push(ThreadBlock& block, std::uint64_t begin, std::uint64_t bytes, std::uint32_t name,
                   std::uint32_t args);
  ThreadBlock* make_block();
  ThreadBlock* block(std::uint32_t index) const {
    return blocks_.load(std::memory_order_acquire)[index].load(std::memory_order_acquire);
  }
  static void thread_ends(void* block);

  std::atomic<std::size_t> budget_{kDefaultBudget};
  std::atomic<std::size_t> reserved_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint32_t> count_{0};  // blocks made
  std::atomic<bool> silent_{false};
  static constexpr std::uint32_t kMaxMutable = 65536;  // as many names as there are
  bool is_muted(std::uint32_t name) const {
    const std::atomic<std::uint64_t>* bits = muted_.load(std::memory_order_acquire);
    return __builtin_expect(static_cast<long>(bits != nullptr), 0) != 0 && name < kMaxMutable &&
           (bits[name / 64].load(std::memory_order_relaxed) >> (name % 64) & 1U) != 0;
  }

  std::atomic<std::atomic<std::uint64_t>*> muted_{nullptr};  // null while nothing is muted
  std::atomic<std::uint64_t>* muted_memory_ = nullptr;
  std::atomic<std::atomic<ThreadBlock*>*> blocks_{nullptr};  // kMaxThreads of them, made by the first open()
};

}  // namespace accel::runtime

#include "runtime/buffer/frame_recorder.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <new>

namespace accel::runtime {

// The producer's fields and the consumer's stand on cache lines of their own.
class ThreadBlock {
 public:
  enum class Owner : std::uint32_t { nobody, thread, dead_thread };
  struct Open {
    std::atomic<std::uint64_t> begin;
    std::atomic<std::uint32_t> name;
  };

  // producer
  alignas(64) std::atomic<std::uint64_t> head{0};
  std::uint64_t seen_tail = 0;
  ScopeRecord* records = nullptr;
  std::uint64_t mask = 0;
  std::atomic<std::uint32_t> depth{0};
  std::atomic<std::uint64_t> dropped{0};
  // consumer
  alignas(64) std::atomic<std::uint64_t> tail{0};
  std::uint64_t dropped_before = 0;  // at open()
  std::uint64_t looked_at = 0;       // head and dropped at the last busiest_records()
  std::uint32_t announced_life = 0;  // the owner whose thread() the sink has had
  // both, rarely
  alignas(64) std::atomic<Owner> owner{Owner::nobody};
  std::atomic<std::uint32_t> life{0};  // counts owners
  std::atomic<std::uint32_t> tid{0};
  std::uint32_t index = 0;
  std::size_t ring_bytes = 0;
  char name[16] = {};
  Open open[FrameRecorder::kMaxOpen] = {};
};

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHeader = (sizeof(ThreadBlock) + kPage - 1) / kPage * kPage;

// Large rings while there is plenty of budget, smaller ones as it runs out: 1,000 threads fit the default.
constexpr std::size_t kRingSizes[] = {256 << 10, 64 << 10, 16 << 10};

// One pointer of static TLS, which a library loaded late still gets; the general model costs a call each time.
__thread ThreadBlock* t_block __attribute__((tls_model("initial-exec"))) = nullptr;
__thread bool t_ended __attribute__((tls_model("initial-exec"))) = false;

pthread_key_t g_key;  // made by the first open(), before any block exists
bool g_key_made = false;

std::uint32_t own_tid() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

}  // namespace

void FrameRecorder::thread_ends(void* pointer) {
  auto* block = static_cast<ThreadBlock*>(pointer);
  t_block = nullptr;
  t_ended = true;  // scopes in destructors that run after this one are not recorded
  block->depth.store(0, std::memory_order_relaxed);
  block->owner.store(ThreadBlock::Owner::dead_thread, std::memory_order_release);
}

ThreadBlock* FrameRecorder::make_block() {
  const std::size_t budget = budget_.load(std::memory_order_relaxed);
  for (std::size_t step = 0; step < sizeof kRingSizes / sizeof kRingSizes[0]; ++step) {
    const std::size_t bytes = kHeader + kRingSizes[step];
    const std::size_t limit = step == 0 ? budget / 2 : step == 1 ? budget / 4 * 3 : budget;
    std::size_t reserved = reserved_.load(std::memory_order_relaxed);
    bool fits = true;
    do {
      fits = reserved + bytes <= limit;
    } while (fits && !reserved_.compare_exchange_weak(reserved, reserved + bytes, std::memory_order_relaxed));
    if (!fits) continue;
    const std::uint32_t index = count_.fetch_add(1, std::memory_order_relaxed);
    void* memory = index < kMaxThreads ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                       : MAP_FAILED;
    if (memory == MAP_FAILED) {
      if (index >= kMaxThreads) count_.store(kMaxThreads, std::memory_order_relaxed);
      reserved_.fetch_sub(bytes, std::memory_order_relaxed);
      return nullptr;
    }
    auto* block = new (memory) ThreadBlock();
    block->records = reinterpret_cast<ScopeRecord*>(static_cast<char*>(memory) + kHeader);
    block->ring_bytes = kRingSizes[step];
    block->mask = kRingSizes[step] / sizeof(ScopeRecord) - 1;
    block->index = index;
    block->owner.store(ThreadBlock::Owner::thread, std::memory_order_relaxed);
    blocks_.load(std::memory_order_relaxed)[index].store(block, std::memory_order_release);
    return block;
  }
  return nullptr;
}

// The first scope of a thread: some ten microseconds, once.
ThreadBlock* FrameRecorder::attach() {
  if (t_ended || silent_.load(std::memory_order_relaxed) || blocks_.load(std::memory_order_acquire) == nullptr)
    return nullptr;
  ThreadBlock* block = nullptr;
  const std::uint32_t count = threads();
  for (std::uint32_t i = 0; i < count && block == nullptr; ++i) {
    ThreadBlock* old = this->block(i);
    ThreadBlock::Owner nobody = ThreadBlock::Owner::nobody;
    if (old != nullptr && old->owner.load(std::memory_order_relaxed) == nobody &&
        old->owner.compare_exchange_strong(nobody, ThreadBlock::Owner::thread, std::memory_order_acquire)) {
      block = old;
    }
  }
  if (block == nullptr) block = make_block();
  if (block == nullptr) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    t_ended = true;  // do not ask again on every scope
    return nullptr;
  }
  block->tid.store(own_tid(), std::memory_order_relaxed);
  ::prctl(PR_GET_NAME, block->name);
  block->life.fetch_add(1, std::memory_order_release);
  ::pthread_setspecific(g_key, block);
  t_block = block;
  return block;
}

OpenScope FrameRecorder::begin(std::uint32_t name) {
  if (is_muted(name)) return {0, 0, 0};
  ThreadBlock* block = t_block;
  if (__builtin_expect(static_cast<long>(block == nullptr), 0) != 0) {
    block = attach();
    if (block == nullptr) return {0, 0, 0};
  }
  const std::uint32_t depth = block->depth.load(std::memory_order_relaxed);
  const std::uint64_t now = ticks();
  if (depth < kMaxOpen) {
    block->open[depth].name.store(name, std::memory_order_relaxed);
    block->open[depth].begin.store(now, std::memory_order_relaxed);
  }
  block->depth.store(depth + 1, std::memory_order_relaxed);
  return {now, name, depth};
}

void FrameRecorder::end(const OpenScope& scope, std::uint32_t args, std::uint64_t bytes) {
  ThreadBlock* block = t_block;
  if (block == nullptr || scope.begin == 0) return;
  // Taken from the scope, so that scopes that were begun and never ended do not pile up.
  block->depth.store(scope.depth, std::memory_order_relaxed);
  push(*block, scope.begin, bytes, scope.name, args);
}

void FrameRecorder::instant(std::uint32_t name, std::uint64_t bytes) {
  ThreadBlock* block = t_block != nullptr ? t_block : attach();
  if (block != nullptr) push(*block, ticks(), bytes, name, 0);
}

inline void FrameRecorder::push(ThreadBlock& block, std::uint64_t begin, std::uint64_t bytes, std::uint32_t name,
                                std::uint32_t args) {
  const std::uint64_t head = block.head.load(std::memory_order_relaxed);
  if (head - block.seen_tail > block.mask) {
    block.seen_tail = block.tail.load(std::memory_order_acquire);
    if (head - block.seen_tail > block.mask) {
      block.dropped.store(block.dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
  }
  block.records[head & block.mask] = {begin, ticks(), bytes, name, args};
  block.head.store(head + 1, std::memory_order_release);
}

std::uint32_t FrameRecorder::threads() const {
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  return count < kMaxThreads ? count : kMaxThreads;
}

bool FrameRecorder::open() {
  if (blocks_.load(std::memory_order_relaxed) == nullptr) {
    void* memory = ::mmap(nullptr, kMaxThreads * sizeof(std::atomic<ThreadBlock*>), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    if (!g_key_made && ::pthread_key_create(&g_key, &FrameRecorder::thread_ends) != 0) {
      ::munmap(memory, kMaxThreads * sizeof(std::atomic<ThreadBlock*>));
      return false;
    }
    g_key_made = true;
    blocks_.store(static_cast<std::atomic<ThreadBlock*>*>(memory), std::memory_order_release);
  }
  muted_.store(nullptr, std::memory_order_release);
  const std::uint32_t count = threads();
  for (std::uint32_t i = 0; i < count; ++i) {
    ThreadBlock* block = this->block(i);
    if (block == nullptr) continue;
    const bool dead = block->owner.load(std::memory_order_acquire) == ThreadBlock::Owner::dead_thread;
    block->tail.store(block->head.load(std::memory_order_acquire), std::memory_order_release);
    block->dropped_before = block->dropped.load(std::memory_order_relaxed);
    block->looked_at = block->head.load(std::memory_order_relaxed) + block->dropped_before;
    block->announced_life = 0;
    if (dead) block->owner.store(ThreadBlock::Owner::nobody, std::memory_order_release);
  }
  return true;
}

bool FrameRecorder::drain(const Sink& sink) {
  bool full = false;
  const std::uint32_t count = threads();
  for (std::uint32_t i = 0; i < count; ++i) {
    ThreadBlock* block = this->block(i);
    if (block == nullptr) continue;
    // Before the head: whoever died has written everything by then.
    const bool dead = block->owner.load(std::memory_order_acquire) == ThreadBlock::Owner::dead_thread;
    const std::uint64_t head = block->head.load(std::memory_order_acquire);
    std::uint64_t tail = block->tail.load(std::memory_order_relaxed);
    if (head != tail) {
      const std::uint32_t life = block->life.load(std::memory_order_acquire);
      const std::uint32_t number = (life - 1) * kMaxThreads + block->index;
      if (block->announced_life != life) {
        block->announced_life = life;
        sink.thread(sink.context, number, block->tid.load(std::memory_order_relaxed), block->name);
      }
      full |= (head - tail) * 2 > block->mask;
      for (; tail != head; ++tail) sink.scope(sink.context, number, block->records[tail & block->mask]);
      block->tail.store(tail, std::memory_order_release);
    }
    if (dead) block->owner.store(ThreadBlock::Owner::nobody, std::memory_order_release);
  }
  return full;
}

void FrameRecorder::open_scopes(const Sink& sink) const {
  const std::uint32_t count = threads();
  for (std::uint32_t i = 0; i < count; ++i) {
    ThreadBlock* block = this->block(i);
    if (block == nullptr || block->owner.load(std::memory_order_acquire) != ThreadBlock::Owner::thread) continue;
    const std::uint32_t depth = block->depth.load(std::memory_order_relaxed);
    const std::uint32_t number = (block->life.load(std::memory_order_acquire) - 1) * kMaxThreads + block->index;
    for (std::uint32_t d = 0; d < depth && d < kMaxOpen; ++d) {
      sink.scope(sink.context, number,
                 {block->open[d].begin.load(std::memory_order_relaxed), ~std::uint64_t{0}, ~std::uint64_t{0},
                  block->open[d].name.load(std::memory_order_relaxed), 0});
    }
  }
}

void FrameRecorder::close() {
  const std::uint32_t count = threads();
  for (std::uint32_t i = 0; i < count; ++i) {
    ThreadBlock* block = this->block(i);
    if (block != nullptr) ::madvise(block->records, block->ring_bytes, MADV_DONTNEED);
  }
}

std::uint64_t FrameRecorder::dropped() const {
  std::uint64_t sum = 0;
  const std::uint32_t count = threads();
  for (std::uint32_t i = 0; i < count; ++i) {
    const ThreadBlock* block = this->block(i);
    if (block != nullptr) sum += block->dropped.load(std::memory_order_relaxed) - block->dropped_before;
  }
  return sum;
}

std::uint64_t FrameRecorder::busiest_records() {
  std::uint64_t most = 0;
  const std::uint32_t count = threads();
  for (std::uint32_t i = 0; i < count; ++i) {
    ThreadBlock* block = this->block(i);
    if (block == nullptr) continue;
    const std::uint64_t made =
        block->head.load(std::memory_order_relaxed) + block->dropped.load(std::memory_order_relaxed);
    if (made - block->looked_at > most) most = made - block->looked_at;
    block->looked_at = made;
  }
  return most;
}

bool FrameRecorder::mute(std::uint32_t name) {
  constexpr std::size_t kBytes = kMaxMutable / 8;
  if (name >= kMaxMutable) return false;
  if (muted_memory_ == nullptr) {
    void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    muted_memory_ = static_cast<std::atomic<std::uint64_t>*>(memory);
  }
  if (muted_.load(std::memory_order_relaxed) == nullptr) {  // of an earlier window
    for (std::size_t i = 0; i < kBytes / sizeof *muted_memory_; ++i)
      muted_memory_[i].store(0, std::memory_order_relaxed);
  }
  muted_memory_[name / 64].fetch_or(std::uint64_t{1} << (name % 64), std::memory_order_relaxed);
  muted_.store(muted_memory_, std::memory_order_release);
  return true;
}

void FrameRecorder::fall_silent() {
  silent_.store(true, std::memory_order_relaxed);
  t_block = nullptr;
  t_ended = true;
}

}  // namespace accel::runtime

// Activity: what CUPTI records of kernels, copies and (when asked for) sets and API calls while a window is open, as
// whole buffers of raw records. CUPTI knows one consumer of buffers in a process, so there is one of these and it is
// never destroyed. No subscriber is taken, nothing is finalised, and every start registers buffers and clock anew:
// another profiler may have been here in between. At most kBuffers MiB are ever used; CUPTI counts what finds no
// buffer.
//
// start, stop, pause and resume from any thread, one at a time (they take a lock); flush and drain on the control
// thread. CUPTI calls request and complete on its own threads and on those of the host.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "runtime/cupti/library.h"

namespace accel::runtime::cupti {

class Activity {
 public:
  static constexpr std::uint32_t kBuffers = 32;
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

  struct Losses {
    std::uint64_t refused_buffers = 0;    // CUPTI asked for one and all were full
    std::uint64_t dropped_records = 0;    // as CUPTI counts them
    std::uint64_t foreign_buffers = 0;    // given to us and not ours: of another profiler in this process
    std::uint32_t buffers_not_back = 0;   // handed out and not returned in time when the window closed
    std::uint32_t pauses = 0;             // another profiler had its turn
    std::uint32_t failed_resumes = 0;     // after which there were no records any more
    const char* resume_failed = nullptr;  // why the last of them failed
  };

  // Why there are no records, and what to do; texts that stay valid until the next start.
  struct Refusal {
    const char* why = nullptr;  // null: there are records from now on
    const char* remedy = nullptr;
  };
  // `rich`: sets and API calls too.
  Refusal start(bool rich);
  // Has CUPTI hand over the buffers whose records are complete.
  void flush();
  // No records from now on; waits for the buffers. `device_hangs`: not for those whose work never ends.
  void stop(bool device_hangs);
  // Another profiler wants its turn: as stop, until resume. Where CUPTI does not start again, resume keeps the reason
  // for the note at the window's close and may be called once more.
  void pause();
  void resume();
  bool running() const { return running_.load(std::memory_order_acquire); }
  const Library& library() const { return library_; }
  Losses losses();

  // Hands every complete buffer to `take(context, bytes, valid)` and takes it back.
  void drain(void (*take)(void* context, std::uint8_t* buffer, std::size_t valid_bytes), void* context);

  // CUPTI's side.
  void request(std::uint8_t** buffer, std::size_t* bytes);
  void complete(Context context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid_bytes);

 private:
  Refusal start_locked();
  void stop_locked(bool device_hangs);
  void wait_for_buffers(int milliseconds);
  static constexpr std::uint32_t kAll = ~std::uint32_t{0};

  Library library_;
  std::uint8_t* memory_ = nullptr;
  std::atomic<std::uint32_t> free_{kAll};  // a bit per buffer
  std::atomic<std::uint32_t> full_{0};
  std::atomic<std::uint64_t> valid_bytes_[kBuffers] = {};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> foreign_{0};
  std::atomic<bool> running_{false};
  bool rich_ = false;
  bool paused_ = false;
  std::uint32_t pauses_ = 0;
  std::uint32_t failed_resumes_ = 0;
  const char* resume_failed_ = nullptr;
  std::uint32_t thread_ids_before_ = 0;
  char other_tool_[200] = {};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

Activity& activity();

}  // namespace accel::runtime::cupti

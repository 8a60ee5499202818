// Capture: one window being written. Made by the control thread when a window is armed, used by it alone (but for the
// step ring, whose producer is the thread that marks steps), freed by it when all is written. All memory is one block.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/native_writer.h"
#include "runtime/buffer/args_cache.h"
#include "runtime/buffer/frame_recorder.h"
#include "runtime/buffer/names.h"
#include "runtime/session/window_plan.h"
#include "runtime/trigger/numbers.h"

namespace accel::runtime {

// Records of a ring that are no scopes: the upper bits of the name say so.
inline constexpr std::uint32_t kNumberRecord = 0x80000000U;  // name: slot of the number; bytes: the double
inline constexpr std::uint32_t kMarkRecord = 0x40000000U;    // name: id of the text

struct StepRecord {
  std::int64_t step;
  std::uint64_t begin;
  std::uint64_t end;
  double loss;
  double samples;
  std::int64_t loader_wait_ns;
  std::int64_t epoch;
  std::uint32_t tid;
  WindowPlan::Phase phase;
};
static_assert(sizeof(StepRecord) <= 64);

// One producer, one consumer. A full ring drops and counts.
class StepRing {
 public:
  void push(const StepRecord& record);
  bool pop(StepRecord& record);
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kSize = 512;
  std::atomic<std::uint32_t> head_{0};
  std::atomic<std::uint32_t> tail_{0};
  std::atomic<std::uint64_t> dropped_{0};
  StepRecord records_[kSize];
};

struct CaptureIdentity {
  const char* folder = nullptr;
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
  std::uint32_t number = 0;  // of the capture in this process, from 1
  std::uint32_t level = 2;
  char asked_by[256] = {};
};

class Capture {
 public:
  struct Sources {
    FrameRecorder* recorder;
    NameRegistry* names;
    ArgsCache* args;
    const NumberTable* numbers;  // may be null
  };

  // Makes the folder and the file. Null with errno in `error`.
  static Capture* make(const CaptureIdentity& identity, const Sources& sources, int& error);
  static void destroy(Capture* capture);

  // Hands rings and tables on to the buffers; writes what is full. Records that began before `keep_from` are thrown
  // away. True: come back sooner.
  bool drain(std::uint64_t keep_from);
  // Writes all buffers and, at most once a second, waits for the disk.
  void flush(bool sync);
  // The last rows: open scopes (a hang), the window, losses, the end.
  void finish(std::uint64_t begin, std::uint64_t end, const WindowPlan& plan, std::uint32_t warmup,
              const char* ended_by);
  void note(const char* code, unsigned severity, std::uint64_t count, const char* message, const char* remedy);

  StepRing& steps() { return steps_; }
  const char* path() const { return path_; }
  std::uint64_t bytes() const { return file_.bytes(); }
  int descriptor_error() const { return error_; }
  // In the child of a fork.
  void forget_file() { file_.close(); }

 private:
  static constexpr std::size_t kTables = 13;
  Capture() = default;
  ~Capture() = default;
  format::RowBuffer& rows(format::NativeTable table) { return buffers_[static_cast<std::size_t>(table) - 1]; }
  void make_room(format::NativeTable table, std::size_t text_bytes);
  void write(format::NativeTable table);
  void write_meta();
  void meta(const char* key, const char* value);
  void meta(const char* key, std::int64_t value);
  void clock_pair();
  void write_names();
  void write_args();
  void write_steps();
  void number_info(std::uint32_t slot);
  void on_scope(std::uint32_t thread, const ScopeRecord& record);
  FrameRecorder::Sink sink();

  CaptureIdentity identity_;
  Sources sources_{};
  format::NativeFile file_;
  format::RowBuffer buffers_[kTables];
  StepRing steps_;
  std::uint64_t keep_from_ = 0;
  std::uint32_t names_written_ = 0;
  std::uint64_t numbers_written_[NumberTable::kCapacity / 64] = {};
  std::int64_t next_sync_ns_ = 0;
  std::uint64_t writes_failed_ = 0;
  int error_ = 0;
  std::size_t block_bytes_ = 0;
  char path_[1024] = {};
};

}  // namespace accel::runtime

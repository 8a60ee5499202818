// Capture: one window being written. Made by the control thread when a window is armed, used by it alone (but for the
// step ring, whose producer is the thread that marks steps), freed by it when all is written. All memory is one block.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/buffer/args_cache.h"
#include "runtime/buffer/frame_recorder.h"
#include "runtime/buffer/names.h"
#include "runtime/session/chunk_file.h"
#include "runtime/session/cost_meter.h"
#include "runtime/session/device_window.h"
#include "runtime/session/nccl_window.h"
#include "runtime/session/python_window.h"
#include "runtime/session/run_record.h"
#include "runtime/session/step_ring.h"
#include "runtime/session/window_plan.h"
#include "runtime/trigger/numbers.h"

namespace accel::runtime {

// Records of a ring that are no scopes: the upper bits of the name say so.
inline constexpr std::uint32_t kNumberRecord = 0x80000000U;  // name: slot of the number; bytes: the double
inline constexpr std::uint32_t kMarkRecord = 0x40000000U;    // name: id of the text

struct CaptureIdentity {
  RecordIdentity process;
  std::uint32_t number = 0;  // of the capture in this process, from 1
  std::uint32_t level = 2;
  bool device = false;        // kernels and copies
  bool device_calls = false;  // sets and API calls too
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
  // `curve` (may be null): the whole run so far.
  void finish(std::uint64_t begin, std::uint64_t end, const WindowPlan& plan, std::uint32_t warmup,
              const char* ended_by, RunCurve* curve);
  void note(const char* code, unsigned severity, std::uint64_t count, const char* message, const char* remedy) {
    file_.note(code, severity, count, message, remedy);
  }

  // One chunk of a table of somebody else; the names that it uses are written before it.
  void write_rows(format::RowBuffer& rows);

  StepRing& steps() { return steps_; }
  CostMeter& cost() { return cost_; }
  // The name with the most records since the last call, 0 = none. An estimate: names share counting places.
  std::uint32_t busiest_name();
  const char* path() const { return file_.path(); }
  std::uint64_t bytes() const { return file_.bytes(); }
  ChunkFile& file() { return file_; }
  // In the child of a fork.
  void forget_file() { file_.forget(); }

 private:
  Capture() = default;
  ~Capture() = default;
  format::RowBuffer& rows(format::NativeTable table) { return file_.rows(table); }
  void make_room(format::NativeTable table, std::size_t text_bytes);
  void write_names();
  void write_args();
  void write_steps();
  void write_cost(std::uint64_t begin, std::uint64_t end);
  void write_topology();
  void number_info(std::uint32_t slot);
  void on_scope(std::uint32_t thread, const ScopeRecord& record);
  FrameRecorder::Sink sink();

  CaptureIdentity identity_;
  Sources sources_{};
  ChunkFile file_;
  StepRing steps_;
  DeviceWindow device_;
  PythonWindow python_;
  std::uint32_t training_tid_ = 0;
  NcclWindow nccl_;
  CostMeter cost_;
  struct Tally {
    std::uint32_t name;
    std::uint32_t count;
  };
  static constexpr std::uint32_t kTallies = 256;
  Tally tallies_[kTallies] = {};
  std::uint64_t keep_from_ = 0;
  std::uint32_t names_written_ = 0;
  bool topology_written_ = false;
  std::uint64_t numbers_written_[NumberTable::kCapacity / 64] = {};
  std::size_t block_bytes_ = 0;
};

}  // namespace accel::runtime

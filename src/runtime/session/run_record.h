// RunRecord: the curve of a whole run, one record of 64 bytes a step while the session watches. The thread that marks
// steps puts records into a ring; the control thread takes them about once a second, writes them into files of their
// own (RANK-PID-runN.accelrun, rotated) and keeps a shortened curve in memory that goes into every capture.
//
// Everything is bounded: a ring of 512 records, a curve of at most 1,024 rows in which neighbours are merged when it
// is full, and a budget for the files. Each time half of what is left of the budget is used up, one row stands for
// twice as many steps as before, so that the budget never ends and no part of the run is missing.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/session/chunk_file.h"
#include "runtime/session/step_ring.h"

namespace accel::runtime {

// Some steps in a row; a step is 64 bytes in memory and in the file.
struct RunRow {
  std::int64_t step;
  std::uint64_t begin;
  std::uint64_t end;
  std::int64_t loader_wait_ns;  // kNoI64: not known
  double loss;                  // mean; NaN: not known
  double samples;               // NaN: not known
  std::int64_t epoch;           // kNoI64: not known
  std::uint32_t longest_us;
  std::uint32_t steps;

  static RunRow of(const StepRecord& record);
  // The rows that come right after this one become part of it.
  void take(const RunRow& next);
};
static_assert(sizeof(RunRow) == 64);
void put_row(ChunkFile& file, const RunRow& row);

// Merges rows until each stands for `stride` steps.
class RowThinner {
 public:
  // True: `out` is a full row.
  bool add(const RunRow& row, RunRow& out);
  // What is gathered so far; false = nothing.
  bool take(RunRow& out);
  void set_stride(std::uint32_t stride) { stride_ = stride; }
  std::uint32_t stride() const { return stride_; }

 private:
  RunRow open_{};
  bool any_ = false;
  std::uint32_t stride_ = 1;
};

class RunCurve {
 public:
  static constexpr std::uint32_t kRows = 1024;
  void add(const RunRow& row);
  // Row by row, the unfinished one at the end included.
  template <typename Visit>
  void each(Visit&& visit) {
    for (std::uint32_t i = 0; i < count_; ++i) visit(rows_[i]);
    RowThinner rest = thinner_;
    RunRow last;
    if (rest.take(last)) visit(last);
  }

 private:
  bool shorten(bool over_holes);

  RowThinner thinner_;
  std::uint32_t count_ = 0;
  RunRow rows_[kRows];
};

class RunRecord {
 public:
  static constexpr std::uint64_t kDefaultBudget = std::uint64_t{256} << 20;

  // Null: no memory. The file is made with the first records.
  static RunRecord* make(std::uint64_t budget_bytes);
  static void destroy(RunRecord* record);

  // The thread that marks steps. True: the ring is half full, wake the control thread.
  bool push(const StepRecord& record) {
    ring_.push(record);
    return ring_.half_full();
  }

  // Control thread from here on.
  void drain(const RecordIdentity& identity, std::int64_t now_ns);
  void mark(const RecordIdentity& identity, std::string_view text);
  void note(const RecordIdentity& identity, const char* code, const char* message, const char* remedy);
  RunCurve& curve() { return curve_; }
  // Writes what there is and closes the file.
  void finish();
  int error() const { return error_; }
  const char* path() const { return file_.path(); }
  void forget_file() { file_.forget(); }

 private:
  RunRecord() = default;
  ~RunRecord() = default;
  bool ready(const RecordIdentity& identity);
  void rotate(const RecordIdentity& identity);
  void spend();

  StepRing ring_;
  RunCurve curve_;
  RowThinner thinner_;
  ChunkFile file_;
  std::uint64_t budget_ = kDefaultBudget;
  std::uint64_t closed_bytes_ = 0;   // of the parts before
  std::uint64_t next_doubling_ = 0;  // bytes in all
  std::uint32_t part_ = 0;
  std::int64_t next_write_ns_ = 0;
  std::int64_t next_pair_ns_ = 0;
  bool failed_ = false;
  int error_ = 0;
  std::size_t block_bytes_ = 0;
};

}  // namespace accel::runtime

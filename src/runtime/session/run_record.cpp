#include "runtime/session/run_record.h"

#include <sys/mman.h>

#include <cerrno>
#include <cmath>
#include <new>

#include "runtime/buffer/clock.h"

namespace accel::runtime {
namespace {

using format::NativeTable;
namespace native = format::native;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kPairEveryNs = 60 * kSecond;
constexpr std::uint64_t kPartBytes = std::uint64_t{16} << 20;
constexpr std::uint32_t kMostSteps = 0x40000000;  // of a row
constexpr ChunkFile::Room kRooms[] = {{NativeTable::Meta, 32, 2048}, {NativeTable::Clock, 16, 0},
                                      {NativeTable::Curve, 512, 0},  {NativeTable::Note, 8, 2048},
                                      {NativeTable::Mark, 32, 8192}, {NativeTable::End, 1, 64}};
constexpr std::size_t kRoomCount = sizeof kRooms / sizeof kRooms[0];

}  // namespace

RunRow RunRow::of(const StepRecord& record) {
  constexpr double kMostUs = 4294967295.0;
  const double us = static_cast<double>(record.end - record.begin) * 1e6 / ticks_per_second();
  return {record.step,
          record.begin,
          record.end,
          record.loader_wait_ns < 0 ? format::kNoI64 : record.loader_wait_ns,
          record.loss,
          record.samples,
          record.epoch < 0 ? format::kNoI64 : record.epoch,
          us < kMostUs ? static_cast<std::uint32_t>(us) : 0xffffffffU,
          1};
}

void RunRow::take(const RunRow& next) {
  const double mine = steps;
  const double theirs = next.steps;
  if (loader_wait_ns == format::kNoI64) {
    loader_wait_ns = next.loader_wait_ns;
  } else if (next.loader_wait_ns != format::kNoI64) {
    loader_wait_ns += next.loader_wait_ns;
  }
  if (std::isnan(loss)) {
    loss = next.loss;
  } else if (!std::isnan(next.loss)) {
    loss = (loss * mine + next.loss * theirs) / (mine + theirs);
  }
  samples = std::isnan(samples) ? next.samples : std::isnan(next.samples) ? samples : samples + next.samples;
  if (next.epoch != format::kNoI64) epoch = next.epoch;
  if (next.longest_us > longest_us) longest_us = next.longest_us;
  end = next.end;
  steps += next.steps;
}

void put_row(ChunkFile& file, const RunRow& row) {
  file.make_room(NativeTable::Curve, 0);
  put_row(file.rows(NativeTable::Curve), native::CurveRow{row.step, row.begin, row.end, row.loader_wait_ns, row.loss,
                                                          row.samples, row.epoch, row.longest_us, row.steps});
}

// Steps that were missed in between (the ring was full, rules were off) begin a new row: a row has no holes.
bool RowThinner::add(const RunRow& row, RunRow& out) {
  if (any_ && row.step != open_.step + static_cast<std::int64_t>(open_.steps)) {
    out = open_;
    open_ = row;
    return true;
  }
  if (any_) {
    open_.take(row);
  } else {
    open_ = row;
  }
  any_ = open_.steps < stride_;
  if (!any_) out = open_;
  return !any_;
}

bool RowThinner::take(RunRow& out) {
  if (!any_) return false;
  any_ = false;
  out = open_;
  return true;
}

void RunCurve::add(const RunRow& row) {
  RunRow full;
  if (!thinner_.add(row, full)) return;
  if (count_ == kRows) {
    if (!shorten(false)) shorten(true);
    if (thinner_.stride() < kMostSteps) thinner_.set_stride(thinner_.stride() * 2);
  }
  rows_[count_++] = full;
}

// Rows with missing steps between them stay apart while others can be merged.
bool RunCurve::shorten(bool over_holes) {
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count_;) {
    rows_[kept] = rows_[i++];
    const bool next = rows_[kept].step + static_cast<std::int64_t>(rows_[kept].steps) == rows_[i % kRows].step;
    if (i < count_ && (next || over_holes)) rows_[kept].take(rows_[i++]);
    ++kept;
  }
  count_ = kept;
  return count_ < kRows;
}

RunRecord* RunRecord::make(std::uint64_t budget_bytes) {
  const std::size_t head = (sizeof(RunRecord) + 63) & ~std::size_t{63};
  const std::size_t bytes = head + ChunkFile::bytes_needed(kRooms, kRoomCount);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* record = new (memory) RunRecord();
  record->block_bytes_ = bytes;
  record->budget_ = budget_bytes;
  record->next_doubling_ = budget_bytes / 2;
  record->file_.init(kRooms, kRoomCount, static_cast<char*>(memory) + head);
  return record;
}

void RunRecord::destroy(RunRecord* record) {
  const std::size_t bytes = record->block_bytes_;
  record->~RunRecord();
  ::munmap(record, bytes);
}

// A folder that cannot be written is asked again with the next part of the run, not every second.
bool RunRecord::ready(const RecordIdentity& identity) {
  if (file_.is_open() || failed_) return !failed_;
  error_ = file_.open(identity, "run", part_, ".accelrun", part_);
  failed_ = error_ != 0;
  if (!failed_) next_pair_ns_ = monotonic_ns() + kPairEveryNs;
  return !failed_;
}

void RunRecord::rotate(const RecordIdentity& identity) {
  closed_bytes_ += file_.bytes();
  finish();
  ++part_;
  ready(identity);
}

void RunRecord::spend() {
  const std::uint64_t spent = closed_bytes_ + file_.bytes();
  if (spent < next_doubling_ || thinner_.stride() >= kMostSteps) return;
  thinner_.set_stride(thinner_.stride() * 2);
  next_doubling_ = spent + (spent < budget_ ? (budget_ - spent) / 2 : 0);
}

void RunRecord::drain(const RecordIdentity& identity, std::int64_t now_ns) {
  StepRecord step;
  bool any = false;
  while (ring_.pop(step)) {
    const RunRow row = RunRow::of(step);
    curve_.add(row);
    RunRow full;
    if (thinner_.add(row, full) && ready(identity)) put_row(file_, full);
    any = true;
  }
  if (!any || !file_.is_open() || now_ns < next_write_ns_) return;
  next_write_ns_ = now_ns + kSecond / 2;  // the control thread wakes more often while a window is open
  if (now_ns >= next_pair_ns_) {
    file_.clock_pair();
    next_pair_ns_ = now_ns + kPairEveryNs;
  }
  file_.write_all();
  spend();
  if (file_.bytes() > kPartBytes) rotate(identity);
}

void RunRecord::mark(const RecordIdentity& identity, std::string_view text) {
  if (ready(identity)) file_.mark(ticks(), text);
}

void RunRecord::note(const RecordIdentity& identity, const char* code, const char* message, const char* remedy) {
  if (ready(identity)) file_.note(code, 0, 1, message, remedy);
}

void RunRecord::finish() {
  if (!file_.is_open()) return;
  RunRow last;
  if (thinner_.take(last)) put_row(file_, last);
  if (ring_.dropped() > 0)
    file_.note("dropped_steps", 1, ring_.dropped(), "steps came faster than they were written", "nothing to do");
  if (file_.lost_rows() > 0)
    file_.note("write_failed", 1, file_.lost_rows(), "records could not be written (disk full or folder gone)",
               "free space in the output folder");
  file_.clock_pair();
  file_.write_all();
  file_.end("program");
}

}  // namespace accel::runtime

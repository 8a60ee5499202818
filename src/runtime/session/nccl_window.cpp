#include "runtime/session/nccl_window.h"

#include <sys/mman.h>

#include <cstdio>

#include "runtime/nccl/events.h"
#include "runtime/session/capture.h"

namespace accel::runtime {
namespace {

constexpr std::uint32_t kRows = 512;
constexpr std::uint32_t kTextBytes = kRows * 64;

}  // namespace

void NcclWindow::open(Capture& capture, bool channels) {
  if (!nccl::loaded()) return;
  const auto& layout = format::layout_of(format::NativeTable::Collective);
  memory_bytes_ = format::RowBuffer::bytes_needed(layout, kRows, kTextBytes);
  void* memory = ::mmap(nullptr, memory_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<char*>(memory);
  rows_.init(layout, kRows, kTextBytes, memory_);
  capture_ = &capture;
  nccl::window_opens(channels);
}

void NcclWindow::take(std::uint64_t keep_from, bool all) {
  nccl::Operation operation;
  while (nccl::next_operation(operation, all)) {
    if (operation.begin < keep_from) continue;
    char algorithm[40];
    std::snprintf(algorithm, sizeof algorithm, "%s%s%s", operation.algorithm, operation.protocol[0] != 0 ? "/" : "",
                  operation.protocol);
    if (!rows_.has_room(sizeof algorithm + sizeof operation.function + sizeof operation.type +
                        sizeof operation.communicator.name))
      flush();
    put_row(rows_, format::native::CollectiveRow{
                       operation.begin, operation.end, operation.device_begin, operation.device_end,
                       operation.communicator.id, operation.sequence, operation.bytes, operation.peer,
                       operation.communicator.rank, operation.communicator.ranks, operation.tid, operation.channels,
                       operation.function, operation.type, algorithm, operation.communicator.name});
  }
}

void NcclWindow::flush() {
  if (!rows_.empty()) capture_->write_rows(rows_);
}

void NcclWindow::drain(std::uint64_t keep_from) {
  if (capture_ != nullptr) take(keep_from, false);
}

void NcclWindow::close(Capture& capture, std::uint64_t keep_from) {
  if (capture_ == nullptr) return;
  nccl::window_closes();
  take(keep_from, true);
  flush();
  if (nccl::dropped() > 0) {
    capture.note("nccl_events_dropped", 1, nccl::dropped(), "NCCL's operations came faster than they were written",
                 "capture fewer steps");
  }
  abandon();
}

void NcclWindow::abandon() {
  if (capture_ == nullptr) return;
  nccl::window_closes();
  ::munmap(memory_, memory_bytes_);
  memory_ = nullptr;
  capture_ = nullptr;
}

}  // namespace accel::runtime

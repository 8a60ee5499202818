// ArgsCache: shapes and types of scopes, the last 1,000 distinct ones. An id is never given twice, so a record in a
// ring cannot get another meaning; a shape that comes back after it was forgotten gets a new id. Memory is one block,
// whatever the number of shapes. Any thread (short lock); not in signal handlers.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/buffer/spin_lock.h"

namespace accel::runtime {

class ArgsCache {
 public:
  static constexpr std::uint32_t kEntries = 1000;
  static constexpr std::size_t kMaxShapeBytes = 191;  // longer texts are cut
  static constexpr std::size_t kMaxDtypeBytes = 31;

  struct Args {
    std::uint32_t id = 0;
    std::uint8_t shape_bytes = 0;
    std::uint8_t dtype_bytes = 0;
    char shape[kMaxShapeBytes + 1] = {};
    char dtype[kMaxDtypeBytes + 1] = {};
  };

  ArgsCache();
  // From 1. 0 when there is no slot to be had because the writer is behind (counted).
  std::uint32_t intern(std::string_view shape, std::string_view dtype);

  // The writer's side. Everything known is to be written again (a new file begins).
  void rewind();
  // Copies the next entry that was not written yet; false = none.
  bool next_unwritten(Args& out);
  std::uint64_t refused() const { return refused_; }

 private:
  static constexpr std::uint32_t kSlots = 2048;
  static constexpr std::uint16_t kNone = 0xffff;
  struct Entry {
    Args args;
    std::uint32_t hash = 0;
    std::uint16_t newer = kNone;  // in order of use
    std::uint16_t older = kNone;
    bool written = true;
  };

  std::uint16_t find(std::uint32_t hash, std::string_view shape, std::string_view dtype) const;
  void unlink(std::uint16_t at);
  void put_first(std::uint16_t at);
  void erase_slot(std::uint16_t at);
  std::uint16_t take_entry();

  SpinLock lock_;
  std::uint32_t next_id_ = 1;
  std::uint16_t used_ = 0;
  std::uint16_t newest_ = kNone;
  std::uint16_t oldest_ = kNone;
  std::uint32_t unwritten_ = 0;
  std::uint16_t look_from_ = 0;
  std::uint64_t refused_ = 0;
  std::uint16_t slots_[kSlots];
  Entry entries_[kEntries];
};

}  // namespace accel::runtime

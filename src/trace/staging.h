// Staged rows: what TraceBuilder holds between commit() and finish(). Columns are lists of fixed segments taken from
// the system page by page, so that a range of rows can be reserved under a lock and filled outside it, nothing is ever
// moved to grow, and every segment goes back to the system the moment its rows are in the final column. The peak of a
// load is then the rows once, plus the columns in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/schema.h"

namespace accel {

// Pages from the system, zeroed. `present`: in memory at once, for pages that are about to be filled; one by one they
// would cost an exception each. Throws std::bad_alloc like operator new.
void* take_pages(std::size_t bytes, bool present);
void return_pages(void* pages, std::size_t bytes);
// Asks for large pages below memory that is about to be filled. A wish; nothing depends on it.
void prefer_large_pages(void* memory, std::size_t bytes);

// Reserves `rows` and asks for large pages.
template <typename T>
void reserve_column(std::vector<T>& column, std::size_t rows) {
  column.reserve(rows);
  prefer_large_pages(column.data(), column.capacity() * sizeof(T));
}

inline constexpr std::uint32_t kSegmentShift = 14;
inline constexpr std::uint32_t kSegmentRows = 1U << kSegmentShift;

template <typename T>
class StagedColumn {
 public:
  StagedColumn() = default;
  StagedColumn(const StagedColumn&) = delete;
  StagedColumn& operator=(const StagedColumn&) = delete;
  ~StagedColumn() { clear(); }

  // Makes room for rows [0, rows). Under the builder's lock; rows that were reserved before may be filled meanwhile by
  // other threads, since neither the directory nor a segment ever moves.
  void reserve_rows(std::size_t rows) {
    if (directory_ == nullptr) directory_ = static_cast<T**>(take_pages(kDirectoryEntries * sizeof(T*), false));
    for (; segments_ * kSegmentRows < rows; ++segments_)
      directory_[segments_] = static_cast<T*>(take_pages(kSegmentRows * sizeof(T), true));
  }
  T& operator[](std::size_t row) { return directory_[row >> kSegmentShift][row & (kSegmentRows - 1)]; }
  const T& operator[](std::size_t row) const { return directory_[row >> kSegmentShift][row & (kSegmentRows - 1)]; }
  // Rows from `row` on that lie in one piece of memory.
  static std::size_t contiguous_from(std::size_t row) { return kSegmentRows - (row & (kSegmentRows - 1)); }

  // Moves rows [0, rows) to `out` in order, giving every segment back as soon as it is copied.
  void drain(std::vector<T>& out, std::size_t rows) {
    reserve_column(out, rows);
    for (std::size_t segment = 0, left = rows; left > 0; ++segment) {
      const std::size_t n = left < kSegmentRows ? left : kSegmentRows;
      out.insert(out.end(), directory_[segment], directory_[segment] + n);
      return_pages(directory_[segment], kSegmentRows * sizeof(T));
      directory_[segment] = nullptr;
      left -= n;
    }
    clear();
  }
  void clear() {
    for (std::size_t i = 0; i < segments_; ++i) {
      if (directory_[i] != nullptr) return_pages(directory_[i], kSegmentRows * sizeof(T));
    }
    if (directory_ != nullptr) return_pages(directory_, kDirectoryEntries * sizeof(T*));
    directory_ = nullptr;
    segments_ = 0;
  }

 private:
  static constexpr std::size_t kDirectoryEntries = (std::size_t{1} << 32) / kSegmentRows;  // row numbers have 32 bits

  T** directory_ = nullptr;  // address space for every possible segment; only the used pages exist
  std::size_t segments_ = 0;
};

#define TABLE_BEGIN(Name, accessor, doc) \
  struct Staged##Name {                  \
    std::size_t rows = 0;
#define COLUMN(type, name, unit, doc) StagedColumn<type> name;
#define TABLE_END(Name) \
  }                     \
  ;
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END

struct StagedTables {
#define TABLE_BEGIN(Name, accessor, doc) Staged##Name accessor;
#define COLUMN(type, name, unit, doc)
#define TABLE_END(Name)
#include "trace/schema.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
};

}  // namespace accel

// Writing the native format. RowBuffer gathers rows of one table column by column in memory that the caller gives;
// NativeFile turns a full buffer into one chunk and appends it to a file, which is bounded and never left half written
// without the reader being able to tell. C library only, no allocation after open, no exceptions. One thread at a time.
#pragma once

#include <cstring>

#include "format/native_layout.h"

namespace accel::format {

class RowBuffer {
 public:
  // `memory` holds bytes_needed() bytes. `text_bytes` is the room for all text columns of all rows together.
  void init(const TableLayout& layout, std::uint32_t capacity, std::uint32_t text_bytes, char* memory);
  static std::size_t bytes_needed(const TableLayout& layout, std::uint32_t capacity, std::uint32_t text_bytes);

  const TableLayout& layout() const { return *layout_; }
  std::uint32_t rows() const { return rows_; }
  bool empty() const { return rows_ == 0; }
  void clear() {
    rows_ = 0;
    text_used_ = 0;
  }
  // Whether a row with so many bytes of text still fits. Text beyond what an empty buffer holds is cut by put_text.
  bool has_room(std::size_t text_bytes) const {
    return rows_ < capacity_ && (text_used_ + text_bytes <= text_capacity_ || rows_ == 0);
  }

  // One row: a put for every column in order, then end_row().
  template <typename T>
  void put(std::size_t column, T value) {
    std::memcpy(columns_[column] + std::size_t{rows_} * sizeof(T), &value, sizeof(T));
  }
  void put(std::size_t column, std::string_view value);
  void end_row() { ++rows_; }

  // Bytes of the payload and the payload itself, columns one after the other.
  std::size_t payload_bytes() const;
  void write_payload(char* out) const;

 private:
  const TableLayout* layout_ = nullptr;
  char* columns_[kMaxColumns] = {};
  char* text_ = nullptr;  // the bytes of every text, in order of arrival
  std::uint32_t rows_ = 0;
  std::uint32_t capacity_ = 0;
  std::uint32_t text_used_ = 0;
  std::uint32_t text_capacity_ = 0;
};

// Typed puts: put_row(buffer, native::ScopeRow{...}). The caller has checked has_room(text_bytes(row)).
#define NATIVE_TABLE(number, Name, name, doc) void put_row(RowBuffer& buffer, const native::Name##Row& row);
#define NATIVE_COLUMN(Name, type, name, unit, doc)
#define NATIVE_TABLE_END(Name)
#include "format/native_schema.def"
#undef NATIVE_TABLE
#undef NATIVE_COLUMN
#undef NATIVE_TABLE_END

// Packs `bytes` of `in` into `out`; 0 = could not. Set when zstd was found at run time.
struct Packer {
  std::size_t (*pack)(void* context, char* out, std::size_t out_capacity, const char* in, std::size_t bytes) = nullptr;
  void* context = nullptr;
};

class NativeFile {
 public:
  struct Identity {
    std::uint64_t capture_id[2] = {};
    std::uint32_t pid = 0;
    std::int64_t created_ns = 0;
    std::uint32_t part = 0;
  };
  // `scratch` holds scratch_bytes(largest payload) bytes and outlives the file.
  static std::size_t scratch_bytes(std::size_t largest_payload) {
    return 2 * (padded(largest_payload) + sizeof(ChunkHeader));
  }

  NativeFile() = default;
  NativeFile(const NativeFile&) = delete;
  NativeFile& operator=(const NativeFile&) = delete;
  ~NativeFile() { close(); }

  // Creates `path` (relative to the folder `directory_fd`; it must not exist) and writes header and schema. 0 or errno.
  int open(int directory_fd, const char* path, const Identity& identity, Packer packer, char* scratch,
           std::size_t scratch_size);
  bool is_open() const { return fd_ >= 0; }
  // Appends the rows as one chunk and empties the buffer, also when it fails: then the rows are counted as lost and the
  // file is cut back to its last whole chunk. 0 or errno.
  int append(RowBuffer& rows);
  // Makes what was appended survive a power cut. Blocks for as long as the disk takes. 0 or errno.
  int sync();
  void close();

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t chunks() const { return sequence_; }
  std::uint64_t lost_rows() const { return lost_rows_; }

 private:
  int write_all(const char* data, std::size_t bytes);

  int fd_ = -1;
  Packer packer_;
  char* scratch_ = nullptr;
  std::size_t scratch_size_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t lost_rows_ = 0;
};

}  // namespace accel::format
